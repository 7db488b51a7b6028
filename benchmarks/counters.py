"""Every counter of recurrent layers, side by side with gatecalc, on the same 54 layers.

    python benchmarks/counters.py --install
    python benchmarks/counters.py > benchmarks/results/counters-DATE.md

A layer is RNN, GRU or LSTM: plain, without biases, batch first, of two layers, in two directions, both; an LSTM with
a projection in three ways; and the single cells with and without biases; each at two sizes. The truth is what PyTorch
itself allocates (numel) and dispatches (FlopCounterMode on the meta device, halved).

Each counter runs in a process and an environment of its own, so that one which patches modules, has another's name or
wants another version of a library disturbs nobody. ``--install`` makes them in .venv/peers: each sees what is
installed for this Python (torch, which is large, is not fetched again) and adds its own. Names after it are those of
the counters to install, all by default; a counter without an environment runs in this Python's.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
import warnings
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

CELLS = {"RNN": "rnn", "GRU": "gru_reset_after", "LSTM": "lstm"}
SIZES = [  # D, H, T, N, P
    (3, 5, 6, 4, 2),
    (80, 256, 100, 8, 64),
]
KNOBS: dict[str, dict[str, Any]] = {
    "": {},
    "no bias": {"bias": False},
    "batch first": {"batch_first": True},
    "L=2": {"num_layers": 2},
    "both": {"bidirectional": True},
    "both L=2": {"bidirectional": True, "num_layers": 2},
}
PROJECTED: dict[str, dict[str, Any]] = {
    "proj": {},
    "proj L=2": {"num_layers": 2},
    "proj both L=2": {"bidirectional": True, "num_layers": 2},
}


def cases() -> list[tuple[str, str, int, dict[str, Any]]]:
    """Return (name, PyTorch's class, size, options) of all layers."""
    found = []
    for size in range(len(SIZES)):
        for kind, (name, options) in itertools.product(CELLS, KNOBS.items()):
            found.append((f"{kind} {name}".strip(), kind, size, options))
        for name, options in PROJECTED.items():
            found.append((f"LSTM {name}", "LSTM", size, {**options, "proj_size": SIZES[size][4]}))
        for kind, bias in itertools.product(CELLS, (True, False)):
            found.append((f"{kind}Cell" + ("" if bias else " no bias"), f"{kind}Cell", size, {"bias": bias}))
    return found


def network(kind: str, size: int, options: dict[str, Any], device: str = "cpu") -> tuple[Any, Any]:
    """Return a module around the layer, since some counters see nothing of a layer that is the model, and an input."""
    import torch

    d, h, steps, batch, _ = SIZES[size]

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = getattr(torch.nn, kind)(d, h, device=device, **options)

        def forward(self, x: Any) -> Any:
            out = self.layer(x)
            return out[0] if isinstance(out, tuple) else out

    shape = (
        (batch, d) if kind.endswith("Cell") else (batch, steps, d) if "batch_first" in options else (steps, batch, d)
    )
    return Net().eval(), torch.zeros(shape, device=device)


class Counted(NamedTuple):
    """What a counter says of a layer; None for what it does not count."""

    parameters: int | None = None
    macs: float | None = None
    flops: float | None = None


def truth(net: Any, x: Any) -> Counted:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        net(x)
    return Counted(sum(each.numel() for each in net.parameters()), counter.get_total_flops() / 2)


def torchinfo(net: Any, x: Any) -> Counted:
    import torchinfo

    found = torchinfo.summary(net, input_data=x, verbose=0)
    return Counted(found.total_params, found.total_mult_adds)


def ptflops(net: Any, x: Any, backend: str = "pytorch") -> Counted:
    from ptflops import get_model_complexity_info

    macs, parameters = get_model_complexity_info(
        net,
        tuple(x.shape),
        input_constructor=lambda shape: {"x": x},
        as_strings=False,
        print_per_layer_stat=False,
        verbose=False,
        backend=backend,
    )
    return Counted(parameters, macs)


def ptflops_aten(net: Any, x: Any) -> Counted:
    return ptflops(net, x, "aten")


def thop(net: Any, x: Any) -> Counted:
    """Count with thop or with its successor, whose module has the same name."""
    import thop

    macs, parameters = thop.profile(net, (x,), verbose=False)
    return Counted(int(parameters), macs)


def fvcore(net: Any, x: Any) -> Counted:
    from fvcore.nn import FlopCountAnalysis, parameter_count

    counter = FlopCountAnalysis(net, x)
    counter.unsupported_ops_warnings(False)
    counter.uncalled_modules_warnings(False)
    return Counted(parameter_count(net)[""], counter.total())


def calflops(net: Any, x: Any) -> Counted:
    import calflops

    flops, macs, parameters = calflops.calculate_flops(
        net, args=[x], print_results=False, print_detailed=False, output_as_string=False
    )
    return Counted(parameters, macs, flops)


def deepspeed(net: Any, x: Any) -> Counted:
    from deepspeed.profiling.flops_profiler import get_model_profile

    flops, macs, parameters = get_model_profile(net, args=[x], print_profile=False, warm_up=0, as_string=False)
    return Counted(parameters, macs, flops)


def torchprofile(net: Any, x: Any) -> Counted:
    from torchprofile import profile_macs

    return Counted(None, profile_macs(net, x))


def onnx_tool(net: Any, x: Any) -> Counted:
    """Count the model that TorchScript exports."""
    import onnx_tool
    import torch

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.onnx")
        torch.onnx.export(net, (x,), path, input_names=["x"], dynamo=False)
        model = onnx_tool.Model(path)
    model.graph.shape_infer({"x": x.numpy()})
    model.graph.profile()
    return Counted(int(model.graph.params), model.graph.macs[0])


def nn_calc(net: Any, x: Any) -> Counted:
    """Count by the command nn_calc, which knows a kind, two widths and a number of layers, and prints parameters."""
    import nn_calc

    layer = net.layer
    if not layer.bias or getattr(layer, "bidirectional", False) or getattr(layer, "proj_size", 0):
        return Counted()
    kind = type(layer).__name__.removesuffix("Cell").lower()
    widths = {"num-layers": getattr(layer, "num_layers", 1)}
    widths |= {"in-channels": layer.input_size, "out-channels": layer.hidden_size}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        nn_calc.main(
            [f"--model={kind}", *(f"--{name}={value}" for name, value in widths.items())], standalone_mode=False
        )
    return Counted(sum(map(int, re.findall(r"(\d+) params", out.getvalue()))))


class Peer(NamedTuple):
    """How a counter is run.

    Attributes:
        run: Counts a layer.
        package: What its version is that of, and what pip calls it.
        more: What else it needs, where it does not say so itself.
        source: Whether it comes as source alone, which is built with the torch that is here.
        macs: Whether it counts MACs at all.
    """

    run: Callable[[Any, Any], Counted]
    package: str
    more: tuple[str, ...] = ()
    source: bool = False
    macs: bool = True


PEERS = {
    "torchinfo": Peer(torchinfo, "torchinfo"),
    "ptflops": Peer(ptflops, "ptflops"),
    "ptflops, aten": Peer(ptflops_aten, "ptflops"),
    "thop": Peer(thop, "thop"),
    "ultralytics-thop": Peer(thop, "ultralytics-thop"),
    "fvcore": Peer(fvcore, "fvcore"),
    "calflops": Peer(calflops, "calflops", ("transformers",)),
    "deepspeed": Peer(deepspeed, "deepspeed", source=True),
    "torchprofile": Peer(torchprofile, "torchprofile"),
    "onnx-tool": Peer(onnx_tool, "onnx-tool"),
    "nn-calc": Peer(nn_calc, "nn-calc", macs=False),
    "FlopCounterMode on the CPU": Peer(lambda net, x: truth(net, x)._replace(parameters=None), "torch"),
}


# ------------------------------------------------------------------------------------------- environments

FOLDER = Path(__file__).parent.parent / ".venv" / "peers"


def python(name: str) -> str:
    """Return the Python that runs a counter: that of its environment, where there is one."""
    own = FOLDER / PEERS[name].package / "bin" / "python" if name in PEERS else None
    return str(own) if own and own.exists() else sys.executable


def install(name: str) -> None:
    """Make the environment of a counter: what this Python has, and the counter before it."""
    peer = PEERS[name]
    folder = FOLDER / peer.package
    venv.create(folder, with_pip=False)
    own = next(folder.glob("lib/python*/site-packages"))
    (own / "outer.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    pip = [python(name), "-m", "pip", "install", "--quiet"]
    if peer.source:
        subprocess.run([*pip, "setuptools", "wheel"], check=True)
        pip.append("--no-build-isolation")
    done = subprocess.run([*pip, peer.package, *peer.more], env={**os.environ, "DS_BUILD_OPS": "0"})
    print(f"{name}: {'installed' if done.returncode == 0 else 'not installed'}", file=sys.stderr)


# ------------------------------------------------------------------------------------------- the measurement


def ours(kind: str, size: int, options: dict[str, Any]) -> Counted:
    """Return gatecalc's count."""
    from gatecalc import count

    d, h, steps, batch, _ = SIZES[size]
    found = count(
        CELLS[kind.removesuffix("Cell")],
        d,
        h,
        "double" if options.get("bias", True) else "none",
        options.get("num_layers", 1),
        options.get("bidirectional", False),
        options.get("proj_size"),
        steps=1 if kind.endswith("Cell") else steps,
        batch=batch,
    )
    assert found.parameters is not None
    assert found.totals is not None
    return Counted(found.parameters, found.totals["macs"], found.totals["flops"])


def measure(name: str) -> dict[str, Any]:
    """Run one counter over all cases: its version, and what it says of each with the milliseconds, or the error."""
    warnings.simplefilter("ignore")
    results: list[Any] = []
    for _, kind, size, options in cases():
        start = time.perf_counter()
        try:
            if name == "gatecalc":
                found = ours(kind, size, options)
            else:
                net, x = network(kind, size, options, "meta" if name == "truth" else "cpu")
                start = time.perf_counter()
                found = truth(net, x) if name == "truth" else PEERS[name].run(net, x)
            results.append([*found, 1000 * (time.perf_counter() - start)])
        except Exception as error:  # a counter that fails on one layer goes on with the next
            results.append(f"{type(error).__name__}: {error}")
    package = PEERS[name].package if name in PEERS else "torch"
    return {"version": our_version() if name == "gatecalc" else version(package), "results": results}


def our_version() -> str:
    from gatecalc import __version__

    return __version__


def run(name: str) -> dict[str, Any] | None:
    """Run one counter in a process of its own; None where it is not installed."""
    process = subprocess.run([python(name), __file__, "--measure", name], capture_output=True, text=True)
    if process.returncode:
        return None
    found: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    missing = [result for result in found["results"] if isinstance(result, str) and "No module named" in result]
    return None if len(missing) == len(found["results"]) else found


# ------------------------------------------------------------------------------------------- the tables


def judged(value: float | None, right: float) -> str:
    """Return ``right``, ``unsupported`` for nothing and zero, else the value and its ratio to the right one."""
    if value == right:
        return "right"
    if not value:
        return "unsupported"
    return f"{value:,.0f} ({value / right:.3f})"


def summary(name: str, found: dict[str, Any] | None, expected: list[Any]) -> str:
    """Return a counter's row of the first table."""
    if found is None:
        return f"| {name} | not installed here | | | | | |"
    given = [result if isinstance(result, list) else [None] * 4 for result in found["results"]]
    pairs = list(zip(given, expected, strict=True))
    verdicts = [judged(mine[1], right[1]) for mine, right in pairs]
    sizes = sum(mine[0] == right[0] for mine, right in pairs)
    parameters = "not counted" if all(mine[0] is None for mine in given) else str(sizes)
    right, unsupported = verdicts.count("right"), verdicts.count("unsupported")
    macs = f"{right} | {len(verdicts) - right - unsupported} | {unsupported}"
    if name in PEERS and not PEERS[name].macs:
        macs = "not counted | |"
    times = sorted(mine[3] for mine in given if mine[:3] != [None] * 3)
    middle = f"{times[len(times) // 2]:.2f}" if times else ""
    return f"| {name} | {found['version']} | {parameters} | {macs} | {middle} |"


def flops_note(name: str, found: dict[str, Any], expected: list[Any]) -> str | None:
    """Return what a counter's FLOPs, halved, are to the multiply-accumulates; None where it has none."""
    results = found["results"]
    halves = [(mine[2] / 2, right[1]) for mine, right in zip(results, expected) if isinstance(mine, list) and mine[2]]
    if not halves or name == "gatecalc":
        return None
    ratios = sorted(half / right for half, right in halves)
    exact = sum(half == right for half, right in halves)
    return (
        f"{name} also counts FLOPs, in {len(halves)} of {len(expected)} layers; halved, they are {ratios[0]:.3f} to "
        f"{ratios[-1]:.3f} of the truth, and the truth in {exact}."
    )


def bias_note(found: dict[str, Any]) -> str:
    """Return how many of nn-calc's parameters are right by its own convention: one bias, the reset before."""
    from gatecalc import count

    given = [
        (result[0], count(CELLS[kind[:4].rstrip("C")].removesuffix("_reset_after"), *SIZES[size][:2], layers=layers))
        for result, (_, kind, size, options) in zip(found["results"], cases(), strict=True)
        for layers in [options.get("num_layers", 1)]
        if isinstance(result, list) and result[0] is not None
    ]
    own = sum(parameters == single.parameters for parameters, single in given)
    return (
        f"nn-calc counts one bias, and a GRU that resets before the product. It takes {len(given)} of the layers, and "
        f"by that convention {own} of these are right."
    )


def main() -> None:
    """Print the tables."""
    truths = run("truth")
    assert truths is not None
    expected = truths["results"]
    rows = {name: run(name) for name in ("gatecalc", *PEERS)}
    print(f"# Counters of recurrent layers, {date.today()}\n")
    print(f"Python {platform.python_version()}, torch {truths['version']}, {len(expected)} layers, one process each.\n")
    print("| counter | version | parameters right | MACs right | wrong | unsupported | ms a layer, median |")
    print("|---|---|---|---|---|---|---|")
    for name, found in rows.items():
        print(summary(name, found, expected))
    there = {name: found for name, found in rows.items() if found is not None}
    notes = [flops_note(name, found, expected) for name, found in there.items()]
    notes += [bias_note(there["nn-calc"])] if "nn-calc" in there else []
    print("".join(f"\n{note}\n" for note in notes if note))
    d, h, steps, batch, projection = SIZES[0]
    print(f"## MACs at D={d}, H={h}, T={steps}, N={batch}, P={projection}\n")
    shown = [name for name in there if name not in PEERS or PEERS[name].macs]
    print("| layer | torch | " + " | ".join(shown) + " |")
    print("|---|---|" + "---|" * len(shown))
    for number, (name, _, size, _) in enumerate(cases()):
        if size:
            break
        right = expected[number][1]
        values = []
        for each in shown:
            result = there[each]["results"][number]
            values.append(judged(result[1], right) if isinstance(result, list) else "fails")
        print(f"| {name} | {right:,.0f} | " + " | ".join(values) + " |")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--measure", name]:
            print("\n" + json.dumps(measure(name)))
        case ["--install", *names]:
            for name in names or [name for name, peer in PEERS.items() if peer.package == name]:
                install(name)
        case []:
            main()
        case _:
            sys.exit("usage: counters.py [--install [COUNTER...]]")

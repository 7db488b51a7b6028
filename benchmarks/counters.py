"""Every counter of recurrent layers that is installed, side by side with gatecalc, on the same 54 layers.

    python benchmarks/counters.py > benchmarks/results/counters-DATE.md

A layer is RNN, GRU or LSTM: plain, without biases, batch first, of two layers, in two directions, both; an LSTM with
a projection in three ways; and the single cells with and without biases; each at two sizes. The truth is what PyTorch
itself allocates (numel) and dispatches (FlopCounterMode on the meta device, halved). Each counter runs in a process of
its own, so that one which patches modules or has another's name disturbs nobody.

    python -m pip install torch==2.13.0 torchinfo ptflops thop fvcore calflops torchprofile
"""

from __future__ import annotations

import itertools
import json
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from typing import Any

from gatecalc import __version__ as gatecalc_version

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


Counter = Callable[[Any, Any], tuple[int | None, float | None]]


def truth(net: Any, x: Any) -> tuple[int | None, float | None]:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        net(x)
    return sum(each.numel() for each in net.parameters()), counter.get_total_flops() / 2


def torchinfo(net: Any, x: Any) -> tuple[int | None, float | None]:
    import torchinfo

    found = torchinfo.summary(net, input_data=x, verbose=0)
    return found.total_params, found.total_mult_adds


def ptflops(net: Any, x: Any, backend: str = "pytorch") -> tuple[int | None, float | None]:
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
    return parameters, macs


def ptflops_aten(net: Any, x: Any) -> tuple[int | None, float | None]:
    return ptflops(net, x, "aten")


def thop(net: Any, x: Any) -> tuple[int | None, float | None]:
    import thop

    macs, parameters = thop.profile(net, (x,), verbose=False)
    return int(parameters), macs


def fvcore(net: Any, x: Any) -> tuple[int | None, float | None]:
    from fvcore.nn import FlopCountAnalysis, parameter_count

    counter = FlopCountAnalysis(net, x)
    counter.unsupported_ops_warnings(False)
    counter.uncalled_modules_warnings(False)
    return parameter_count(net)[""], counter.total()


def calflops(net: Any, x: Any) -> tuple[int | None, float | None]:
    import calflops

    _, macs, parameters = calflops.calculate_flops(
        net, args=[x], print_results=False, print_detailed=False, output_as_string=False
    )
    return parameters, macs


def torchprofile(net: Any, x: Any) -> tuple[int | None, float | None]:
    from torchprofile import profile_macs

    return None, profile_macs(net, x)


def flop_counter_on_cpu(net: Any, x: Any) -> tuple[int | None, float | None]:
    return None, truth(net, x)[1]


# name: (the counter, the package whose version is shown)
PEERS: dict[str, tuple[Counter, str]] = {
    "torchinfo": (torchinfo, "torchinfo"),
    "ptflops": (ptflops, "ptflops"),
    "ptflops, aten": (ptflops_aten, "ptflops"),
    "thop": (thop, "thop"),
    "fvcore": (fvcore, "fvcore"),
    "calflops": (calflops, "calflops"),
    "torchprofile": (torchprofile, "torchprofile"),
    "FlopCounterMode on the CPU": (flop_counter_on_cpu, "torch"),
}


def ours(kind: str, size: int, options: dict[str, Any]) -> tuple[int, int]:
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
    return found.parameters, found.totals["macs"]


def measure(name: str) -> list[Any]:
    """Run one counter over all cases: (parameters, MACs, milliseconds) each, or the error."""
    warnings.simplefilter("ignore")
    results: list[Any] = []
    for _, kind, size, options in cases():
        start = time.perf_counter()
        try:
            if name == "gatecalc":
                found: tuple[Any, Any] = ours(kind, size, options)
            else:
                net, x = network(kind, size, options, "meta" if name == "truth" else "cpu")
                start = time.perf_counter()
                found = truth(net, x) if name == "truth" else PEERS[name][0](net, x)
            results.append([*found, 1000 * (time.perf_counter() - start)])
        except Exception as error:  # a counter that fails on one layer goes on with the next
            results.append(f"{type(error).__name__}: {error}")
    return results


def run(name: str) -> tuple[list[Any] | None, float]:
    """Run one counter in a process of its own; None where it is not installed."""
    start = time.perf_counter()
    process = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if process.returncode:
        return None, seconds
    results: list[Any] = json.loads(process.stdout.splitlines()[-1])
    missing = [result for result in results if isinstance(result, str) and "No module named" in result]
    return (None if len(missing) == len(results) else results), seconds


def judged(value: float | None, right: float) -> str:
    """Return ``right``, ``unsupported`` for nothing and zero, else the value and its ratio to the right one."""
    if value == right:
        return "right"
    if not value:
        return "unsupported"
    return f"{value:,.0f} ({value / right:.3f})"


def main() -> None:
    """Print the tables."""
    expected, _ = run("truth")
    assert expected is not None
    rows = {name: run(name) for name in ("gatecalc", *PEERS)}
    print(f"# Counters of recurrent layers, {date.today()}\n")
    print(f"Python {platform.python_version()}, torch {version('torch')}, {len(expected)} layers, one process each.\n")
    print("| counter | version | parameters right | MACs right | wrong | unsupported | ms a layer, median |")
    print("|---|---|---|---|---|---|---|")
    for name, (results, _) in rows.items():
        if results is None:
            print(f"| {name} | not installed here | | | | | |")
            continue
        number = gatecalc_version if name == "gatecalc" else version(PEERS[name][1])
        given = [result if isinstance(result, list) else [None, None, None] for result in results]
        pairs = list(zip(given, expected, strict=True))
        verdicts = [judged(mine[1], right[1]) for mine, right in pairs]
        sizes = [mine[0] == right[0] for mine, right in pairs]
        parameters = "not counted" if all(mine[0] is None for mine in given) else f"{sum(sizes)}"
        times = sorted(mine[2] for mine in given if mine[2] is not None)
        wrong = sum(verdict not in ("right", "unsupported") for verdict in verdicts)
        middle = f"{times[len(times) // 2]:.2f}" if times else ""
        counts = f"{verdicts.count('right')} | {wrong} | {verdicts.count('unsupported')}"
        print(f"| {name} | {number} | {parameters} | {counts} | {middle} |")
    d, h, steps, batch, projection = SIZES[0]
    print(f"\n## MACs at D={d}, H={h}, T={steps}, N={batch}, P={projection}\n")
    shown = [name for name, (results, _) in rows.items() if results is not None]
    print("| layer | torch | " + " | ".join(shown) + " |")
    print("|---|" + "---|" * (len(shown) + 1))
    for number, (name, _, size, _) in enumerate(cases()):
        if size:
            break
        right = expected[number][1]
        values = []
        for each in shown:
            result = (rows[each][0] or [])[number]
            values.append(judged(result[1], right) if isinstance(result, list) else "fails")
        print(f"| {name} | {right:,.0f} | " + " | ".join(values) + " |")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print("\n" + json.dumps(measure(sys.argv[1])))
    else:
        main()

"""gatecalc: one definition of a recurrent cell, every consequence of it.

>>> from gatecalc import cell
>>> cell("lstm").states
('c', 'h')
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gatecalc.calculus.derivation import derive as derive
    from gatecalc.calculus.grading import grade as grade
    from gatecalc.cell import cell as cell
    from gatecalc.checking.check import check as check
    from gatecalc.checking.check import value as value
    from gatecalc.checking.scan import scan as scan
    from gatecalc.counts.architecture import count as count
    from gatecalc.counts.fair import fair_width as fair_width
    from gatecalc.errors import GatecalcError as GatecalcError
    from gatecalc.errors import Undecided as Undecided
    from gatecalc.networks.training import train as train
    from gatecalc.numbers.trace import trace as trace

__version__ = "0.1.0"

# Where each public name lives: loaded when it is first asked for, so that a light command stays light.
_PUBLIC = {
    "GatecalcError": "errors",
    "Undecided": "errors",
    "cell": "cell",
    "check": "checking.check",
    "value": "checking.check",
    "scan": "checking.scan",
    "trace": "numbers.trace",
    "train": "networks.training",
    "count": "counts.architecture",
    "fair_width": "counts.fair",
    "derive": "calculus.derivation",
    "grade": "calculus.grading",
}


class _Package(ModuleType):
    """The package: loads a public name when it is asked for.

    ``gatecalc.cell`` is the function, whether or not the module of the same name has been imported; the module is there
    for ``from gatecalc.cell import ...``.
    """

    def __getattr__(self, name: str) -> Any:
        if name not in _PUBLIC:
            raise AttributeError(f"module 'gatecalc' has no attribute '{name}'")
        value = getattr(import_module(f"gatecalc.{_PUBLIC[name]}"), name)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _PUBLIC and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *_PUBLIC})


sys.modules[__name__].__class__ = _Package

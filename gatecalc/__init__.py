"""gatecalc: one definition of a recurrent cell, every consequence of it.

>>> from gatecalc import cell
>>> cell("lstm").states
('c', 'h')
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gatecalc.architecture import count as count
    from gatecalc.cell import cell as cell
    from gatecalc.errors import GatecalcError as GatecalcError
    from gatecalc.errors import Undecided as Undecided
    from gatecalc.fair import fair_width as fair_width

__version__ = "0.1.0"

# Where each public name lives: loaded when it is first asked for, so that a light command stays light.
_PUBLIC = {
    "GatecalcError": "errors",
    "Undecided": "errors",
    "cell": "cell",
    "count": "architecture",
    "fair_width": "fair",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'gatecalc' has no attribute '{name}'")
    value = getattr(import_module(f"gatecalc.{_PUBLIC[name]}"), name)
    globals()[name] = value  # a function goes before a module of the same name
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])

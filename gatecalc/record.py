"""Small typed results: a class whose annotations are its fields, made in microseconds.

``NamedTuple`` and ``dataclass`` read every annotation or write source code when a class is made, which takes up to a
millisecond for each; a command that starts in fifty cannot afford a dozen of them.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar, dataclass_transform

Self = TypeVar("Self", bound="Record")


@dataclass_transform(frozen_default=True)
class Record:
    """An immutable object of named fields, equal to another of its class with equal fields.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(3), Point(3) == Point(x=3, y=0), Point(3)._replace(y=5)
    (Point(x=3, y=0), True, Point(x=3, y=5))
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *cls.__annotations__)

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = self._fields
        if len(values) > len(fields):
            raise TypeError(f"{type(self).__name__} has {len(fields)} fields, and {len(values)} are given")
        found = self.__dict__
        found.update(zip(fields, values))
        for field, value in named.items():
            if field not in fields or field in found:
                raise TypeError(f"{type(self).__name__} has no field '{field}', or it is given twice")
            found[field] = value
        missing = [field for field in fields if field not in found and not hasattr(type(self), field)]
        if missing:
            raise TypeError(f"{type(self).__name__} needs {', '.join(missing)}")

    def _asdict(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in self._fields}

    def _replace(self: Self, **changed: Any) -> Self:
        return type(self)(**{**self._asdict(), **changed})

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed; _replace makes another")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Record) and self._asdict() == other._asdict()

    def __hash__(self) -> int:
        return hash(tuple(self._asdict().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{field}={value!r}' for field, value in self._asdict().items())})"

"""Records: msgspec structs that also answer to the method names of the real package's pydantic models.

Users' eval files call ``model_dump()`` and ``model_validate()`` on cases, results and configurations. A record
gives them those, and turns an unknown field into an error that names the nearest known one.
"""

import copy
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

import msgspec

from evalengine.errors import ConfigurationError, nearest

_T = TypeVar("_T")


class GeneratedId(str):
    """An id that was drawn because the author gave none; it never becomes part of an identity."""

    __slots__ = ()


def plain_string(value: Any) -> Any:
    """Encode subclasses of ``str`` (generated ids, enums of other libraries) as what they say."""
    if isinstance(value, str):
        return str(value)
    raise NotImplementedError


_build: Any = msgspec.StructMeta.__call__
"""Bound once: records are made by the thousand."""


class RecordType(msgspec.StructMeta):
    """The metaclass of records: a misspelt field names the nearest valid one."""

    def __call__(cls: type[_T], *args: Any, **kwargs: Any) -> _T:  # noqa: N805 - of a metaclass
        """Build a record; raise ConfigurationError for a field that does not exist."""
        try:
            record: _T = _build(cls, *args, **kwargs)
            return record
        except TypeError as error:
            fields = cast("Any", cls).__struct_fields__
            unknown = [name for name in kwargs if name not in fields]
            if unknown:
                msg = f"{cls.__name__} has no field {unknown[0]!r}{nearest(unknown[0], fields)}"
                raise ConfigurationError(msg) from None
            msg = f"{cls.__name__}: {error}"
            raise TypeError(msg) from None


class Record(msgspec.Struct, metaclass=RecordType):
    """A struct with ``model_dump``, ``model_dump_json``, ``model_validate`` and ``model_copy``."""

    def model_dump(self, *, exclude_none: bool = False) -> dict[str, Any]:
        """Return the record as builtins: dicts, lists, strings, numbers."""
        plain = cast("dict[str, Any]", msgspec.to_builtins(self, enc_hook=plain_string, str_keys=True))
        if exclude_none:
            return {key: value for key, value in plain.items() if value is not None}
        return plain

    def model_dump_json(self, *, indent: int | None = None) -> str:
        """Return the record as JSON text."""
        data = msgspec.json.encode(self, enc_hook=plain_string)
        return (msgspec.json.format(data, indent=indent) if indent else data).decode()

    @classmethod
    def model_validate(cls, value: Any) -> Self:
        """Build a record from a mapping, a record or any object with the same fields.

        Raises ConfigurationError with the path of the offending value.
        """
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            dump = getattr(value, "model_dump", None)
            value = dump() if callable(dump) else msgspec.to_builtins(value, enc_hook=plain_string)
        try:
            return msgspec.convert(value, cls, str_keys=True)
        except msgspec.ValidationError as error:
            msg = f"{cls.__name__}: {error}"
            raise ConfigurationError(msg) from None

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        """Build a record from JSON text."""
        try:
            return cls.model_validate(msgspec.json.decode(text))
        except msgspec.DecodeError as error:
            msg = f"{cls.__name__}: not JSON: {error}"
            raise ConfigurationError(msg) from None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy, with some fields replaced; ``deep`` copies what the fields hold too."""
        source = copy.deepcopy(self) if deep else self
        return msgspec.structs.replace(source, **dict(update or {}))

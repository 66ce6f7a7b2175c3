"""The forms of QEMU's answers (QEMU QMP Reference Manual), with the fields that the driver reads. No answer without a
form here, or of another form, is passed on. Pure."""

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from pydantic import AfterValidator, Field, TypeAdapter
from typing_extensions import TypedDict

from agents.answer import printable, read

_Count = Annotated[int, Field(ge=0, lt=2**64)]
_Text = Annotated[str, Field(max_length=4096)]
_Told = Annotated[str, AfterValidator(lambda said: printable(said, 600))]  # for users


class _State(TypedDict):
    status: _Text
    running: NotRequired[bool]


_Ram = TypedDict(
    "_Ram",
    {
        "total": NotRequired[_Count],
        "remaining": NotRequired[_Count],
        "transferred": NotRequired[_Count],
        "page-size": NotRequired[_Count],
        "dirty-pages-rate": NotRequired[_Count],
        "dirty-sync-count": NotRequired[_Count],
        "mbps": NotRequired[Annotated[float, Field(ge=0, allow_inf_nan=False)]],
    },
)


class _Pages(TypedDict):
    pages: _Count


_Migration = TypedDict(
    "_Migration",
    {
        "status": NotRequired[_Text],
        "error-desc": NotRequired[_Told],
        "downtime": NotRequired[_Count],
        "ram": NotRequired[_Ram],
        "xbzrle-cache": NotRequired[_Pages],
    },
)
_Yank = TypedDict("_Yank", {"type": _Text, "id": NotRequired[_Text], "node-name": NotRequired[_Text]})
_Node = TypedDict("_Node", {"node-name": _Text})


class _Device(TypedDict):
    inserted: NotRequired[_Node]


class _Job(TypedDict):
    device: _Text
    status: _Text
    ready: bool
    offset: _Count
    len: _Count
    error: NotRequired[_Told]


_DirtyRate = TypedDict("_DirtyRate", {"status": _Text, "dirty-rate": NotRequired[int]})
_Memory = TypedDict("_Memory", {"stat-total-memory": NotRequired[_Count], "stat-free-memory": NotRequired[_Count]})


class _Statistics(TypedDict):
    stats: _Memory


_Processor = TypedDict("_Processor", {"qom-path": _Text, "thread-id": NotRequired[_Count]})
_ForPeople = TypedDict("_ForPeople", {"human-readable-text": str})


class _Model(TypedDict):
    props: dict[str, Any]


class _Expansion(TypedDict):
    model: _Model


_Definition = TypedDict(
    "_Definition",
    {
        "name": _Text,
        "alias-of": NotRequired[_Text],
        "migration-safe": NotRequired[bool],
        "deprecated": NotRequired[bool],
        "unavailable-features": NotRequired[list[_Text]],
    },
)

_FORMS: dict[str, TypeAdapter[Any]] = {
    "query-status": TypeAdapter(_State),
    "query-migrate": TypeAdapter(_Migration),
    "query-yank": TypeAdapter(list[_Yank]),
    "query-block": TypeAdapter(list[_Device]),
    "query-block-jobs": TypeAdapter(list[_Job]),
    "query-dirty-rate": TypeAdapter(_DirtyRate),
    "query-cpus-fast": TypeAdapter(Annotated[list[_Processor], Field(min_length=1)]),
    "query-cpu-model-expansion": TypeAdapter(_Expansion),
    "query-cpu-definitions": TypeAdapter(list[_Definition]),
    "x-query-ramblock": TypeAdapter(_ForPeople),
    "qom-get guest-stats": TypeAdapter(_Statistics),
    "qom-get vendor": TypeAdapter(_Text),
    "qom-get unavailable-features": TypeAdapter(list[_Text]),
}
"""The forms by command; the form of a `qom-get` depends on the property."""


def answer(command: str, arguments: Mapping[str, Any] | None, found: object) -> Any:
    """Return QEMU's answer to a command; None if the command has no form here. Raises Unreadable."""
    asked = f"{command} {(arguments or {}).get('property')}" if command == "qom-get" else command
    form = _FORMS.get(asked)
    return read(form, found) if form is not None else None

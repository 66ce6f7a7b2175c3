"""Requests whose body is a text that operators have written: a policy or an inventory."""

from typing import Annotated, Any

from fastapi import Query, Request

from controller.runtime.problems import Problem

MEDIA_TYPES = ("application/yaml", "application/x-yaml", "text/yaml", "text/plain")
FileName = Annotated[str, Query(max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$", description="For messages only.")]
AllowDisconnect = Annotated[bool, Query(description="Even if devices are cut off from running VMs.")]
Planned = Annotated[
    str | None,
    Query(pattern=r"^[0-9]{1,10}-[0-9a-f]{12}$", description="Only if the plan is still the one with this mark."),
]


def body(noun: str, name: str, example: str) -> dict[str, Any]:
    """Return the description of a body that is a text. `name` is the example's."""
    file = {"type": "string", "format": "binary", "description": f"The {noun}'s file, in UTF-8."}
    content = {MEDIA_TYPES[0]: {"schema": file, "examples": {name: {"value": example}}}}
    return {"requestBody": {"required": True, "content": content}}


async def text_of(request: Request, noun: str) -> str:
    """Return the text of a request. Raises Problem."""
    media_type = request.headers.get("content-type", MEDIA_TYPES[0]).partition(";")[0].strip().lower()
    if media_type not in MEDIA_TYPES:
        article = "An" if noun[0] in "aeiou" else "A"
        raise Problem(415, f"{article} {noun} is {MEDIA_TYPES[0]}, not {media_type}.")
    try:
        return (await request.body()).decode()
    except UnicodeDecodeError as error:
        raise Problem(400, f"The body is not UTF-8: byte {error.start}.") from None

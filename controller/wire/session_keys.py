"""Keys of BGP sessions, as agents are told them, over TLS alone: server-sent events named `session-keys` beside the
desired state, each the whole truth. `POST /api/v1/agent/session-keys` says what the agent has made of it."""

from typing import Annotated

from pydantic import ConfigDict, Field

from controller.wire.fields import Name
from controller.wire.model import Message

KeyName = Annotated[str, Field(max_length=200)]


class SessionKey(Message):
    """`key` is its name, `password` what segments are signed with (TCP-MD5, RFC 2385)."""

    model_config = ConfigDict(hide_input_in_errors=True)

    key: str
    password: str = Field(repr=False)


class SessionKeys(Message):
    """`wanted` is the name of the key that the agent is to say it holds: it can be asked for from then on. `sessions`
    are the keys in force, by route server; a session without one is not signed."""

    model_config = ConfigDict(hide_input_in_errors=True)

    wanted: str | None
    sessions: dict[str, SessionKey]


class SessionKeysHeld(Message):
    """`held`: the key that was `wanted` last, and is on disk. `seen`: of each route server whose session is
    established, the name of the key that it is signed with, "" for none."""

    cloudlet: Name
    held: KeyName | None
    seen: Annotated[dict[Name, KeyName], Field(max_length=1000)]

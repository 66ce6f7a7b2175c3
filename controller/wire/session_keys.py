"""Keys of BGP sessions, for agents, over TLS only: server-sent events named `session-keys` beside the desired state,
each with all keys. `POST /api/v1/agent/session-keys` takes the agent's report of the keys that it holds and uses."""

from typing import Annotated

from pydantic import ConfigDict, Field

from controller.wire.fields import Name
from controller.wire.model import Message

KeyName = Annotated[str, Field(max_length=200)]


class SessionKey(Message):
    """A key. `key` is its name; `password` signs segments (TCP-MD5, RFC 2385)."""

    model_config = ConfigDict(hide_input_in_errors=True)

    key: str
    password: str = Field(repr=False)


class SessionKeys(Message):
    """The keys of a cloudlet. `wanted` is the name of the key that the agent must report as held; the controller may
    use it from then on. `sessions` are the keys in force, by route server; a session without one is not signed."""

    model_config = ConfigDict(hide_input_in_errors=True)

    wanted: str | None
    sessions: dict[str, SessionKey]


class SessionKeysHeld(Message):
    """An agent's report of its keys. `held`: the last `wanted` key, once it is on disk. `seen`: for each route server
    with an established session, the name of the key that signs it, "" for none."""

    cloudlet: Name
    held: KeyName | None
    seen: Annotated[dict[Name, KeyName], Field(max_length=1000)]

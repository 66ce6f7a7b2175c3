"""The base of every message: unknown fields are errors, values are frozen."""

from pydantic import BaseModel, ConfigDict


class Message(BaseModel):
    """An immutable message. A reader refuses a message with an unknown field instead of ignoring the field."""

    model_config = ConfigDict(extra="forbid", frozen=True)

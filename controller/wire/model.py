"""The base of every message: unknown fields are errors, values are frozen."""

from pydantic import BaseModel, ConfigDict


class Message(BaseModel):
    """An immutable message. A field that the reader does not know is refused rather than dropped."""

    model_config = ConfigDict(extra="forbid", frozen=True)

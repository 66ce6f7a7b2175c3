"""What the lab says when something is wrong: one sentence for people, never a traceback."""


class LabError(Exception):
    """A failure with its reason and, where there is one, the way out (`hint`)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} ({hint})" if hint else message)

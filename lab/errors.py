"""The lab's errors: one sentence for users, never a traceback."""


class LabError(Exception):
    """A failure with its reason and, if there is one, a hint how to solve it (`hint`)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} ({hint})" if hint else message)

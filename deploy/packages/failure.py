"""The error of everything that builds packages."""


class NotBuilt(Exception):  # noqa: N818 - it says what is
    """A package could not be built; the message is one sentence, with the last words of the program that failed."""

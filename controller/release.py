"""Which release this is."""

from importlib.metadata import PackageNotFoundError, version


def release() -> str:
    """The version of the installed package."""
    try:
        return version("weft")
    except PackageNotFoundError:
        return "0"

"""The running release of Weft, and the distribution that carries it."""

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "weft-vcp"
"""The name on package indexes, as in pyproject.toml. PyPI's `weft` is another project."""


def release() -> str:
    """Return the version of the installed distribution; "0" if this tree was never installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0"

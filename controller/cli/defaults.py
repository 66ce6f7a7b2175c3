"""Values of options that set a property: `-` returns it to its default."""

from controller.cli.failures import WrongUsage

DEFAULT = "-"


def text(value: str) -> str | None:
    """Return the text, None for the default."""
    return None if value == DEFAULT else value


def number(option: str, value: str) -> int | None:
    """Return the whole number, None for the default. Raises WrongUsage, which names the option."""
    if value == DEFAULT:
        return None
    if not (value.isascii() and value.isdigit() and len(value) < 20):
        raise WrongUsage(f"{option} {value!r}: give a whole number, or {DEFAULT} for the default")
    return int(value)


def texts(option: str, values: list[str]) -> list[str] | None:
    """Return the texts, None if the only one stands for the default. Raises WrongUsage, which names the option."""
    if DEFAULT not in values:
        return values
    if len(values) > 1:
        raise WrongUsage(f"{option} {DEFAULT}: it stands for none, and cannot come with others")
    return None

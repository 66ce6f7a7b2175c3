"""Files that commands keep for the next command of the same user. The only file that imports platformdirs."""

from pathlib import Path

from platformdirs import user_state_path


def state_file(name: str) -> Path:
    """The path of a file below XDG_STATE_HOME (~/.local/state); neither it nor its folder need exist."""
    return user_state_path("weft") / name

"""Files of a user: those that commands keep for the next command, and settings. The only file that imports
platformdirs."""

from pathlib import Path

from platformdirs import user_config_path, user_state_path


def state_file(name: str) -> Path:
    """Return the path of a file below XDG_STATE_HOME (~/.local/state). The file and its folder need not exist."""
    return user_state_path("weft") / name


def config_file(name: str) -> Path:
    """Return the path of a file below XDG_CONFIG_HOME (~/.config). The file and its folder need not exist."""
    return user_config_path("weft") / name

"""The kernel's neighbour tables, which all namespaces of this machine share. A region's gateways and devices need more
than the kernel's default of 1,024 entries, as a cloudlet's own machine does."""

from pathlib import Path

from agents.kernel.lan import neighbour_tables
from lab.errors import LabError

_SETTINGS = Path("/proc/sys")


def enlarge() -> None:
    """Set the tables to the sizes that an agent asks for. Larger ones stay, and the sizes last until the machine
    restarts. Raises LabError where that is not allowed."""
    for path, least in neighbour_tables().items():
        setting = _SETTINGS / path
        try:
            if setting.exists() and int(setting.read_text()) < least:
                setting.write_text(str(least))
        except (OSError, ValueError) as error:
            raise LabError(f"{setting} cannot be set to {least}: {error}") from error

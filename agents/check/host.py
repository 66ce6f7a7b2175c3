"""All checks of a host, for one agent's settings."""

from collections.abc import Sequence

from agents.check import controllers, daemons, kernel, path_mtu, ports
from agents.settings import Settings
from controller.wire.checks import Result


async def look(settings: Settings, vteps: Sequence[str] = ()) -> list[Result]:
    """Return the results of all checks. `vteps` are addresses of other cloudlets."""
    mtu = settings.ipsec.path_mtu if settings.ipsec is not None else path_mtu.WANTED
    return [
        *await kernel.results(settings),
        *await ports.results(settings),
        *await daemons.results(settings),
        *await controllers.results(settings),
        *await path_mtu.results(vteps, mtu),
    ]

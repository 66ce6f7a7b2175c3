"""Two hosts of the container driver, whose LANs are one."""

from pathlib import Path

from agents.hypervisors.container import driver
from agents.hypervisors.container.container import Container
from agents.hypervisors.container.hypervisor import Containers
from lab.hosts import Host, Hosts


class ContainerHosts(Hosts):
    """Hosts whose containers end with them, and leave their output."""

    driver = staticmethod(driver)

    def close(self) -> None:
        for host in self._hosts:
            for path in host.state.glob("*/machine.json"):
                container = container_at(host, path.parent.name)
                _show(container, host.name)
                host.do(container.remove())
        super().close()


def container_at(host: Host, name: str) -> Container:
    """Return a host's container, whether it is there or not."""
    assert isinstance(host.driver, Containers)
    return host.driver.container(name)


def lease(host: Host, name: str, address: str) -> None:
    """Give a container an address, with its prefix's length, as if it had leased it."""
    text, _, length = address.partition("/")
    path: Path = host.state / name / "guest/a.lease"
    path.write_text(f"{text} {length} -\n")
    host.do(host.driver.guest(name, "weft-guest", "arrive"))


def _show(container: Container, where: str) -> None:
    if container.runtime.output.exists() and (said := container.runtime.output.read_text(errors="replace")):
        print(f"{container.name} at {where}:\n{said[-2000:]}", flush=True)

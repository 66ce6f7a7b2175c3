"""The `weft-agent` command: it runs the agent of one cloudlet, or shows the state of its kernel."""

import argparse
import asyncio
import logging
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from agents.settings import IMAGES, ConfigError, Settings, load
from agents.storage.state import StateDirectory, StateError
from controller.wire import logs, tracing
from controller.wire.release import release


class CannotStart(Exception):  # noqa: N818 - a sentence for the user
    """The reason why the agent cannot run."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 stopped as asked, 1 cannot run, 2 wrong command line."""
    options = parser().parse_args(arguments)
    try:
        if options.command == "strongswan":
            return _strongswan(options.config)
        if options.command == "base-memory":
            return asyncio.run(_base_memory(options))
        if options.command == "check":
            return asyncio.run(_check(options))
        return asyncio.run(_run(options.config) if options.command == "run" else _show(options.output))
    except (ConfigError, StateError, CannotStart) as error:
        logs.complain("weft-agent", str(error))
        return 1
    except KeyboardInterrupt:
        return 0
    except BaseExceptionGroup as group:
        logging.getLogger(__name__).critical("stopped by a defect of the agent", exc_info=group)
        return 1


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="weft-agent", description="The agent of one cloudlet.")
    parser.add_argument("--version", action="version", version=f"weft-agent {release()}")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="enrol if need be, then keep the cloudlet as the controller wants it")
    settings = "TOML file; docs/reference/configuration.md"
    run.add_argument("--config", type=Path, required=True, metavar="FILE", help=settings)
    check = commands.add_parser("check", help="whether this host can be the cloudlet; exit code 1: not so")
    check.add_argument("--config", type=Path, required=True, metavar="FILE", help="the agent's TOML file")
    check.add_argument(
        "--to", nargs="+", default=[], metavar="VTEP", help="other cloudlets, for the MTU of the way there"
    )
    check.add_argument("--output", choices=("table", "json"), default="table", help="for users or for programs [table]")
    show = commands.add_parser("show", help="what the kernel has: LANs, ports, tunnels, routes")
    show.add_argument("--output", choices=("table", "json"), default="table", help="for users or for programs [table]")
    strongswan = commands.add_parser(
        "strongswan", help="print the strongswan.conf to start charon with; see docs/network/ipsec.md"
    )
    strongswan.add_argument("--config", type=Path, required=True, metavar="FILE", help="the agent's TOML file")
    base = commands.add_parser(
        "base-memory", help="boot a machine of an image, and store its memory for moves over thin lines; a minute"
    )
    base.add_argument("image", help="a folder below the driver's images")
    base.add_argument("--config", type=Path, required=True, metavar="FILE", help="the agent's TOML file")
    base.add_argument("--driver", choices=("qemu", "libvirt"), default="qemu", help="whose images and options [qemu]")
    base.add_argument("--mib", type=int, default=512, help="memory of the machine, in MiB [512]")
    base.add_argument("--seconds", type=float, default=120.0, help="time to boot, if no guest agent answers [120]")
    return parser


async def _base_memory(options: argparse.Namespace) -> int:
    from agents.hypervisors.hypervisor import HypervisorError, Site
    from agents.hypervisors.qemu import base_memory

    settings = load(options.config)
    driver = settings.hypervisors.get(options.driver)
    site = Site(
        cloudlet=settings.cloudlet,
        state_dir=settings.state_dir / "hypervisors" / options.driver,
        images=(driver.images if driver is not None else None) or IMAGES,
        address="",
        options=driver.options if driver is not None else {},
    )
    try:
        made = await base_memory.make(site, options.image, options.mib << 20, options.seconds)
    except HypervisorError as error:
        raise CannotStart(str(error)) from error
    print(f"{made}: {made.stat().st_size / (1 << 20):.0f} MiB; copy it into the image's folder at the other cloudlets")
    return 0


async def _check(options: argparse.Namespace) -> int:
    from agents.check import Outcome, look
    from controller.wire.checks import text

    found = await look(load(options.config), options.to)
    print(text(found, options.output))
    return int(any(one.outcome is Outcome.FAILED for one in found))


async def _run(config: Path) -> int:
    logs.begin(logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    settings = load(config)
    form = os.environ.get(logs.SETTING) or settings.log.format
    if form not in (logs.TEXT, logs.JSON):
        raise CannotStart(f"{logs.SETTING}: {form!r} is neither {logs.TEXT} nor {logs.JSON}")
    logs.use(form, cloudlet=settings.cloudlet)
    if os.geteuid() != 0:
        raise CannotStart("must run as root: it makes interfaces, routes and packet filters")
    state = StateDirectory(settings.state_dir, settings.cloudlet)
    try:
        with tracing.traced("weft-agent", {"weft.cloudlet": settings.cloudlet}):
            working = asyncio.create_task(_work(settings, state))
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, working.cancel)
            with suppress(asyncio.CancelledError):
                await working
    except tracing.NoTraces as error:
        raise CannotStart(str(error)) from error
    return 0


async def _work(settings: Settings, state: StateDirectory) -> None:
    from agents.agent import Agent  # imported late, so that a wrong file or command line is reported at once
    from agents.controller.client import Controller
    from agents.identity import Identity
    from agents.identity.enrolment import EnrolmentError, credential

    async with Controller(*map(str, settings.controller)) as controller:
        try:
            directory = settings.state_dir / "identity"
            identity = Identity(settings.cloudlet, controller, directory, settings.identity_group)
            kept = await credential(controller, state, identity, settings.cloudlet, settings.token_file, release())
        except EnrolmentError as error:
            raise CannotStart(str(error)) from error
        controller.use(kept)
        await Agent(settings, state, controller, identity, release()).run()


def _strongswan(config: Path) -> int:
    from agents.ipsec.daemon import configuration, kernel_esp

    settings = load(config)
    if settings.ipsec is None:
        raise CannotStart(f"{config}: ipsec: not there, so charon is not needed")
    print(configuration(settings.ipsec.vici, kernel_esp()), end="")
    return 0


async def _show(output: str) -> int:
    from agents.kernel.netlink import Kernel
    from agents.kernel.show import text

    async with Kernel() as kernel:
        print(text(await kernel.read(), output))
    return 0


if __name__ == "__main__":
    sys.exit(main())

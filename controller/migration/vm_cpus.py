"""The choice of a VM's CPU: gathers agents' reports for `core.cpu_choice`."""

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.cpu_choice import WORDS, meant, refusal, settle
from controller.core.destinations import within_reach
from controller.core.intent import Intent
from controller.core.refusals import conflict, invalid
from controller.db import platforms
from controller.db.vms import VmRow


async def check(session: AsyncSession, intent: Intent, choice: str, driver: str, endpoint: str) -> None:
    """Raise Refused if the choice is a misspelt word, or a model that the endpoint's cloudlet cannot give guests, by
    its agent's report. If the agent has reported nothing yet, the start of the VM decides."""
    if word := meant(choice):
        raise invalid("cpu", f"{choice!r} is not a CPU model: did you mean {word!r}?")
    cloudlet = intent.endpoints[endpoint].cloudlet
    platform = await platforms.of(session, cloudlet, driver)
    if choice in WORDS or platform is None or platform.models is None:
        return
    if why := refusal(choice, cloudlet, platform):
        raise conflict(why, "cpu")


async def settled(session: AsyncSession, intent: Intent, vm: VmRow) -> str | None:
    """Return the CPU with which a VM is started where it is; None is its driver's own. Raises Refused."""
    here = intent.endpoints[vm.endpoint].cloudlet
    reports = await platforms.reports(session, within_reach(intent, vm.endpoint), vm.machine["driver"])
    return settle(vm.cpu_settled, vm.cpu, intent.policy.migration.cpu, here, reports)

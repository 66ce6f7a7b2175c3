"""The check whether a VM's images are where the VM is: gathers agents' reports for `core.vm_images`."""

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.intent import Intent
from controller.core.refusals import conflict
from controller.core.vm_images import lacking
from controller.db import platforms
from controller.wire.machines import Machine


async def check(session: AsyncSession, intent: Intent, machine: Machine, endpoint: str) -> None:
    """Raise Refused if the endpoint's cloudlet does not have the VM's image or its disk's base, by its agent's report.
    If the agent has reported nothing yet, the start of the VM decides."""
    cloudlet = intent.endpoints[endpoint].cloudlet
    platform = await platforms.of(session, cloudlet, machine.driver)
    if platform is not None and (lack := lacking(machine, cloudlet, platform)) is not None:
        field, sentence = lack
        raise conflict(f"as its agent last reported, {sentence}", field)

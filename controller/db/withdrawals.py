"""Applied texts whose change is rolled back."""

from sqlalchemy.ext.asyncio import AsyncSession

from controller.db.inventories import INVENTORIES
from controller.db.policies import POLICIES


async def withdraw(session: AsyncSession, generation: int) -> None:
    """Withdraw the policy, and the inventory, that a change has applied."""
    await POLICIES.withdraw(session, generation)
    await INVENTORIES.withdraw(session, generation)

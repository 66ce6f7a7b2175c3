"""An operator's decision about route servers that are ahead of the database."""

from fastapi import APIRouter
from pydantic import BaseModel

from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.core.refusals import conflict

router = APIRouter(prefix="/api/v1/route-servers", tags=["routes"], dependencies=[Operator])


class Overtaken(BaseModel):
    """`route_servers` were ahead of the database. They get its rule set within seconds, at a new generation."""

    route_servers: list[str]


@router.post("/overtake", responses=errors(409), summary="Put an older database in force")
async def overtake(region: Running) -> Overtaken:
    """Put a database in force that was restored from a copy. Its rule set would restore access that was removed since
    the copy was made. Until the operator decides, the controller sends nothing to route servers that are not in step
    (their `error` gives the reason)."""
    overtaken = await region.route_servers.precedence.overtake()
    if not overtaken:
        raise conflict("no route server is ahead of the database")
    names = ", ".join(overtaken)
    region.runtime.event_log.note(
        "overtaken", next(iter(overtaken)), f"an operator puts the database in force, which is behind {names}"
    )
    await region.changes.flow.renew(max(overtaken.values()))
    return Overtaken(route_servers=list(overtaken))

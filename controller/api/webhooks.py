"""Webhooks: programs that get events as they happen, signed (docs/operate/webhooks.md)."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from controller.api import pages
from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import Body, Moment, Name, NamePath
from controller.core.refusals import missing
from controller.db import webhook_deliveries
from controller.db import webhooks as table
from controller.db.webhook_deliveries import WebhookDeliveryRow
from controller.db.webhooks import WebhookRow
from controller.region import Region

router = APIRouter(prefix="/api/v1/webhooks", tags=["webhooks"], dependencies=[Operator])

EXAMPLE: JsonDict = {"name": "chat", "url": "https://hooks.example.net/weft", "type": "move-*"}

PRINTABLE = r"^[^\x00-\x1f\x7f]+$"
Url = Annotated[str, Field(max_length=2000, pattern=r"^[!-~]+$", description="https://…, without credentials.")]
Type = Annotated[
    str | None,
    Field(max_length=200, pattern=PRINTABLE, description="Only this type, or types that begin so: `move-*`."),
]
About = Annotated[
    str | None, Field(max_length=200, pattern=PRINTABLE, description="Only events about a thing of that name.")
]
Source = Annotated[
    str | None, Field(max_length=200, pattern=PRINTABLE, description="Only what this source caused: `cloudlet:c1`.")
]
Root = Annotated[
    str | None,
    Field(max_length=65_536, description="The authorities of the receiver's certificate, in PEM; null: the machine's."),
]
Secret = Annotated[str | None, Field(max_length=200, description="`whsec_…`; null: one is made, and shown once.")]


class NewWebhook(Body):
    """A receiver. It gets the events from now on that fit `type`, `about` and `source`."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: Name
    url: Url
    type: Type = None
    about: About = None
    source: Source = None
    root: Root = None
    secret: Secret = None


class WebhookUpdate(Body):
    """Properties to change; those that are left out stay. `paused`: whether the receiver gets no events for now."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"type": "vm-*", "paused": False}]})

    url: Url | None = None
    type: Type = None
    about: About = None
    source: Source = None
    root: Root = None
    paused: bool | None = None


class NewSecret(Body):
    """Another secret. The present one signs as well for `overlap` seconds."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"overlap": 3600}]})

    secret: Secret = None
    overlap: Annotated[int, Field(ge=0, le=30 * 86_400)] = 86_400


class Replay(Body):
    """The events to send again: those after an id, or since a time. One of the two."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"since": "2030-01-31T12:00:00Z"}]})

    after: Annotated[int | None, Field(ge=0, le=2**63 - 1)] = None
    since: Moment | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.after is None) == (self.since is None):
            raise ValueError("one of after and since says where to begin")
        return self


class Webhook(BaseModel):
    """A receiver. `state`: `failing` since `failing_since`, after so many `attempts` to send the next event, the next
    one at `retry_at`, the last one ended by `error`; or `paused`, `paused_because` of a reason. `position` is the id of
    the last event that it has taken or that is not for it, `backlog` the number of events that wait (10,000 at most),
    `missed` the number of those that were deleted before they could be sent, since it was last resumed."""

    name: str
    url: str
    type: str | None
    about: str | None
    source: str | None
    root: str | None
    state: Literal["active", "failing", "paused"]
    paused_because: str
    position: int
    backlog: int
    failing_since: datetime | None
    attempts: int
    retry_at: datetime | None
    error: str
    missed: int
    created_at: datetime


class MadeWebhook(Webhook):
    """A receiver, and its secret if the controller has made it. The secret is shown only here; a repetition by
    Idempotency-Key shows null."""

    secret: str | None


class WebhookTest(BaseModel):
    """The outcome of a test: the status of the answer, null without one, and the reason if it failed."""

    delivered: bool
    status: int | None
    milliseconds: int
    reason: str


class WebhookDelivery(BaseModel):
    """An attempt to send the event with the id `event`. `status` is that of the answer, null without one; `reason` is
    empty if the receiver has taken the event."""

    id: int
    event: int
    type: str
    at: datetime
    attempt: int
    status: int | None
    milliseconds: int
    reason: str


@router.post("", status_code=201, responses=errors(409), summary="Register a webhook")
async def create(body: NewWebhook, region: Running) -> MadeWebhook:
    """Register a receiver. Its secret is stored in encrypted form."""
    which = {"type": body.type, "about": body.about, "source": body.source}
    row, secret = await region.webhooks.registered.add(body.name, body.url, body.root, body.secret, which)
    return MadeWebhook(**_shown(row, 0), secret=secret)


@router.get("", responses=errors(), summary="List webhooks")
async def index(region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None) -> Page[Webhook]:
    """Return receivers, sorted by name, without their secrets."""
    after = pages.after(cursor)
    async with region.database.read() as session:
        rows = [row for row in await table.load(session) if row.name > after][: limit + 1]
        backlogs = {row.name: await table.backlog(session, row) for row in rows}
    return pages.page(rows, limit, lambda row: row.name, lambda row: Webhook(**_shown(row, backlogs[row.name])))


@router.get("/{name}", responses=errors(404), summary="Show a webhook")
async def show(name: NamePath, region: Running) -> Webhook:
    """Return a receiver, without its secret."""
    return await _webhook(region, name)


@router.patch("/{name}", responses=errors(404), summary="Change a webhook")
async def update(name: NamePath, body: WebhookUpdate, region: Running) -> Webhook:
    """Change a receiver, pause it, or let it go on. An event that has failed is tried again at once."""
    values = {key: getattr(body, key) for key in body.model_fields_set if key != "paused"}
    if values.get("url", "") is None:
        del values["url"]
    await region.webhooks.registered.change(name, values, paused=body.paused)
    return await _webhook(region, name)


@router.delete("/{name}", status_code=204, responses=errors(404), summary="Remove a webhook")
async def remove(name: NamePath, region: Running) -> None:
    """Remove a receiver; it gets no event any more."""
    await region.webhooks.registered.remove(name)


@router.post("/{name}/secret", responses=errors(404, 409), summary="Replace the secret of a webhook")
async def replace_secret(name: NamePath, region: Running, body: NewSecret | None = None) -> MadeWebhook:
    """Sign with another secret from now on. Until the overlap is over, each message has two signatures."""
    wanted = body or NewSecret()
    overlap = timedelta(seconds=wanted.overlap)
    _, secret = await region.webhooks.registered.replace_secret(name, wanted.secret, overlap)
    return MadeWebhook(**(await _webhook(region, name)).model_dump(), secret=secret)


@router.post("/{name}/test", responses=errors(404, 409), summary="Test a webhook")
async def test(name: NamePath, region: Running) -> WebhookTest:
    """Send one event of the type `webhook-test`, from the controller that answers this request."""
    outcome = await region.webhooks.registered.test(name)
    return WebhookTest(
        delivered=outcome.delivered, status=outcome.status, milliseconds=outcome.milliseconds, reason=outcome.reason
    )


@router.post("/{name}/replay", responses=errors(404), summary="Send events again")
async def replay(name: NamePath, body: Replay, region: Running) -> Webhook:
    """Continue after another event than the last one that the receiver has taken: an earlier one to send events again,
    or a later one to leave some out."""
    await region.webhooks.registered.replay(name, after=body.after, since=body.since)
    return await _webhook(region, name)


@router.get("/{name}/deliveries", responses=errors(404), summary="List the deliveries of a webhook")
async def deliveries(
    name: NamePath, region: Running, limit: pages.Limit = 100, cursor: pages.Cursor = None
) -> Page[WebhookDelivery]:
    """Return the attempts to send events to a receiver, the latest first; the last 1,000 are kept."""
    before = pages.after_number(cursor) or None
    await _row(region, name)
    async with region.database.read() as session:
        rows = await webhook_deliveries.newest(session, name, before, limit + 1)
    return pages.page(rows, limit, lambda row: row.id, _delivery)


async def _row(region: Region, name: str) -> tuple[WebhookRow, int]:
    async with region.database.read() as session:
        rows = {row.name: row for row in await table.load(session)}
        if name not in rows:
            raise missing("webhook", name, rows)
        return rows[name], await table.backlog(session, rows[name])


async def _webhook(region: Region, name: str) -> Webhook:
    return Webhook(**_shown(*await _row(region, name)))


def _shown(row: WebhookRow, backlog: int) -> dict[str, Any]:
    state = "failing" if row.state == "active" and row.failing_since is not None else row.state
    columns = {name: getattr(row, name) for name in Webhook.model_fields if name not in ("backlog", "state")}
    return {**columns, "backlog": backlog, "state": state}


def _delivery(row: WebhookDeliveryRow) -> WebhookDelivery:
    return WebhookDelivery(**{name: getattr(row, name) for name in WebhookDelivery.model_fields})

"""The documents that an agent follows on one stream: which there are, and when each is sent anew."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from controller.api import streams
from controller.core.desired import desired
from controller.core.filters import access
from controller.core.filters import pools as ruled_pools
from controller.core.intent import Cloudlet
from controller.core.neighbours import candidates
from controller.core.unavailable import Unavailable
from controller.region import Region
from controller.trust.authority import AuthorityAway
from controller.wire.certificates import Authorities
from controller.wire.desired import Desired

FOLLOWED = (
    "Events named `desired`, whose id is the version, and, without an id, `candidates` (whom to probe) and `orders` "
    "(what to do about moves of VMs), `authorities` (whom to trust), `revocations` (whose certificates are good for "
    "nothing), `access` (what to filter) and, over TLS alone, `session-keys` (what BGP sessions are signed with)."
)


@dataclass(frozen=True)
class Rendered:
    """A document as JSON, and what of it has to be another for it to be sent again. `number` is its event's id."""

    news: object
    data: str
    number: int | None = None


@dataclass
class Feed:
    """One document. `version` says at little cost whether it may be another one than before; `render` gives it, or None
    as long as it cannot be had. `seen` is the version that the agent has."""

    name: str
    version: Callable[[Cloudlet], object]
    render: Callable[[Cloudlet], Awaitable[Rendered | None]]
    seen: object = None
    told: object = None

    async def next(self, cloudlet: Cloudlet) -> bytes | None:
        """The event to send now; None if there is none."""
        version = self.version(cloudlet)
        if version == self.seen:
            return None
        rendered = await self.render(cloudlet)
        if rendered is None:
            return None
        self.seen = version
        if rendered.news == self.told:
            return None
        self.told = rendered.news
        return streams.event(self.name, rendered.number, rendered.data)


def feeds(region: Region, cloudlet: str, sent: int | None, *, private: bool) -> Sequence[Feed]:
    """All that one agent follows, in the order in which it is sent: what to filter is ahead of the desired state, whom
    to reach behind it. `sent` is the version of the desired state that the agent has; `private` says whether nobody
    else can read the stream."""

    async def filtered(present: Cloudlet) -> Rendered:
        rules = access(region.intent, present)
        return Rendered(rules.lans, rules.model_dump_json())

    async def wanted(present: Cloudlet) -> Rendered:
        state = document(desired(region.intent, present, region.fabric))
        return Rendered(present.version, state, present.version)

    async def keys(present: Cloudlet) -> Rendered | None:
        found = region.route_servers.session_keys.document(present)
        return Rendered(found, found.model_dump_json()) if found is not None else None

    async def probed(present: Cloudlet) -> Rendered:
        found = candidates(region.intent, cloudlet)
        return Rendered(found, found.model_dump_json())

    async def ordered(present: Cloudlet) -> Rendered | None:
        try:
            orders = await region.migration.moves.orders(cloudlet)
        except Unavailable:
            return None
        # An older agent refuses fields that it does not know, be they null.
        return Rendered(orders, orders.model_dump_json(exclude_none=True))

    async def trusted(present: Cloudlet) -> Rendered | None:
        found = region.identity.revocations.authorities
        return Rendered(found, Authorities(authorities=found).model_dump_json()) if found is not None else None

    async def revoked(present: Cloudlet) -> Rendered | None:
        number = region.identity.revocations.number
        try:
            found = await region.identity.revocations.document()
        except (Unavailable, AuthorityAway):
            return None
        return Rendered(number, found.model_dump_json()) if found is not None else None

    of = region.agents.registry.of
    secret = [Feed("session-keys", region.route_servers.session_keys.document, keys)] if private else []
    return (
        Feed("access", lambda present: _ruled(region, present), filtered),
        Feed("desired", lambda present: present.version, wanted, seen=sent),
        *secret,
        Feed("candidates", lambda _: of(cloudlet).announced, probed),
        Feed("orders", lambda _: of(cloudlet).ordered, ordered),
        Feed("authorities", lambda _: region.identity.revocations.number, trusted),
        Feed("revocations", lambda _: region.identity.revocations.number, revoked),
    )


def farewell(region: Region, cloudlet: Cloudlet) -> bytes:
    """The last word to a cloudlet that was removed: be nothing."""
    nothing = Desired(
        version=region.intent.generation,
        generation=region.intent.generation,
        cloudlet=cloudlet.name,
        asn=region.fabric.asn,
        router_id=cloudlet.vtep,
        vtep=cloudlet.vtep,
        speakers=[],
        endpoints=[],
    )
    return streams.event("desired", nothing.version, document(nothing))


def document(state: Desired) -> str:
    """A desired state as it is sent: what a release added has a default, and is there where it is used, as an agent
    refuses fields that it does not know."""
    return state.model_dump_json(exclude_defaults=True)


def _ruled(region: Region, cloudlet: Cloudlet) -> object:
    """All that decides what the cloudlet filters."""
    endpoints = region.intent.endpoints_of.get(cloudlet.name, ())
    return cloudlet.speaks, ruled_pools(region.intent, [endpoint.name for endpoint in endpoints])

"""The documents that an agent follows on one stream, and the conditions for sending each again."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import monotonic

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

HOMES = 60.0
"""Seconds after which images that belong to devices may belong to other cloudlets."""

FOLLOWED = (
    "Events named `desired`, whose id is the version, and, without an id, `candidates` (whom to probe) and `orders` "
    "(what to do about moves of VMs), `authorities` (whom to trust), `revocations` (whose certificates are good for "
    "nothing), `access` (what to filter), `images` (which images to fetch), `probes` (which probes to send now) and, "
    "over TLS alone, `session-keys` (what BGP sessions are signed with)."
)


@dataclass(frozen=True)
class Rendered:
    """A document as JSON. `news` is the part of it whose change causes it to be sent again. `number` is its event's
    id."""

    news: object
    data: str
    number: int | None = None


@dataclass
class Feed:
    """One document. `version` tells cheaply whether the document may have changed; `render` returns it, or None while
    it is unavailable. `seen` is the version that the agent has."""

    name: str
    version: Callable[[Cloudlet], object]
    render: Callable[[Cloudlet], Awaitable[Rendered | None]]
    seen: object = None
    told: object = None

    async def next(self, cloudlet: Cloudlet) -> bytes | None:
        """Return the event to send now, or None."""
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
    """Return all feeds of one agent, in the order of sending: access rules before the desired state, candidates and the
    others after it. `sent` is the version of the desired state that the agent has; `private` means that nobody else can
    read the stream."""

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
        # An older agent refuses unknown fields, even if they are null.
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

    async def imaged(present: Cloudlet) -> Rendered | None:
        try:
            found = await region.agents.images.wanted(cloudlet)
        except Unavailable:
            return None
        return Rendered(found, found.model_dump_json())

    def probing(_: Cloudlet) -> int | None:
        asked = of(cloudlet).probes
        return asked.number if asked is not None else None

    async def verified(present: Cloudlet) -> Rendered | None:
        asked = of(cloudlet).probes
        return Rendered(asked.number, asked.model_dump_json()) if asked is not None else None

    of = region.agents.registry.of
    secret = [Feed("session-keys", region.route_servers.session_keys.document, keys)] if private else []
    return (
        Feed("access", lambda present: _ruled(region, present), filtered),
        Feed("desired", lambda present: present.version, wanted, seen=sent),
        *secret,
        Feed("candidates", lambda _: of(cloudlet).announced, probed),
        Feed("orders", lambda _: of(cloudlet).ordered, ordered),
        Feed("probes", probing, verified),
        Feed("images", lambda present: _placed(region, present), imaged),
        Feed("authorities", lambda _: region.identity.revocations.number, trusted),
        Feed("revocations", lambda _: region.identity.revocations.number, revoked),
    )


def farewell(region: Region, cloudlet: Cloudlet) -> bytes:
    """Return the last event for a removed cloudlet: an empty desired state."""
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
    """Return a desired state as JSON without defaults. An agent refuses unknown fields, so fields of newer releases
    have defaults and appear only where they are used."""
    return state.model_dump_json(exclude_defaults=True)


def _ruled(region: Region, cloudlet: Cloudlet) -> object:
    """Return a value that changes with everything that determines the cloudlet's filters: prefixes, which change only
    with the desired state, and pools with their rules."""
    endpoints = region.intent.endpoints_of.get(cloudlet.name, ())
    return cloudlet.version, cloudlet.speaks, ruled_pools(region.intent, [endpoint.name for endpoint in endpoints])


def _placed(region: Region, cloudlet: Cloudlet) -> object:
    """Return a value that changes with everything that determines the cloudlet's images. The places of devices' VMs are
    looked up anew every HOMES seconds."""
    intent = region.intent
    pools = [intent.pools_of.get(endpoint.name) for endpoint in intent.endpoints_of.get(cloudlet.name, ())]
    turn = int(monotonic() // HOMES) if intent.policy.image_devices else None
    return intent.policy.images, cloudlet.speaks, cloudlet.labels, pools, turn

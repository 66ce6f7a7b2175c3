"""Whole regions that are consistent: made from pools alone, by other code than the doctor's."""

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from hypothesis import strategies as st

from controller.core.doctor import Cloudlet, Difference, Route, RouteServer, compare
from controller.wire import desired, reports, rulesets
from controller.wire.flavours import Flavour

SPEAKERS = [("rs1", "192.0.2.1"), ("rs2", "192.0.2.2")]


@dataclass
class Region:
    """`cloudlets` cloudlets with one VPLS endpoint each (every third one EVPN; two of three have IPv6), and pools given
    as sets of cloudlet numbers. A pool contains only endpoints of its flavour, which is that of its lowest number."""

    cloudlets: int
    pools: list[set[int]]
    routes_each: int = 1
    vcps: list[rulesets.Vcp] = field(default_factory=list)

    def __post_init__(self) -> None:
        for p, pool in enumerate(self.pools):
            same = sorted(n for n in pool if self.flavour(n) is self.flavour(min(pool)))
            self.vcps.append(rulesets.Vcp(name=f"pool{p}", members=[self.name(n) for n in same]))

    @staticmethod
    def flavour(n: int) -> Flavour:
        return Flavour.EVPN if n % 3 == 0 else Flavour.VPLS

    @staticmethod
    def prefix6(n: int) -> str | None:
        return None if n % 3 == 2 else f"2001:db8:{n}::/64"

    @staticmethod
    def name(n: int) -> str:
        return f"c{n}-lan"

    @property
    def numbers(self) -> range:
        return range(1, self.cloudlets + 1)

    def together(self, a: int, b: int) -> bool:
        return a != b and any({self.name(a), self.name(b)} <= set(vcp.members) for vcp in self.vcps)

    def intent(self) -> rulesets.RuleSet:
        return rulesets.RuleSet(
            generation=7,
            peers=[rulesets.Peer(name=f"c{n}", address=f"198.51.100.{n}", asn=65000) for n in self.numbers],
            endpoints=[
                rulesets.Endpoint(
                    name=self.name(n),
                    peer=f"c{n}",
                    family="l2vpn-vpls" if self.flavour(n) is Flavour.VPLS else "l2vpn-evpn",
                    rt=f"65000:{n}",
                    rd=f"65000:{n}",
                )
                for n in self.numbers
            ],
            vcps=self.vcps,
        )

    def route(self, n: int, i: int, to: int | None = None) -> Route:
        rts = frozenset({f"65000:{n if to is None else to}"})
        nlri = f"65000:{n} block {i}"
        return Route(self.flavour(n).family, nlri, nlri, self.name(n), f"c{n}", rts, "" if to is None else f"c{to}")

    def route_server(self, name: str) -> RouteServer:
        pairs = product(self.numbers, self.numbers, range(self.routes_each))
        return RouteServer(
            name=name,
            rule_set=self.intent(),
            sessions={f"c{n}": "established" for n in self.numbers},
            adj_in=[self.route(n, i) for n in self.numbers for i in range(self.routes_each)],
            adj_out=[self.route(a, i, b) for a, b, i in pairs if self.together(a, b)],
        )

    def cloudlet(self, n: int) -> Cloudlet:
        others = [other for other in self.numbers if self.together(n, other)]
        vpls = self.flavour(n) is Flavour.VPLS
        endpoint = desired.Endpoint(
            name=self.name(n),
            index=n + 1,
            flavour=self.flavour(n),
            prefix=f"10.{n}.0.0/24",
            gateway=f"10.{n}.0.1",
            ports=["md*", "eth7"],
            rt=f"65000:{n}",
            rd=f"65000:{n}",
            ve_id=n if vpls else None,
            vni=None if vpls else 10000,
            vtep=f"198.51.100.{n}",
            mtu=1450,
            lease_seconds=60,
            prefix6=self.prefix6(n),
            gateway6=f"2001:db8:{n}::1" if self.prefix6(n) else None,
            remotes=[
                desired.Remote(
                    endpoint=self.name(other),
                    cloudlet=f"c{other}",
                    prefix=f"10.{other}.0.0/24",
                    prefix6=self.prefix6(other),
                    vtep=f"198.51.100.{other}",
                    ve_id=other if vpls else None,
                )
                for other in others
            ],
        )
        wanted = desired.Desired(
            version=3,
            generation=7,
            cloudlet=f"c{n}",
            asn=65000,
            router_id=f"198.51.100.{n}",
            vtep=f"198.51.100.{n}",
            speakers=[desired.Speaker(name=name, address=address, asn=65000) for name, address in SPEAKERS],
            endpoints=[endpoint],
        )
        state = reports.EndpointState(
            endpoint=self.name(n),
            bridge=f"lan{n + 1}",
            ports=["eth7", "md3"],
            tunnels=[
                reports.Tunnel(
                    remote=self.name(other),
                    vtep=f"198.51.100.{other}",
                    ve_id=other if vpls else None,
                    rx_vni=4096 * (n + 1) + other if vpls else 10000,
                    tx_vni=4096 * (other + 1) + n if vpls else 10000,
                    device=f"pw{n + 1}.{other}" if vpls else f"vx{n + 1}",
                )
                for other in others
            ],
            routes=[
                *(f"10.{other}.0.0/24" for other in others),
                *(six for other in others if (six := self.prefix6(other)) and self.prefix6(n)),
            ],
            problems=[],
        )
        report = reports.Report(
            cloudlet=f"c{n}",
            version=3,
            generation=7,
            agent_version="1",
            endpoints=[state],
            speakers=[reports.SpeakerState(name=name, state="established") for name, _ in SPEAKERS],
            resident_bytes=1,
            cpu_seconds=0.1,
        )
        return Cloudlet(wanted, report, connected=True)


@st.composite
def regions(draw: st.DrawFn) -> Region:
    """Draw up to seven cloudlets in up to four pools, with up to two routes each."""
    cloudlets = draw(st.integers(2, 7))
    pools = draw(st.lists(st.sets(st.integers(1, cloudlets), min_size=1), max_size=4))
    return Region(cloudlets, pools, draw(st.integers(1, 2)))


def check(region: Region, **changed: Any) -> list[Difference]:
    servers = [changed.get(name) or region.route_server(name) for name in ("rs1", "rs2")]
    cloudlets = [changed.get(f"c{n}") or region.cloudlet(n) for n in region.numbers]
    return compare(changed.get("intent") or region.intent(), servers, cloudlets)


def with_state(cloudlet: Cloudlet, **changes: Any) -> Cloudlet:
    assert cloudlet.report is not None
    state = cloudlet.report.endpoints[0].model_copy(update=changes)
    return replace(cloudlet, report=cloudlet.report.model_copy(update={"endpoints": [state]}))


def state_of(cloudlet: Cloudlet) -> reports.EndpointState:
    assert cloudlet.report is not None
    return cloudlet.report.endpoints[0]

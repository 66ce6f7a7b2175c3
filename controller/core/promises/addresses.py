"""`address`: the address that the plan gives a device, or the role of an address in the plan."""

from ipaddress import IPv4Address, IPv6Address

from controller.core.addresses import Address, AddressPlan, PlanError
from controller.core.policy.model import LanPlan
from controller.core.policy.promises import AddressTest
from controller.core.promises.region import Absent, Finding, Region, Unknown

_NO_LAN = LanPlan()


def prove(test: AddressTest, region: Region) -> Finding:
    """Check every expectation of the test, and report all errors at once."""
    if test.prefix is None:
        region.must_have("endpoint", test.lan, region.intent.endpoints, ("address", "lan"))
    plan, plan6 = _plans(test, region)
    lan = region.intent.policy.addresses.lans.get(test.lan, _NO_LAN)
    text = lan.reservations[test.device] if test.device is not None else test.md
    expected, got = [], []

    def compare(what: str, wanted: object, found: object) -> None:
        if wanted is not None:
            expected.append(f"{what} {wanted}")
            got.append(f"{what} {found}")

    try:
        if text is not None:
            md = IPv4Address(text)
            if test.device is not None:
                compare("md", test.md, md)
            compare("vm", test.vm, md + 1 if plan is None else plan.vm_of(md))
            if test.md6 is not None or test.vm6 is not None:
                md6, vm6 = _pair6(test, plan, plan6, md)
                compare("md6", test.md6 and IPv6Address(test.md6), md6)
                compare("vm6", test.vm6 and IPv6Address(test.vm6), vm6)
            compare("excluded", _yes(test.excluded), _yes(_excluded(lan, md)))
    except PlanError as error:
        return Finding(False, ", ".join(expected) or "an address of the plan", "no address of the plan", (str(error),))
    if test.lease_seconds is not None:
        compare("lease_seconds", test.lease_seconds, _lease(test, lan, region))
    why = (f"{text} is reserved for {test.device} on {test.lan}",) if test.device is not None else ()
    return Finding(expected == got, ", ".join(expected), ", ".join(got), why)


def _plans(test: AddressTest, region: Region) -> tuple[AddressPlan | None, AddressPlan | None]:
    """Return the LAN's arithmetic in both families; None where it is not known."""
    known = region.intent.endpoints.get(test.lan) if test.prefix is None else None
    prefix, prefix6 = (known.prefix, known.prefix6) if known else (test.prefix, None)
    prefix6 = test.prefix6 or prefix6
    if prefix is None:
        if test.device is None and test.vm is not None:
            raise Unknown(f"the policy does not contain the prefix of {test.lan}: give it as 'prefix'")
        return None, None
    try:
        return AddressPlan.of(prefix, prefix6), AddressPlan.of(prefix6, prefix) if prefix6 else None
    except PlanError as error:
        raise Absent(("address", "prefix6" if test.prefix6 else "prefix"), str(error)) from None


def _pair6(
    test: AddressTest, plan: AddressPlan | None, plan6: AddressPlan | None, md: IPv4Address
) -> tuple[Address | str, Address | str]:
    """Return the same pair in IPv6."""
    if plan is None or (plan6 is None and test.prefix is not None):
        raise Unknown(f"the policy does not contain the prefixes of {test.lan}: give them as 'prefix' and 'prefix6'")
    return ("none", "none") if plan6 is None else plan6.pair(plan.index_of(md))


def _excluded(lan: LanPlan, md: IPv4Address) -> bool:
    return any(IPv4Address(first) <= md <= IPv4Address(last) for first, last in lan.exclusions)


def _lease(test: AddressTest, lan: LanPlan, region: Region) -> int:
    for seconds in (lan.lease_seconds, region.intent.policy.addresses.lease_seconds):
        if seconds is not None:
            return seconds
    if test.lan not in region.intent.endpoints:
        raise Unknown(f"the policy does not contain the lease time of {test.lan}")
    return region.intent.endpoints[test.lan].lease_seconds


def _yes(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"

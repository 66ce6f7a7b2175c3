"""IPsec between two sites while a new authority replaces the trusted one step by step: real charons."""

import asyncio
import re
from pathlib import Path

import pytest

from agents.identity.identity import AUTHORITIES
from agents.ipsec.connections import PROOF
from tests.integration import ipsec_site
from tests.integration.ipsec_site import PLAIN, Authority, Site, Sites, eventually, sites

reason = ipsec_site.usable()
pytestmark = [pytest.mark.lab, pytest.mark.skipif(reason is not None, reason=reason or "")]

UNTRUSTED = re.compile('no issuer certificate found for "CN=(c2|old intermediate)"')
"""charon's words about a certificate of the old authority; charon 6 names the intermediate one, which it is sent."""


def trust(two: Sites, *authorities: Authority) -> None:
    """Tell both sites which authorities to trust."""
    for site in (two.one, two.two):
        (site.identity / AUTHORITIES).write_text("".join(authority.chain for authority in authorities))
        site.tunnels.look()


async def taken(site: Site) -> None:
    """Wait until charon has read the files once more."""
    before = site.log().count("private key")
    site.tunnels.look()
    await eventually("given to charon", lambda: site.log().count("private key") > before, 15)


async def proved(site: Site) -> None:
    """Make the site and its peer authenticate again."""
    await eventually("no proof of before", lambda: PROOF not in site.ask("--list-sas"))
    assert f"{PROOF}{site.other}[" in site.ask(f"--initiate --ike {PROOF}{site.other}").partition("established")[0]
    await asyncio.sleep(1)


async def test_the_authority_is_another_by_and_by(tmp_path: Path) -> None:
    old, new = Authority("old"), Authority("new")
    async with sites(tmp_path) as two:
        for site in (two.one, two.two):
            old.issue(site.name, site.identity)
            site.want(site.other)
        trust(two, old)
        await two.both_up()
        with two.wire(PLAIN) as plain, two.chatter(0.005) as counted:
            keys = two.one.keys()
            trust(two, old, new)
            await asyncio.gather(taken(two.one), taken(two.two))
            new.issue("c1", two.one.identity)
            await taken(two.one)
            assert two.one.keys() == keys, "no SA is touched"
            await proved(two.one)
            new.issue("c2", two.two.identity)
            await taken(two.two)
            await proved(two.two)
            trust(two, new)
            await asyncio.gather(taken(two.one), taken(two.two))
            await proved(two.one)
            assert two.one.up and two.two.up
        assert plain == [] and all(answered and lost == 0 for answered, lost in counted.values()), counted
        assert 'using trusted ca certificate "CN=new root"' in two.two.log()
        old.issue("c2", two.two.identity)
        await taken(two.two)
        await eventually("no proof of before", lambda: PROOF not in two.two.ask("--list-sas"))
        two.two.ask(f"--initiate --ike {PROOF}c1")
        await eventually("refused", lambda: UNTRUSTED.search(two.one.log()), 15)

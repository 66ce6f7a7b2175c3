"""The servers that the controller accepts as route servers: httpx and a TLS server, with the authority's own
certificates."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from controller.routeservers.client import RouteServerClient, Unreachable
from controller.settings import RouteServerSettings
from controller.trust import ceremony, x509
from controller.trust.authority import AuthorityAway, Issued, Reason, Revoked
from controller.trust.builtin import BuiltIn
from controller.trust.caller import Caller
from controller.wire.certificates import Revocations
from tests.unit.trust.http_server import answering

NOW = datetime.now(UTC).replace(microsecond=0)
HERE, ELSEWHERE = "127.0.0.1", "192.0.2.7"


class Region:
    """An authority on disk, its revoked certificates, and the resulting trust of the controller."""

    def __init__(self, directory: Path) -> None:
        ceremony.init(directory, "test", NOW)
        self.directory, self.authority = directory, BuiltIn.read(directory)
        self.revoked: list[Revoked] = []
        self.caller = Caller(self.authority, self.lists)

    async def lists(self) -> Revocations:
        return Revocations(crl=await self.authority.crl(self.revoked))

    async def host(self, address: str) -> tuple[Issued, ssl.SSLContext]:
        """Return the certificate of a host that has enrolled with that address, and its TLS context."""
        key = x509.new_key()
        issued = await self.authority.issue(x509.request(key, "rs1"), "rs1", address, timedelta(hours=1))
        file = self.directory / "host.pem"
        file.write_text(x509.key_pem(key) + issued.certificate + self.authority.chain)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return issued, context

    @asynccontextmanager
    async def calling(self, port: int) -> AsyncIterator[RouteServerClient]:
        server = RouteServerSettings(name="rs1", address=HERE, control=f"https://{HERE}:{port}")
        client = RouteServerClient(server, "secret", 5, self.caller.context)
        try:
            yield client
        finally:
            await client.close()

    async def believes(self, context: ssl.SSLContext) -> bool:
        """Return whether a new connection to that server succeeds; if it does not, check that the token was not
        sent."""
        async with answering(HERE, context) as (port, heard), self.calling(port) as client:
            try:
                await client.status()
            except Unreachable as refused:
                assert "certificate" in str(refused), refused
                assert not heard
                return False
            assert any(b"Bearer secret" in line for line in heard)
            return True


@pytest.fixture
def region(tmp_path: Path) -> Region:
    return Region(tmp_path / "authority")


async def test_a_host_that_enrolled_is_believed(region: Region) -> None:
    _, server = await region.host(HERE)
    assert not await region.believes(server), "before there is a revocation list"
    await region.caller.renew()
    assert await region.believes(server)


async def test_a_host_of_another_address_is_not(region: Region) -> None:
    await region.caller.renew()
    _, server = await region.host(ELSEWHERE)
    assert not await region.believes(server)


async def test_a_host_of_another_region_is_not(region: Region, tmp_path: Path) -> None:
    await region.caller.renew()
    _, server = await Region(tmp_path / "foreign").host(HERE)
    assert not await region.believes(server)


async def test_a_revoked_host_is_not(region: Region) -> None:
    issued, server = await region.host(HERE)
    await region.caller.renew()
    assert await region.believes(server)
    region.revoked.append(Revoked(issued.serial, NOW, Reason.COMPROMISED))
    await region.caller.renew()
    assert not await region.believes(server)
    _, server = await region.host(HERE)
    assert await region.believes(server), "it enrolled anew"


async def test_tls_1_2_is_not_spoken(region: Region) -> None:
    await region.caller.renew()
    _, server = await region.host(HERE)
    server.maximum_version = ssl.TLSVersion.TLSv1_2
    async with answering(HERE, server) as (port, _), region.calling(port) as client:
        with pytest.raises(Unreachable):
            await client.status()


async def test_connections_outlive_a_new_root_and_new_ones_are_judged_by_it(region: Region) -> None:
    await region.caller.renew()
    _, old = await region.host(HERE)
    async with answering(HERE, old) as (port, heard), region.calling(port) as client:
        await client.status()
        ceremony.prepare(region.directory, NOW)
        (region.directory / "next/root-key.pem").unlink()
        ceremony.switch(region.directory)
        ceremony.finish(region.directory, [])
        assert region.authority.look()
        await region.caller.renew()
        await client.status()
        assert len(heard) == 2
    assert not await region.believes(old), "the old root is gone"
    _, new = await region.host(HERE)
    assert await region.believes(new)


async def test_while_the_authority_is_away_the_list_of_before_counts(region: Region) -> None:
    _, server = await region.host(HERE)
    await region.caller.renew()

    async def away(revoked: object) -> str:
        raise AuthorityAway("it is away")

    region.authority.crl = away  # type: ignore[method-assign]
    with pytest.raises(AuthorityAway):
        await region.caller.renew()
    assert await region.believes(server)

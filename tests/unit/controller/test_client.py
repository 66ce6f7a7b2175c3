"""The Python client that is generated from the API's description: all of it can be imported, and it calls a
controller."""

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.openapi.client import PACKAGE, generate
from tests.unit.controller.listening import ADMIN, Listen

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The generated package."""
    folder = tmp_path_factory.mktemp("client")
    generate(folder / "package")
    sys.path.insert(0, str(folder / "package"))
    try:
        yield importlib.import_module(PACKAGE)
    finally:
        sys.path.remove(str(folder / "package"))
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]


def test_all_of_it_can_be_imported(package: Any) -> None:
    names = [found.name for found in pkgutil.walk_packages(package.__path__, f"{PACKAGE}.")]
    assert f"{PACKAGE}.api.members.join_vcp" in names and f"{PACKAGE}.models.server_explanation" in names
    for name in names:
        importlib.import_module(name)


def function(group: str, name: str) -> Any:
    """Return the module of an operation."""
    return importlib.import_module(f"{PACKAGE}.api.{group}.{name}")


async def test_it_calls_a_controller(package: Any, listen: Listen) -> None:
    models, types = (importlib.import_module(f"{PACKAGE}.{name}") for name in ("models", "types"))
    async with listen() as controller:
        url = f"http://127.0.0.1:{controller.port}"
        client = package.AuthenticatedClient(url, token=ADMIN, httpx_args={"trust_env": False})
        async with client:
            wanted = models.NewCloudlet(name="c2", pe=models.Flavour.EVPN, vtep="192.0.2.2")
            made = await function("cloudlets", "create_cloudlet").asyncio(client=client, body=wanted)
            assert (made.name, made.state, made.agent.connected) == ("c2", models.CloudletState.INVITED, False)
            assert made.token and made.token_expires_at.tzinfo
            page = await function("cloudlets", "list_cloudlets").asyncio(client=client)
            assert [one.name for one in page.items] == ["c1", "c2"] and page.next_ is None
            missing = await function("cloudlets", "get_cloudlet").asyncio("c3", client=client)
            assert isinstance(missing, models.ProblemDetails) and missing.status == 404
            policy = types.File(payload=b"apiVersion: weft/v1\nvcps:\n  blue: {members: []}\n")
            planned = await function("policy", "plan_policy").asyncio(client=client, body=policy)
            assert planned.plan.create == ["blue"] and planned.ok

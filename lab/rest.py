"""The lab as an operator: enrols its cloudlets, endpoints and devices over the controller's REST API."""

import os
import socket
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from lab.containers import build as containers
from lab.errors import LabError
from lab.paths import SOCKET
from lab.topology import Cloudlet, Endpoint, Machine, Station, Topology

Json = dict[str, Any]


class _Transport(httpx.HTTPTransport):
    """Checks first whether anybody listens: httpx leaks its socket when nobody does, and the lab kills controllers."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with socket.socket(socket.AF_UNIX) as probe:
            if refused := probe.connect_ex(str(SOCKET)):
                raise httpx.ConnectError(os.strerror(refused), request=request)
        return super().handle_request(request)


class Rest:
    """The operator API on the controller's unix socket. Every refusal becomes a LabError with the problem's text."""

    def __init__(self, timeout: float = 30) -> None:
        self.http = httpx.Client(
            transport=_Transport(uds=str(SOCKET), verify=False), base_url="http://controller", timeout=timeout
        )

    def get(self, path: str, **query: str) -> Json:
        return self._call("GET", path, params=query)

    def items(self, path: str, **query: str) -> list[Json]:
        """Return all items of a list, page after page."""
        found: list[Json] = []
        while True:
            page = self.get(path, **query)
            found += page["items"]
            if not page.get("next"):
                return found
            query["cursor"] = page["next"]

    def post(self, path: str, body: Json | None = None, **query: str) -> Json:
        return self._call("POST", path, json=body, params=query)

    def patch(self, path: str, body: Json, **query: str) -> Json:
        return self._call("PATCH", path, json=body, params=query)

    def delete(self, path: str, **query: str) -> Json:
        return self._call("DELETE", path, params=query)

    def ready(self) -> bool:
        """Return whether the controller answers and says that it is ready."""
        try:
            return self.http.get("/readyz").status_code == 200
        except httpx.HTTPError:
            return False

    def invite(self, cloudlet: Cloudlet) -> str:
        """Create a cloudlet, and return its one-time token."""
        body: Json = {"name": cloudlet.name, "pe": cloudlet.pe, "vtep": cloudlet.vtep}
        if cloudlet.at is not None:
            body["latitude"], body["longitude"] = cloudlet.at
        return str(self.post("/cloudlets", body)["token"])

    def connected(self, cloudlet: Cloudlet) -> bool:
        """Return whether a cloudlet is active and its agent keeps its stream open."""
        found = self.get(f"/cloudlets/{cloudlet.name}")
        return found["state"] == "active" and bool(found["agent"] and found["agent"]["connected"])

    def create_endpoint(self, cloudlet: Cloudlet, endpoint: Endpoint) -> None:
        body: Json = {"name": endpoint.name, "cloudlet": cloudlet.name, "prefix": endpoint.prefix}
        body["ports"] = list(endpoint.ports)
        if endpoint.vni is not None:
            body["vni"] = endpoint.vni
        if endpoint.prefix6 is not None:
            body["prefix6"] = endpoint.prefix6
        self.post("/endpoints", body)

    def register(self, topology: Topology, device: Station) -> None:
        """Register a device together with the VM that works for it, if it has one."""
        body: Json = {"name": device.name, **device.identity}
        for _, station in topology.stations:
            if station.works_for == device.name:
                body["vm"] = station.identity
        self.post("/devices", body)

    def add_machine(self, machine: Machine) -> None:
        """Register a VM that boots, and start it."""
        image = {"qemu": "lab", "container": containers.IMAGE}[machine.driver]
        disk = {"base": "lab", "bytes": machine.disk} if machine.disk else None
        self.post(
            "/vms",
            {
                "name": machine.name,
                "device": machine.device,
                "endpoint": machine.endpoint,
                "driver": machine.driver,
                "image": image,
                "memory": machine.memory,
                "vcpus": machine.vcpus,
                "disk": disk,
            },
        )
        self.post(f"/vms/{machine.name}/start")

    def announced(self) -> dict[tuple[str, str], int]:
        """Return how many routes each established BGP session, by (route server, peer), has brought."""
        return {
            (server["name"], session["peer"]): int(session["prefixes_in"])
            for server in self.get("/route-servers")["items"]
            for session in server.get("sessions") or []
            if session["state"] == "established"
        }

    def announces(self, heard: Mapping[tuple[str, str], int]) -> bool:
        """Return whether each of these sessions is there and has brought as many routes. There may be more: EVPN PEs
        announce an address once a device speaks from it."""
        now = self.announced()
        return all(now.get(session, -1) >= routes for session, routes in heard.items())

    def apply_policy(self, text: str, filename: str) -> Json:
        headers = {"content-type": "application/yaml"}
        return self._call("POST", "/policy/apply", content=text, headers=headers, params={"filename": filename})

    def _call(self, method: str, path: str, **arguments: Any) -> Json:
        try:
            answer = self.http.request(method, f"/api/v1{path}", **arguments)
        except httpx.HTTPError as error:
            raise LabError(f"the controller does not answer {method} {path}: {error or type(error).__name__}") from None
        if answer.is_success:
            return dict(answer.json()) if answer.content else {}
        raise LabError(f"{method} {path}: {_refusal(answer)}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # If Ctrl-C came while the client acquired its lock, `close` would wait for that lock for ever.
        if kind is None or issubclass(kind, Exception):
            self.http.close()


def _refusal(answer: httpx.Response) -> str:
    try:
        problem = answer.json()
        errors = "; ".join(f"{error.get('field')}: {error.get('message')}" for error in problem.get("errors", []))
        return f"{problem.get('detail') or problem.get('title')}{f' ({errors})' if errors else ''}"
    except (ValueError, AttributeError):
        return f"{answer.status_code} {answer.text[:200]}"

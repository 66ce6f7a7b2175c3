"""The reader of a NetBox. The only file that imports pynetbox and requests, and only when it is needed: the extra
`netbox` installs them.

It reads and changes nothing. The token goes to the given URL and to no other address, so neither redirections nor links
to next pages lead elsewhere."""

import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, Self
from urllib.parse import urlsplit

import pynetbox
import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from controller.cli.failures import Failure, Refused, Unreachable, WrongUsage
from controller.core.netbox import Mapping, Noun, Section, Snapshot, Thing

TIMEOUT = 60.0
"""Seconds without a word from NetBox."""

AT_ONCE = 100
"""Ids in one request: NetBox takes them in its URL, whose length servers limit."""

OLDEST = 4
"""The first release of NetBox whose objects are understood."""

CHOICES = ("tag", "role", "status")
"""Filters by which objects are selected."""

LOCAL = ("localhost", "127.0.0.1", "::1")
"""Hosts that a token reaches without a network."""


class NetBox:
    """One NetBox. Raises WrongUsage for a URL or a file that cannot be used."""

    def __init__(self, url: str, token: str, root_file: str | None = None) -> None:
        self.url = _base(url)
        self.notes: list[str] = []
        """Warnings: choices of the mapping that NetBox does not have, and a token in the clear."""
        if self.url.startswith("http:") and urlsplit(self.url).hostname not in LOCAL:
            self.notes.append("the token goes there in the clear: use https://")
        self._api: Any = pynetbox.api(self.url, token=token)
        self._api.http_session = _session(self.url, root_file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._api.http_session.close()

    def snapshot(self, mapping: Mapping) -> Snapshot:
        """Return the objects that a mapping selects, and those that they need. Raises Refused and Unreachable."""
        dcim, ipam, virtual = self._api.dcim, self._api.ipam, self._api.virtualization
        with self._failures():
            self._check_release()
            roles = Section(roles=mapping.cloudlets.vtep_roles, statuses=mapping.cloudlets.statuses)
            devices = _once(
                self._selected(dcim.devices, Noun.DEVICE, mapping.devices, exclude="config_context"),
                self._selected(dcim.devices, Noun.DEVICE, roles, exclude="config_context"),
            )
            prefixes = self._selected(ipam.prefixes, Noun.PREFIX, mapping.endpoints)
            addresses = self._selected(ipam.ip_addresses, Noun.ADDRESS, mapping.addresses)
            vms = self._selected(virtual.virtual_machines, Noun.VM, mapping.vms, exclude="config_context")
            places = _ids(prefixes, "scope", "dcim.location")
            ports = _ids(addresses, "assigned_object", "dcim.interface")
            vnics = _ids(addresses, "assigned_object", "virtualization.vminterface")
            return Snapshot(
                self.url,
                sites=self._selected(dcim.sites, Noun.SITE, mapping.cloudlets),
                locations=self._by_ids(dcim.locations, Noun.LOCATION, "id", places),
                devices=devices,
                interfaces=_once(
                    self._by_ids(dcim.interfaces, Noun.INTERFACE, "device_id", [one.id for one in devices]),
                    self._by_ids(dcim.interfaces, Noun.INTERFACE, "id", ports),
                ),
                prefixes=prefixes,
                addresses=addresses,
                vms=vms,
                vm_interfaces=_once(
                    self._by_ids(virtual.interfaces, Noun.VM_INTERFACE, "virtual_machine_id", [vm.id for vm in vms]),
                    self._by_ids(virtual.interfaces, Noun.VM_INTERFACE, "id", vnics),
                ),
            )

    def _check_release(self) -> None:
        release = str(self._api.version)
        major = release.partition(".")[0]
        if not major.isdecimal():
            raise Unreachable(f"{self.url} answers, and names no release of NetBox's API: is it NetBox?")
        if int(major) < OLDEST:
            raise Unreachable(f"{self.url} is NetBox {release}: weft reads NetBox {OLDEST}.0 and later")

    def _selected(self, endpoint: Any, noun: Noun, of: Section, **more: Any) -> tuple[Thing, ...]:
        """Return the objects with one of a section's tags or roles, each once."""
        if of.statuses:
            more["status"] = list(of.statuses)
        wanted = [*(("tag", tag) for tag in of.tags), *(("role", role) for role in of.roles)]
        return _once(*(self._filtered(endpoint, noun, {**more, key: slug}) for key, slug in wanted))

    def _filtered(self, endpoint: Any, noun: Noun, query: dict[str, Any]) -> tuple[Thing, ...]:
        try:
            return _things(endpoint.filter(**query), noun)
        except pynetbox.RequestError as error:
            unknown = _unknown(error, query)
            if unknown is None:
                raise
            note = f"this NetBox has no {unknown}"
            if note not in self.notes:
                self.notes.append(note)
            return ()

    def _by_ids(self, endpoint: Any, noun: Noun, key: str, ids: Iterable[int]) -> tuple[Thing, ...]:
        found = list(ids)
        parts = (found[first : first + AT_ONCE] for first in range(0, len(found), AT_ONCE))
        return tuple(chain.from_iterable(_things(endpoint.filter(**{key: part}), noun) for part in parts))

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turn the library's errors into failures, as sentences."""
        try:
            yield
        except pynetbox.RequestError as error:
            raise self._refused(error) from None
        except pynetbox.ContentError:
            raise Unreachable(f"{self.url} answered with something that is not JSON: is it NetBox?") from None
        except requests.exceptions.SSLError as error:
            advice = "  --root-file names the authorities of NetBox's certificate, a file (PEM)"
            raise Unreachable(f"no trust in the NetBox at {self.url}: {_reason(error)}", advice) from None
        except requests.exceptions.InvalidSchema:
            advice = "  its proxy has to pass the scheme and the host that it was asked for (X-Forwarded-Proto, Host)"
            raise Unreachable(f"the NetBox at {self.url} sends weft to another address", advice) from None
        except requests.exceptions.Timeout:
            raise Unreachable(f"the NetBox at {self.url} did not answer in time") from None
        except requests.exceptions.RequestException as error:
            raise Unreachable(f"no NetBox at {self.url}: {_reason(error)}") from None

    def _refused(self, error: Any) -> Failure:
        status = int(error.req.status_code)
        try:
            body = error.req.json()
        except ValueError:
            body = {}
        detail = str(body.get("detail") or body) if isinstance(body, dict) and body else str(error.req.reason)
        where = urlsplit(str(error.base)).path
        if status >= 500 or status in (404, 429):
            what = "is it NetBox?" if status == 404 else "try again later"
            return Unreachable(f"the NetBox at {self.url} answered {where} with {status} ({detail}); {what}")
        problem: dict[str, object] = {"title": "Refused by NetBox", "status": status, "detail": detail}
        advice = "  the token is in --token-file, or in WEFT_NETBOX_TOKEN; its user has to view these objects"
        lines = [f"the NetBox at {self.url} refused {where}: {detail}", *([advice] if status in (401, 403) else [])]
        return Refused(problem, lines)


def _base(url: str) -> str:
    """Return the URL of a NetBox in one form. Raises WrongUsage."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise WrongUsage(f"{url!r} is not a NetBox's URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WrongUsage(f"{url!r} is not a NetBox's URL: it begins with https://")
    if parts.username or parts.password:
        raise WrongUsage("the URL of a NetBox has no user and no password in it: a token says who asks")
    if parts.query or parts.fragment:
        raise WrongUsage(f"{url!r} is not a NetBox's URL: it ends before '?' and '#'")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/api')}"


def _session(url: str, root_file: str | None) -> requests.Session:
    """Return a session that sends requests to one NetBox alone."""
    session = requests.Session()
    session.auth = _as_it_is
    if root_file is not None:
        _check(root_file)
        session.verify, session.trust_env = root_file, False
    session.adapters.clear()
    session.mount(f"{url}/", _Adapter(max_retries=RETRIES))
    return session


def _as_it_is(request: Any) -> Any:
    """Leave a request's authorization alone: requests would replace it by that of ~/.netrc."""
    return request


RETRIES = Retry(
    total=3,
    connect=0,
    read=0,
    other=0,
    status=3,
    status_forcelist=(429, 502, 503, 504),
    allowed_methods={"GET"},
    backoff_factor=0.5,
    raise_on_status=False,
)
"""NetBox is asked again when it is too busy, and not where it is away."""


class _Adapter(HTTPAdapter):
    """Sends requests with a timeout."""

    def send(self, *args: Any, **kwargs: Any) -> requests.Response:
        kwargs["timeout"] = kwargs.get("timeout") or TIMEOUT
        answer: requests.Response = super().send(*args, **kwargs)
        return answer


def _check(file: str) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except ssl.SSLError:
        raise WrongUsage(f"--root-file: {file} has no certificates in it (PEM)") from None
    except OSError as error:
        raise WrongUsage(f"--root-file: cannot read {file}: {error.strerror}") from None


def _things(records: Iterable[Any], noun: Noun) -> tuple[Thing, ...]:
    return tuple(Thing(noun, dict(record)) for record in records)


def _once(*some: tuple[Thing, ...]) -> tuple[Thing, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(some)))


def _ids(things: Iterable[Thing], key: str, kind: str) -> list[int]:
    """Return the ids of the objects of one kind that generic references name, sorted."""
    content = (thing.content for thing in things)
    return sorted({int(one[f"{key}_id"]) for one in content if one.get(f"{key}_type") == kind})


def _unknown(error: Any, query: dict[str, Any]) -> str | None:
    """Return the choice that NetBox does not have, if a request was refused because of one."""
    try:
        body = error.req.json()
    except ValueError:
        return None
    if error.req.status_code != 400 or not isinstance(body, dict):
        return None
    found = [f"{key} {query[key]!r}" for key in CHOICES if key in body and key in query]
    return " or ".join(found) or None


def _reason(error: BaseException) -> str:
    """Return the innermost cause of an error of requests, in the system's words."""
    seen: list[BaseException] = []
    inner: Any = error
    while isinstance(inner, BaseException) and inner not in seen:
        seen.append(inner)
        inside = [*inner.args, getattr(inner, "reason", None), inner.__cause__, inner.__context__]
        inner = next((one for one in inside if isinstance(one, BaseException) and one not in seen), None)
    last = seen[-1]
    if isinstance(last, ssl.SSLCertVerificationError):
        return last.verify_message
    return str(getattr(last, "strerror", None) or last or type(last).__name__)

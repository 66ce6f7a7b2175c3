"""The options of a PostgreSQL URL besides user, host and database: libpq's own names (PostgreSQL, section 34.1.2), as
its tools take them. Each option takes effect here, or is refused with the remedy; none is ignored."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import URL
from sqlalchemy.exc import ArgumentError

TAKEN = frozenset(
    ("sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcrl", "sslnegotiation", "krbsrvname")
) | {"ssl_min_protocol_version", "ssl_max_protocol_version", "passfile", "target_session_attrs"}
"""Options that the driver knows."""

SETTINGS = ("application_name", "options")
"""Options that are sent to the server."""

PLACES = ("host", "port", "user", "password", "prepared_statement_cache_size")
"""Options that SQLAlchemy knows."""

FILES = ("sslrootcert", "sslcert", "sslkey", "sslcrl", "passfile")

HARMLESS: Mapping[str, tuple[str, ...]] = {
    "channel_binding": ("prefer", "disable"),
    "gssencmode": ("prefer", "disable"),
    "client_encoding": ("utf8", "UTF8", "auto"),
    "load_balance_hosts": ("disable",),
}
"""Values of options that ask only for what the driver does anyway."""

REMEDIES = {
    "channel_binding": "sslmode=verify-full with sslrootcert keeps others from between just as well",
    "gssencmode": "use TLS: sslmode=verify-full",
    "service": "write what the service says into the URL",
    "keepalives": "the controller sets keepalives by itself",
    "dbname": "the database is the URL's path",
}


def arguments(url: URL) -> tuple[URL, dict[str, Any]]:
    """Return the URL without libpq's options, and the driver's arguments for them: `dsn`, `timeout` and
    `server_settings`, each only if the URL needs it. Raises ArgumentError."""
    said = {name: value if isinstance(value, str) else value[-1] for name, value in url.query.items()}
    if "ssl" in said:
        said.setdefault("sslmode", said.pop("ssl"))
    known = {name: said[name] for name in TAKEN & said.keys()}
    for name, value in said.items():
        if name in HARMLESS and value in HARMLESS[name]:
            continue
        if name not in (*TAKEN, *SETTINGS, *PLACES, "connect_timeout"):
            remedy = next((text for option, text in REMEDIES.items() if name.startswith(option)), "leave it out")
            raise ArgumentError(f"{name}={value} is not something that the controller can do; {remedy}")
    for name in FILES:
        if name in known:
            _readable(name, known[name])
    _check(known)
    found: dict[str, Any] = {}
    if known:
        found["dsn"] = f"postgresql://?{urlencode(known)}"
    if "connect_timeout" in said:
        found["timeout"] = _seconds(said["connect_timeout"])
    if settings := {name: said[name] for name in SETTINGS if name in said}:
        found["server_settings"] = settings
    return url.set(query={name: value for name, value in url.query.items() if name in PLACES}), found


def _readable(name: str, path: str) -> None:
    try:
        with Path(path).open("rb") as file:
            file.read(1)
    except OSError as error:
        raise ArgumentError(f"{name}: cannot read {path}: {error.strerror}") from None


def _check(said: Mapping[str, str]) -> None:
    """Raise ArgumentError for a file that has no certificates or keys, or not those that belong together. The driver
    would raise too, but without the name of the file."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for name in ("sslrootcert", "sslcrl"):
        if name in said:
            try:
                context.load_verify_locations(said[name])
            except ssl.SSLError:
                raise ArgumentError(f"{name}: {said[name]} has nothing of the kind in it (PEM)") from None
    if "sslcert" in said:
        certificate, key = said["sslcert"], said.get("sslkey")
        if key is None:
            raise ArgumentError(f"sslcert={certificate} needs sslkey, the file with its key")
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(certificate)
        except ssl.SSLError:
            raise ArgumentError(f"sslcert: {certificate} has no certificate in it (PEM)") from None
        try:
            context.load_cert_chain(certificate, key, said.get("sslpassword", ""))
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                raise ArgumentError(f"sslkey: {key} is not the key of the certificate in {certificate}") from None
            raise ArgumentError(f"sslkey: {key} has no private key in it (PEM), or sslpassword is not its") from None
    elif "sslkey" in said:
        raise ArgumentError(f"sslkey={said['sslkey']} needs sslcert, the file with its certificate")


def _seconds(text: str) -> float:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) < 100_000):
        raise ArgumentError(f"connect_timeout={text}: a whole number of seconds above 0 is needed")
    return float(text[:6])

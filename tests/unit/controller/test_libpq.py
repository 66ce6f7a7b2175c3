"""libpq's options in WEFT_DATABASE_URL: each works as documented, on a real server with TLS, or is refused by name."""

import datetime
import os
import shutil
import socket
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from sqlalchemy import make_url, text
from sqlalchemy.exc import ArgumentError

from controller.core.unavailable import Unavailable
from controller.db import libpq
from controller.db.engine import Database
from controller.db.errors import trouble
from tests.postgres import OWNER, Cluster


def certificate(directory: Path) -> None:
    """Write a self-signed certificate for 127.0.0.1."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - day).not_valid_after(now + day)
    made = made.add_extension(names, critical=True).add_extension(x509.BasicConstraints(True, None), critical=True)
    pem = serialization.Encoding.PEM
    (directory / "root.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    plain = serialization.NoEncryption()
    (directory / "key.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    (directory / "key.pem").chmod(0o600)


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path, Path]]:
    """Yield the URL of a database that is served over TLS, the root of its certificate, and a foreign root."""
    mine, other = (tmp_path_factory.mktemp(name) for name in ("tls", "other"))
    certificate(mine)
    certificate(other)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Cluster() as cluster:
        for name in ("root.pem", "key.pem"):
            shutil.copy(mine / name, cluster.path / name)
            (cluster.path / name).chmod(0o600)
            if os.geteuid() == 0:
                shutil.chown(cluster.path / name, "postgres")
        cluster.stop()
        with (cluster.path / "data/postgresql.conf").open("a") as settings:
            settings.write(f"listen_addresses = '127.0.0.1'\nport = {port}\nssl = on\n")
            settings.write(f"ssl_cert_file = '{cluster.path}/root.pem'\nssl_key_file = '{cluster.path}/key.pem'\n")
        cluster.start()
        yield f"postgresql://{OWNER}@127.0.0.1:{port}/postgres", mine / "root.pem", other / "root.pem"


async def ask(url: str, what: str) -> str:
    database = Database(url)
    try:
        async with database.read() as session:
            return str(await session.scalar(text(what)))
    finally:
        await database.close()


TLS = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"


async def test_verify_full_is_what_it_says(encrypted: tuple[str, Path, Path]) -> None:
    url, root, other = encrypted
    assert await ask(f"{url}?sslmode=verify-full&sslrootcert={root}&channel_binding=prefer", TLS) == "True"
    assert await ask(f"{url}?sslmode=require", TLS) == "True"
    assert await ask(f"{url}?sslmode=disable", TLS) == "False"
    with pytest.raises(Unavailable):
        await ask(f"{url}?sslmode=verify-full&sslrootcert={other}", TLS)


async def test_the_server_hears_its_settings(encrypted: tuple[str, Path, Path]) -> None:
    url, _, _ = encrypted
    said = f"{url}?application_name=ours&connect_timeout=3&target_session_attrs=read-write&options=-c%20work_mem%3D7MB"
    assert await ask(said, "SELECT current_setting('application_name')") == "ours"
    assert await ask(said, "SELECT current_setting('work_mem')") == "7MB"
    assert await ask(said, "SELECT current_setting('statement_timeout')") == "30s"


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("channel_binding=require", "verify-full"),
        ("gssencmode=require", "verify-full"),
        ("service=weft", "into the URL"),
        ("keepalives_idle=3", "by itself"),
        ("connect_timeout=soon", "seconds"),
        ("sslrootcert=/nowhere/root.pem", "cannot read /nowhere/root.pem"),
        ("made_up=1", "leave it out"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(option: str, says: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        libpq.arguments(make_url(f"postgresql+asyncpg://h/d?{option}"))
    assert option.partition("=")[0] in str(refused.value) and says in str(refused.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sslrootcert": "junk.pem"}, "sslrootcert: {}/junk.pem has nothing of the kind"),
        ({"sslrootcert": "empty.pem"}, "sslrootcert: {}/empty.pem has nothing of the kind"),
        ({"sslrootcert": "."}, "sslrootcert: cannot read {}/.: Is a directory"),
        ({"sslrootcert": "gone.pem"}, "sslrootcert: cannot read {}/gone.pem: No such file or directory"),
        ({"sslcrl": "junk.pem"}, "sslcrl: {}/junk.pem has nothing of the kind"),
        ({"sslcert": "junk.pem", "sslkey": "key.pem"}, "sslcert: {}/junk.pem has no certificate"),
        ({"sslcert": "root.pem", "sslkey": "junk.pem"}, "sslkey: {}/junk.pem has no private key"),
        ({"sslcert": "root.pem", "sslkey": "other/key.pem"}, "sslkey: {}/other/key.pem is not the key of"),
        ({"sslcert": "root.pem"}, "sslcert={}/root.pem needs sslkey"),
        ({"sslkey": "key.pem"}, "sslkey={}/key.pem needs sslcert"),
    ],
)
def test_a_file_that_is_no_good_is_named(tmp_path: Path, options: dict[str, str], says: str) -> None:
    (tmp_path / "other").mkdir()
    certificate(tmp_path)
    certificate(tmp_path / "other")
    (tmp_path / "junk.pem").write_text("junk")
    (tmp_path / "empty.pem").write_text("")
    said = "&".join(f"{name}={tmp_path}/{file}" for name, file in options.items())
    with pytest.raises(ArgumentError) as refused:
        libpq.arguments(make_url(f"postgresql+asyncpg://h/d?sslmode=verify-full&{said}"))
    assert str(refused.value).startswith(says.format(tmp_path))


def test_a_pooler_is_named() -> None:
    """The message is PgBouncer's for an unknown startup parameter."""
    away = trouble(OSError("FATAL: unsupported startup parameter: jit"))
    assert away is not None and "PgBouncer" in str(away) and "session mode" in str(away) and "jit" in str(away)

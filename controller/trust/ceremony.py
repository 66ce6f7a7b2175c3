"""Makes and rotates the controller's own authority, for `weft-controller ca`: a root and an intermediate in a
directory.

root-key.pem      signs intermediates; must be kept offline once the intermediate is made
root.pem          the certificate that everybody trusts
intermediate.pem  key and certificate of the authority that is online: one file, so that both are replaced at once
next/             while the root is rotated: the next authority, already trusted
former/           while keys are rotated: the former authority, trusted until its certificates have expired"""

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from controller.core.durable import sync
from controller.trust import x509

ROOT_KEY, ROOT, INTERMEDIATE = "root-key.pem", "root.pem", "intermediate.pem"

NEXT, FORMER = "next", "former"

NAMED = 5
"""Most cloudlets that the message names when a rotation cannot end yet."""

ROOT_LIFETIME = timedelta(days=3653)
INTERMEDIATE_LIFETIME = timedelta(days=366)


@dataclass(frozen=True)
class CertificateInUse:
    """A good certificate of the former authority: its cloudlet, and whether that cloudlet got another one since."""

    cloudlet: str
    another: bool


class NotMade(Exception):  # noqa: N818 - it says what is
    """The authority cannot be made; the message is one sentence for the operator."""


def init(directory: Path, name: str, at: datetime) -> str:
    """Make root and intermediate, and return the next step for the operator. Raises NotMade."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (directory / ROOT).exists():
            raise NotMade(f"{directory / ROOT} is there already: an authority is made once")
        key = x509.new_key()
        root = x509.Signer(key, x509.root(key, name, at, ROOT_LIFETIME))
        _write(directory / ROOT_KEY, x509.key_pem(key))
        _write(directory / ROOT, x509.pem(root.certificate))
        _intermediate(directory, root, x509.new_key(), name, at)
    except OSError as error:
        raise NotMade(f"{error.filename or directory}: {error.strerror}") from None
    return f"made in {directory}; take {ROOT_KEY} away from this machine, and keep it"


def renew(directory: Path, root_key: Path, at: datetime) -> str:
    """Make a new certificate for the intermediate's key; certificates and revocations signed with it stay valid. Raises
    NotMade."""
    try:
        root = x509.read_signer(root_key.read_text(), (directory / ROOT).read_text())
        held = (directory / INTERMEDIATE).read_text()
        name = x509.common_name(root.certificate).removesuffix(" root")
        _intermediate(directory, root, x509.read_key(held), name, at)
    except OSError as error:
        raise NotMade(f"{error.filename}: {error.strerror}") from None
    except (x509.Unreadable, UnicodeDecodeError) as error:
        raise NotMade(f"{directory}: {error}") from None
    return f"the intermediate in {directory} is renewed; controllers take it over within seconds"


def rotate(directory: Path, root_key: Path, at: datetime) -> str:
    """Make a new key for the intermediate, below the same root; it signs all certificates from now on. Raises
    NotMade."""
    try:
        root = x509.read_signer(root_key.read_text(), (directory / ROOT).read_text())
        name = x509.common_name(root.certificate).removesuffix(" root")
        _idle(directory)
        _keep(directory)
        _intermediate(directory, root, x509.new_key(), f"{name} {at:%Y%m%dT%H%M%SZ}", at)
    except OSError as error:
        raise NotMade(f"{error.filename or directory}: {error.strerror}") from None
    except (x509.Unreadable, UnicodeDecodeError) as error:
        raise NotMade(f"{directory}: {error}") from None
    return "the intermediate has a new key; `ca finish` when no certificate is from the one before any more"


def prepare(directory: Path, at: datetime) -> str:
    """Make a new root and an intermediate below it, to be trusted beside the present ones. Raises NotMade."""
    try:
        root = x509.read_certificate((directory / ROOT).read_text())
        _idle(directory)
        fresh, name = directory / f"{NEXT}.new", x509.common_name(root).removesuffix(" root").split()[0]
        shutil.rmtree(fresh, ignore_errors=True)
        init(fresh, f"{name} {at:%Y%m%dT%H%M%SZ}", at)
        fresh.rename(directory / NEXT)
        sync(directory)
    except OSError as error:
        raise NotMade(f"{error.filename or directory}: {error.strerror}") from None
    except (x509.Unreadable, UnicodeDecodeError) as error:
        raise NotMade(f"{directory}: {error}") from None
    return (
        f"made in {directory / NEXT}; take {ROOT_KEY} away from there, and `ca switch` when every agent has heard of it"
    )


def switch(directory: Path) -> str:
    """Put the next authority in force. After an interruption, a further call continues the work. Raises NotMade."""
    try:
        if not (directory / NEXT).exists():
            raise NotMade(f"{directory / NEXT} is not there: `ca rotate --new-root` makes it")
        if (directory / NEXT / ROOT_KEY).exists():
            raise NotMade(f"{directory / NEXT / ROOT_KEY} belongs away from this machine: take it first")
        if not (directory / FORMER).exists():
            _keep(directory)
        for name in (ROOT, INTERMEDIATE):
            _write(directory / name, (directory / NEXT / name).read_text())
        shutil.rmtree(directory / NEXT)
    except OSError as error:
        raise NotMade(f"{error.filename or directory}: {error.strerror}") from None
    return "the new authority issues; `ca finish` when no certificate is from the one before any more"


def former(directory: Path) -> str:
    """Return the digest of the former authority's key, in the form of `x509.issuer_of`. Raises NotMade."""
    try:
        return x509.issuer_key((directory / FORMER / INTERMEDIATE).read_text())
    except OSError as error:
        raise NotMade(f"{error.filename or directory}: {error.strerror}") from None
    except (x509.Unreadable, UnicodeDecodeError) as error:
        raise NotMade(f"{directory / FORMER}: {error}") from None


def finish(directory: Path, in_use: Sequence[CertificateInUse]) -> str:
    """End the trust in the former authority, unless certificates that it has issued are still good (`in_use`). Raises
    NotMade."""
    if in_use:
        alone = [held.cloudlet for held in in_use if not held.another]
        whose = (
            f"without another are {_some(alone)}, and would have to enrol anew" if alone else "each has another since"
        )
        raise NotMade(
            "certificates of the authority of before that are good: "
            f"{len(in_use)}, of {_some(held.cloudlet for held in in_use)}; {whose}; "
            "`weft certificate list --former` lists them, and --force ends them all the same"
        )
    try:
        shutil.rmtree(directory / FORMER)
    except OSError as error:
        raise NotMade(f"{error.filename or directory}: {error.strerror}") from None
    return "the authority of before is not trusted any more"


def _some(cloudlets: Iterable[str]) -> str:
    names = list(dict.fromkeys(cloudlets))
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _idle(directory: Path) -> None:
    for name in (NEXT, FORMER):
        if (directory / name).exists():
            raise NotMade(f"{directory / name} is there: a rotation is under way")


def _keep(directory: Path) -> None:
    """Copy the authority in force to `former/`."""
    fresh = directory / f"{FORMER}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    for name in (ROOT, INTERMEDIATE):
        _write(fresh / name, (directory / name).read_text())
    fresh.rename(directory / FORMER)
    sync(directory)


def _intermediate(directory: Path, root: x509.Signer, key: x509.Key, name: str, at: datetime) -> None:
    certificate = x509.intermediate(root, key, name, at, INTERMEDIATE_LIFETIME)
    _write(directory / INTERMEDIATE, x509.key_pem(key) + x509.pem(certificate))


def _write(path: Path, text: str) -> None:
    """Replace a file that only its owner may read; after a crash it is either the old one or the new one."""
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync(path.parent)

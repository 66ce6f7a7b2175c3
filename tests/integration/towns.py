"""Four hosts with systemd and nothing but Debian on one network, and the repository of this tree's packages, served by
HTTP: the towns of docs/operate/install.md."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.packages.__main__ import main as packages
from deploy.packages.repository import SIGNING_KEY
from lab import netns
from lab.booted_hosts import BootedHost
from lab.lock import LabLock
from lab.paths import BUILD, ROOT

TOWNS = ("town1", "town2", "town3", "town4")
SERVER = "203.0.113.1"
FABRIC = "weft-towns"
BESIDE = ("postgresql", "frr", "frr-pythontools", "iputils-ping", "init", "procps", "strongswan-charon", "python3-apt")
"""Packages of Debian that the hosts install, apart from those that Weft's packages need."""

_APT = (
    'APT::Install-Recommends "false"; Binary::apt-get::APT::Keep-Downloaded-Packages "true"; '
    'Dpkg::Use-Pty "false"; quiet "2";'
)
_SCP = Path(__file__).parent / "scp"


@dataclass(frozen=True)
class Town:
    """A host, and the shell that an operator has open there: what a block sets, the next one sees."""

    host: BootedHost

    def run(self, script: str, seconds: float = 300.0) -> subprocess.CompletedProcess[str]:
        kept = "/run/shell"
        before = f"[ ! -f {kept} ] || . {kept}\n"
        after = f"\ndeclare -p | grep -E '^declare -- [A-Z]+=' >{kept} || true"
        return self.host.run(before + script + after, seconds)


def release() -> str:
    """Return the name of this machine's Debian."""
    return re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.MULTILINE)[1]  # type: ignore[index]


def architecture() -> str:
    return subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def signing_key(folder: Path) -> Iterator[None]:
    """Sign repositories with a key that exists only meanwhile."""
    home = folder / "gnupg"
    home.mkdir(mode=0o700)
    before = {name: os.environ.get(name) for name in ("GNUPGHOME", SIGNING_KEY)}
    os.environ |= {"GNUPGHOME": str(home), SIGNING_KEY: "weft@example.net"}
    made = ["gpg", "--batch", "--passphrase", "", "--quick-generate-key", "weft@example.net", "ed25519", "sign"]
    try:
        subprocess.run(made, check=True, capture_output=True)
        yield
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], check=False, capture_output=True)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def build(folder: Path, *options: str) -> Path:
    """Build this machine's packages, and return their repository. The key of `signing_key` signs it."""
    words = ["--release", release(), "--architecture", architecture(), "--output", str(folder), *options]
    assert packages(words) == 0
    return folder / "repository"


def base(repository: Path) -> Path:
    """Return a bare root whose apt has everything at hand that hosts install but Weft's packages. It is made once."""
    wanted = subprocess.run(
        ["dpkg-scanpackages", f"pool/{release()}"], cwd=repository, capture_output=True, text=True, check=False
    ).stdout
    needs = "".join(re.findall(r"^(?:Depends|Recommends): .*$", wanted, re.MULTILINE))
    digest = hashlib.sha256(f"{needs} {BESIDE} {Path(__file__).read_text()}".encode()).hexdigest()[:16]
    made = BUILD / "fresh" / f"{release()}-hosts-{digest}"
    if made.exists():
        return made
    for old in (BUILD / "fresh").glob(f"{release()}-hosts-*"):
        shutil.rmtree(old)
    new = made.with_name(f"{release()}-hosts-new")
    subprocess.run([ROOT / "lab/bare-root", release(), new], check=True)
    shutil.copytree(repository, new / "srv/repository")
    script = f"""
        export DEBIAN_FRONTEND=noninteractive
        echo 'deb [trusted=yes] file:/srv/repository {release()} main' >/etc/apt/sources.list.d/weft.list
        echo '{_APT}' >/etc/apt/apt.conf.d/50hosts
        printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d
        chmod 755 /usr/sbin/policy-rc.d
        apt-get update -q
        apt-get install -qy init iproute2 iputils-ping
        apt-get install -qy --download-only weft-controller weft-routeserver weft-agent weft-cli {" ".join(BESIDE)}
        rm -r /srv/repository /etc/apt/sources.list.d/weft.list /usr/sbin/policy-rc.d
        echo >/etc/resolv.conf
    """
    inside = ["unshare", "--mount", "chroot", str(new), "sh", "-ec", f"mount -t proc proc /proc\n{script}"]
    done = subprocess.run(inside, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    shutil.copy(_SCP, new / "usr/local/bin/scp")
    new.rename(made)
    return made


@contextmanager
def towns(folder: Path, repository: Path, names: Sequence[str] = TOWNS) -> Iterator[dict[str, Town]]:
    """Boot hosts on one network, 192.0.2.1 and so on, and serve the repository there."""
    lower = base(repository)
    with ExitStack() as stack:
        lock = LabLock()
        lock.acquire(600)
        stack.callback(lock.release)
        _network(names)
        stack.callback(netns.remove, [f"{netns.PREFIX}{name}" for name in names] + [FABRIC])
        server = _serve(repository)
        stack.callback(server.wait)
        stack.callback(server.kill)
        found: dict[str, Town] = {}
        for name in names:
            root = _overlay(folder / name, lower)
            stack.callback(subprocess.run, ["umount", "--lazy", str(root)], check=False)
            found[name] = Town(BootedHost(name, root, folder / f"{name}.log"))
        for town in found.values():
            for other in found.values():
                place = town.host.root / "towns" / other.host.name
                place.mkdir(parents=True)
                if town is not other:
                    subprocess.run(["mount", "--bind", str(other.host.root), str(place)], check=True)
                    stack.callback(subprocess.run, ["umount", "--lazy", str(place)], check=False)
            stack.callback(town.host.off)
            town.host.boot()
        yield found


def _network(names: Sequence[str]) -> None:
    spaces = [FABRIC, *(f"{netns.PREFIX}{name}" for name in names)]
    netns.create(spaces)
    netns.cables([((space, "eth0"), (FABRIC, space.removeprefix(netns.PREFIX))) for space in spaces[1:]])
    ports = [f"link set {name} master br0 up" for name in names]
    address = [f"addr add {SERVER}/24 dev br0", "addr add 192.0.2.254/24 dev br0"]
    netns.configure(FABRIC, sysctl={}, ip=["link add br0 type bridge", "link set br0 up", *address, *ports])
    for number, space in enumerate(spaces[1:], 1):
        lines = [f"addr add 192.0.2.{number}/24 dev eth0", "link set eth0 up", "route add default via 192.0.2.254"]
        netns.configure(space, sysctl={}, ip=lines)


def _overlay(folder: Path, lower: Path) -> Path:
    root = folder / "root"
    for part in ("upper", "work", "root"):
        (folder / part).mkdir(parents=True)
    options = f"lowerdir={lower},upperdir={folder}/upper,workdir={folder}/work"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(root)], check=True)
    return root


def _serve(repository: Path) -> "subprocess.Popen[bytes]":
    """Serve a folder at port 80 of the fabric."""
    argv = [sys.executable, "-m", "http.server", "--bind", SERVER, "--directory", str(repository), "80"]
    return subprocess.Popen(netns.command(FABRIC, argv), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

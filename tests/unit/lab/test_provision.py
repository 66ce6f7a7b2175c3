"""The set-up of a bare host: the packages that it installs, and its message on a host that lacks an ability."""

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROVISION = ROOT / "lab" / "provision"

PACKAGES = {
    "busybox": "busybox",
    "debugfs": "e2fsprogs",
    "ethtool": "ethtool",
    "git": "git",
    "ip": "iproute2",
    "modprobe": "kmod",
    "nft": "nftables",
    "openssl": "openssl",
    "pgrep": "procps",
    "ping": "iputils-ping",
    "promtool": "prometheus",
    "setsid": "util-linux",
    "shellcheck": "shellcheck",
    "ss": "iproute2",
    "swanctl": "strongswan-swanctl",
    "sysctl": "procps",
    "systemd-analyze": "systemd",
    "tc": "iproute2",
    "tcpdump": "tcpdump",
    "unshare": "util-linux",
    "virsh": "libvirt-clients",
}
"""For programs that agents, the lab and tests call: the Debian package, which a minimal root lacks."""


def test_each_program_that_is_called_is_installed() -> None:
    listed = re.search(r"packages=\((.*?)\)", PROVISION.read_text(), re.DOTALL)
    assert listed is not None
    words = {
        node.value
        for folder in ("agents", "lab", "tests")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    called = {program for program in PACKAGES if program in words}
    assert "systemd-analyze" in called and "debugfs" in called
    assert {PACKAGES[program] for program in called} <= set(listed[1].split())


def _host(folder: Path, ip: str) -> subprocess.CompletedProcess[str]:
    """Run the set-up on a host with all packages, on which `ip netns exec NAME …` runs the commands `ip`."""
    programs = {
        "id": "echo 0",
        "apt-get": "exit 1",
        "dpkg-query": "echo install ok installed",
        "ip": f'case "$1 $2" in "netns exec") shift 3; {ip} ;; esac',
    }
    for name, body in programs.items():
        (folder / name).write_text(f"#!/bin/bash\n{body}\n")
    for other in ("qemu", "criu"):
        (folder / other).write_text("#!/bin/bash\n")
    (folder / "provision").write_text(PROVISION.read_text())
    for path in folder.iterdir():
        path.chmod(0o755)
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run([folder / "provision"], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("ip", "said"),
    [
        ("echo 'mount of /sys failed: Operation not permitted' >&2; exit 255", "does not let root run anything in one"),
        ('[ "$1" != ip ] || { echo "Unknown device type" >&2; exit 2; }', "the kernel has no veth"),
        ('[ "$1" != nft ] || { echo "nft: not found" >&2; exit 127; }', "the kernel has no nftables for bridges"),
    ],
)
def test_what_a_host_lacks_is_said_with_the_commands_own_words(tmp_path: Path, ip: str, said: str) -> None:
    ended = _host(tmp_path, ip)
    assert ended.returncode == 1
    assert said in ended.stderr and re.search(r"not permitted|Unknown device|not found", ended.stderr), ended.stderr

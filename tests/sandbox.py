"""Runs a program with the limits of its systemd unit: capabilities, system calls, socket families, no new privileges.

    python tests/sandbox.py deploy/systemd/weft-agent.service -- PROGRAM ARGUMENT...

It is for machines on which systemd does not run. A forbidden system call ends the program, so that the test sees it.
NOBODY stands for any user of the unit, and the view of the file system does not change. libseccomp is the library that
systemd uses.
"""

import ctypes
import os
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

UNITS = Path(__file__).parents[1] / "deploy/systemd"
NOBODY = 65534
PYTHON = "/usr/bin/python3"
"""The system's Python, which every user may run; the tests' own Python may be in root's home."""
_KILL, _ALLOW, _EQUAL = 0x80000000, 0x7FFF0000, 4  # seccomp.h of libseccomp
_PR_SET_MDWE, _REFUSE_EXEC_GAIN = 65, 1  # linux/prctl.h

Unit = dict[str, list[str]]


class _Comparison(ctypes.Structure):
    _fields_ = (
        ("argument", ctypes.c_uint), ("how", ctypes.c_int), ("value", ctypes.c_uint64), ("more", ctypes.c_uint64)
    )  # fmt: skip


def unit(path: Path) -> Unit:
    """Return each key of the unit with its values in order (systemd.syntax(7))."""
    found: Unit = {}
    for line in path.read_text().replace("\\\n", " ").splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith(("#", ";")):
            found.setdefault(key.strip(), []).append(value.strip())
    return found


def words(unit: Unit, key: str) -> list[str]:
    """Return all words of a key whose values add up."""
    return " ".join(unit.get(key, [])).split()


@cache
def _groups() -> dict[str, list[str]]:
    said = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True, check=True).stdout
    groups: dict[str, list[str]] = {}
    members: list[str] = []
    for line in said.splitlines():
        if line.startswith("@"):
            members = groups.setdefault(line.strip(), [])
        elif line.startswith("    ") and not line.strip().startswith("#"):
            members.append(line.strip())
    return groups


def _calls(name: str) -> set[str]:
    if not name.startswith("@"):
        return {name}
    return set().union(*(_calls(member) for member in _groups()[name]))


def system_calls(unit: Unit) -> set[str]:
    """Return the system calls that SystemCallFilter permits; a list that begins with `~` removes calls."""
    left = _calls("@default")
    for value in unit["SystemCallFilter"]:
        named = set().union(*(_calls(name) for name in value.removeprefix("~").split()))
        left = left - named if value.startswith("~") else left | named
    return left - {"unshare", "setns"} if unit.get("RestrictNamespaces") == ["yes"] else left


def capabilities(unit: Unit) -> list[str]:
    """Return the capabilities of the bounding set, as setpriv names them."""
    return [name.removeprefix("CAP_").lower() for name in words(unit, "CapabilityBoundingSet")]


def _filter(unit: Unit) -> None:
    seccomp = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(_KILL)))
    for name in system_calls(unit) - {"socket"}:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number >= 0 and seccomp.seccomp_rule_add(context, ctypes.c_uint32(_ALLOW), number, 0):
            raise OSError(f"no rule for {name}")
    number = seccomp.seccomp_syscall_resolve_name(b"socket")
    for family in words(unit, "RestrictAddressFamilies"):
        only = _Comparison(0, _EQUAL, getattr(socket, family), 0)
        seccomp.seccomp_rule_add_array(context, ctypes.c_uint32(_ALLOW), number, 1, ctypes.byref(only))
    if seccomp.seccomp_load(context):
        raise OSError("the filter was not taken")


def _enter(path: Path, program: list[str]) -> None:
    found = unit(path)
    if found.get("MemoryDenyWriteExecute") == ["yes"]:
        ctypes.CDLL(None).prctl(_PR_SET_MDWE, _REFUSE_EXEC_GAIN, 0, 0, 0)
    _filter(found)
    os.execvp(program[0], program)


def command(name: str, *program: str) -> list[str]:
    """Return the command line that runs a program as the unit of that name would."""
    path = UNITS / f"{name}.service"
    found = unit(path)
    these = "".join(f",+{each}" for each in capabilities(found))
    limits = [f"--{kind}=-all{these}" for kind in ("bounding-set", "inh-caps", "ambient-caps")]
    if "User" in found or "DynamicUser" in found:
        limits += [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    return ["setpriv", *limits, "--no-new-privs", PYTHON, __file__, str(path), "--", *program]


if __name__ == "__main__":
    _enter(Path(sys.argv[1]), sys.argv[3:])

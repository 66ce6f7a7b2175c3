"""The configuration of a container (OCI runtime-spec), from its image's and its machine's description. Pure."""

import shlex
from collections.abc import Mapping
from typing import Any

from agents.hypervisors.hypervisor import Refused
from controller.wire.machines import Machine

ROOT, CONFIG, CRIU_CONFIG = "merged", "config.json", "criu.conf"
"""Files of a container's folder: its root file system, and the configurations of runc and of CRIU."""

CAPABILITIES = [
    f"CAP_{name}"
    for name in (
        "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP",
        "SETUID", "SYS_CHROOT",
    )
]  # fmt: skip
"""The capabilities of a container's root: podman's usual set."""

OPTIONS = ("command", "env")
"""Options of a machine: the command in place of the image's, and more of its environment, both in a shell's words."""

PROCESSES = 4096
"""Most processes and threads of a container."""

_PERIOD = 100_000  # microseconds, of a share of processors

_REFUSED = (
    "add_key", "bpf", "fsconfig", "fsmount", "fsopen", "io_uring_enter", "io_uring_register", "io_uring_setup",
    "keyctl", "kexec_load", "move_mount", "open_tree", "perf_event_open", "request_key", "setns", "unshare",
    "userfaultfd",
)  # fmt: skip
"""System calls that no container makes: those that lead out of its namespaces, and those whose state CRIU does not
restore (io_uring, userfaultfd)."""

_NO_SUCH_CALL = 38  # ENOSYS: programs go on without it


def words(machine: Machine, option: str) -> list[str]:
    """Return an option's words. Raises Refused if they are not a shell's."""
    try:
        return shlex.split(machine.options.get(option, ""))
    except ValueError as error:
        raise Refused(f"{machine.name}: option {option!r}: {error}") from None


def check(machine: Machine) -> None:
    """Raise Refused if no container is like that."""
    if unknown := sorted(set(machine.options) - set(OPTIONS)):
        raise Refused(f"{machine.name}: option {unknown[0]!r} is none of a container's ({', '.join(OPTIONS)})")
    if machine.disk is not None:
        raise Refused(f"{machine.name}: a container has no disk; its files are a layer above its image's")
    if machine.cpu is not None:
        raise Refused(f"{machine.name}: a container has no CPU model; it sees the host's CPU")
    words(machine, "command")
    for word in words(machine, "env"):
        if "=" not in word:
            raise Refused(f"{machine.name}: option 'env': {word!r} is not of the form NAME=VALUE")


def config(image: Mapping[str, Any], machine: Machine, folder: str, group: str) -> dict[str, Any]:
    """Return the configuration of a container. `image` is that of its image, `folder` the machine's folder, `group` its
    control group. runc runs in the sandbox, of which the first process has the network."""
    found = dict(image)
    process = found["process"]
    allowed = dict.fromkeys(("bounding", "effective", "permitted"), CAPABILITIES)
    found["process"] = process | {
        "terminal": False,
        "args": words(machine, "command") or process["args"],
        "env": [*process.get("env", []), *words(machine, "env")],
        "capabilities": allowed,
    }
    found["root"] = {"path": f"{folder}/{ROOT}", "readonly": False}
    found["hostname"] = machine.name
    found["mounts"] = [one for one in found["mounts"] if one["type"] != "cgroup"]
    found["annotations"] = {"org.criu.config": f"{folder}/{CRIU_CONFIG}"}
    network = {"type": "network", "path": "/proc/1/ns/net"}
    others = [one for one in found["linux"]["namespaces"] if one["type"] != "network"]
    found["linux"] = found["linux"] | {
        "namespaces": [*others, network],
        "cgroupsPath": group,
        "resources": {
            "devices": found["linux"]["resources"]["devices"],
            "memory": {"limit": machine.memory},
            "cpu": {"quota": machine.vcpus * _PERIOD, "period": _PERIOD},
            "pids": {"limit": PROCESSES},
        },
        "seccomp": {
            "defaultAction": "SCMP_ACT_ALLOW",
            "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
            "syscalls": [{"names": list(_REFUSED), "action": "SCMP_ACT_ERRNO", "errnoRet": _NO_SUCH_CALL}],
        },
    }
    return found

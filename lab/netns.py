"""Network namespaces: the lab's calls of iproute2 and ethtool.

Every namespace of the lab is called `weft-…` and carries the lab's mark (an alias on its `lo`), so that the lab's
namespaces can be told from others even when every record is lost.
"""

import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from lab.errors import LabError

PREFIX = "weft-"
MARK = "weft-lab"
RUN = Path("/run/netns")


def create(names: Sequence[str], mark: str = MARK) -> None:
    """Make namespaces with `lo` up. None of them may exist. Those of another mark are not the lab's to remove."""
    if taken := [name for name in names if (RUN / name).exists()]:
        raise LabError(f"network namespaces exist already: {', '.join(taken)}", "weft-lab down removes a lab's")
    _ip_batch([f"netns add {name}" for name in names])
    for name in names:
        _ip_batch([f"link set lo alias {mark}", "link set lo up"], name)


def remove(names: Iterable[str]) -> None:
    """Remove those of the namespaces that exist, with every interface in them."""
    for name in names:
        if (RUN / name).exists():
            _run(["ip", "netns", "delete", name], check=False)


def marked() -> list[str]:
    """Return every namespace that carries the lab's mark."""
    found = []
    for path in sorted(RUN.glob(f"{PREFIX}*")) if RUN.is_dir() else []:
        answer = _run(["ip", "-j", "-n", path.name, "link", "show", "lo"], check=False)
        if answer.returncode == 0 and json.loads(answer.stdout or "[{}]")[0].get("ifalias") == MARK:
            found.append(path.name)
    return found


def pids(name: str) -> list[int]:
    """Return the processes that live in a namespace."""
    return [int(pid) for pid in _run(["ip", "netns", "pids", name], check=False).stdout.split()]


def command(name: str, argv: Sequence[str]) -> list[str]:
    """Return the command line that runs `argv` in a namespace; the process keeps its pid."""
    return ["ip", "netns", "exec", name, *argv]


def execute(
    name: str, argv: Sequence[str], *, stdin: str = "", timeout: float = 60, check: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a command in a namespace to its end. Raises LabError on a timeout or, with `check`, on a failure."""
    return _run(command(name, argv), stdin=stdin, timeout=timeout, check=check)


def configure(name: str, *, sysctl: dict[str, str], ip: Sequence[str], plain: Sequence[str] = ()) -> None:
    """Set kernel parameters, then run lines of `ip -batch`, then switch checksum offload off on the interfaces `plain`.

    Without offload a frame is on the wire as on a real one: whole checksums, no super-packets.
    """
    script = [f"echo {value} > /proc/sys/{key.replace('.', '/')}" for key, value in sysctl.items()]
    script += ["ip -batch - <<'END'", *ip, "END"]
    script += [f"ethtool -K {interface} tx off >/dev/null" for interface in plain]
    execute(name, ["sh", "-eu"], stdin="\n".join(script) + "\n", check=True)


def known(sysctl: dict[str, str]) -> dict[str, str]:
    """Return those kernel parameters that this kernel has."""
    return {key: value for key, value in sysctl.items() if Path("/proc/sys", *key.split(".")).exists()}


def cables(pairs: Sequence[tuple[tuple[str, str], tuple[str, str]]]) -> None:
    """Join pairs of (namespace, interface) with veth. Both ends are made in their namespaces, never outside."""
    _ip_batch([f"link add {x} netns {a} type veth peer name {y} netns {b}" for (a, x), (b, y) in pairs])


def supports_netem() -> bool:
    """Return whether this kernel has the netem queueing discipline. The test uses a namespace that is removed at
    once."""
    name = f"{PREFIX}netem-probe"
    remove([name])
    create([name])
    try:
        _ip_batch(["link add probe0 type veth peer name probe1"], name)
        tried = execute(name, ["tc", "qdisc", "add", "dev", "probe0", "root", "netem", "delay", "1ms"])
        return tried.returncode == 0
    finally:
        remove([name])


def _ip_batch(lines: Sequence[str], name: str | None = None) -> None:
    where = ["-n", name] if name else []
    if lines:
        _run(["ip", *where, "-batch", "-"], stdin="\n".join(lines) + "\n", check=True)


def _run(
    argv: Sequence[str], *, stdin: str = "", timeout: float = 60, check: bool = True
) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=timeout, check=False)
    except FileNotFoundError:
        raise LabError(f"{argv[0]} is not installed", "lab/provision installs what the lab needs") from None
    except subprocess.TimeoutExpired:
        raise LabError(f"'{' '.join(argv)}' did not end within {timeout:g} s") from None
    if check and done.returncode:
        raise LabError(f"'{' '.join(argv)}' failed: {(done.stderr or done.stdout).strip()}")
    return done

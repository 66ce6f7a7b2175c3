"""Targets: the releases of Debian and the architectures that packages are built for."""

from collections.abc import Mapping
from dataclasses import dataclass

ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Debian's architectures, which Go calls the same, and the kernel's names of their machines."""

OLDEST_GLIBC = 17
"""The minor version of glibc 2 that the oldest wheels in use are for (manylinux2014)."""


@dataclass(frozen=True)
class Release:
    """A release of Debian: `python` is its Python, such as 3.11, and `glibc` the minor version of its glibc 2."""

    name: str
    number: int
    python: str
    glibc: int


RELEASES = {one.name: one for one in (Release("bookworm", 12, "3.11", 36), Release("trixie", 13, "3.13", 41))}


@dataclass(frozen=True)
class Target:
    """A release and an architecture."""

    release: Release
    architecture: str

    @property
    def machine(self) -> str:
        return ARCHITECTURES[self.architecture]

    @property
    def next_python(self) -> str:
        """The first Python that packages for this target do not run on: their wheels are for one minor version."""
        major, _, minor = self.release.python.partition(".")
        return f"{major}.{int(minor) + 1}"

    def wheel_options(self) -> list[str]:
        """Return pip's options for wheels that run on the target (PEP 600)."""
        interpreter = f"cp{self.release.python.replace('.', '')}"
        found = ["--only-binary=:all:", "--implementation", "cp", "--python-version", self.release.python]
        for abi in (interpreter, "abi3", "none"):
            found += ["--abi", abi]
        for glibc in range(self.release.glibc, OLDEST_GLIBC - 1, -1):
            found += ["--platform", f"manylinux_2_{glibc}_{self.machine}"]
        return [*found, "--platform", f"manylinux2014_{self.machine}"]

    def markers(self) -> Mapping[str, str]:
        """Return the values of environment markers on the target (PEP 508)."""
        return {
            "implementation_name": "cpython",
            "implementation_version": f"{self.release.python}.0",
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_system": "Linux",
            "python_full_version": f"{self.release.python}.0",
            "python_version": self.release.python,
            "sys_platform": "linux",
        }

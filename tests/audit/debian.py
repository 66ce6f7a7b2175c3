"""Debian packages in the images: those that the Dockerfiles install, with all their dependencies, in the versions that
apt would install now. Of the base of an image only the name is known here."""

import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from deploy.packages.package import PACKAGES
from deploy.packages.target import RELEASES, Target
from tests.audit import Answer

QEMU = ("qemu-system-x86", "qemu-utils")
"""The packages that lab/qemu installs, from the backports of the release."""

TARGET = Target(RELEASES["bookworm"], "amd64")
"""The target of the images' packages."""

TIMEOUT = 120
_INST = re.compile(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) .*\[(\w+)\]\)")


@dataclass(frozen=True, order=True)
class Package:
    """A package: `name`, `version` and `architecture` as dpkg knows them."""

    name: str
    version: str
    architecture: str


@dataclass(frozen=True)
class Image:
    """An image: `base` is the base of its last stage, `named` are the packages that this stage installs by name, and
    `backports` those that it installs from the backports."""

    name: str
    base: str
    named: tuple[str, ...]
    backports: tuple[str, ...] = ()


def images(deploy: Path) -> list[Image]:
    """Return the images that the Dockerfile of a directory describes, one for each target."""
    text = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", (deploy / "weft.Dockerfile").read_text(), flags=re.MULTILINE))
    base = re.findall(r"^ARG BASE=(\S+)", text, re.MULTILINE)[0]
    parts = re.split(r"^FROM \S+ AS (\w+)", text, flags=re.MULTILINE)
    stages = dict(zip(parts[1::2], parts[2::2], strict=True))
    shared = stages.pop("base")
    return [image(name, base, shared + stage) for name, stage in stages.items()]


def image(name: str, base: str, instructions: str) -> Image:
    """Return an image on `base`. A package of Weft's stands for those of Debian that it depends on."""
    named: list[str] = []
    for command in re.findall(r"apt-get install([^\n&]*)", instructions):
        for word in shlex.split(command):
            if word in PACKAGES:
                named += [re.split(r"[ |]", need)[0] for need in PACKAGES[word].needs(TARGET)]
            elif not word.startswith("-"):
                named.append(word)
    return Image(name, base, tuple(dict.fromkeys(named)), QEMU if "weft-qemu" in instructions else ())


def listed(image: Image) -> set[Package]:
    """Return all packages of an image, as this machine's apt knows them. Raises Unknown."""
    here = _release()
    if image.base != f"debian:{here['VERSION_ID']}-slim":
        raise Unknown(f"it is built on {image.base}, and this machine is Debian {here['VERSION_ID']}")
    found = _apt(["?essential", *image.named])
    if image.backports:
        later = _apt(["-t", f"{here['VERSION_CODENAME']}-backports", *image.backports])
        there = {package.name for package in found}
        found |= {package for package in later if package.name not in there}
    return found


class Unknown(Exception):  # noqa: N818 - it says what is
    """The packages of an image could not be determined; the message says why."""


def _release() -> dict[str, str]:
    pairs = (line.partition("=") for line in Path("/etc/os-release").read_text().splitlines())
    release = {key: value.strip('"') for key, _, value in pairs}
    return {"VERSION_ID": "unknown", "VERSION_CODENAME": "unknown"} | release


def _apt(words: list[str]) -> set[Package]:
    with tempfile.NamedTemporaryFile() as nothing:  # what is installed here is no matter
        command = ["apt-get", "-s", "-qq", "-o", f"Dir::State::status={nothing.name}", "--no-install-recommends"]
        try:
            done = subprocess.run(
                [*command, "install", *words], capture_output=True, text=True, timeout=TIMEOUT, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unknown(str(error)) from None
    if done.returncode != 0 or not (found := of_apt(done.stdout)):
        raise Unknown(f"apt-get: {(done.stderr.strip().splitlines() or ['no packages'])[-1]} (apt-get update?)")
    return found


def of_apt(said: str) -> set[Package]:
    """Return the packages that apt's simulation would install."""
    return {Package(*found.groups()) for line in said.splitlines() if (found := _INST.match(line))}


def components(of: dict[str, set[Package]], bases: Iterable[Image]) -> list[dict[str, Any]]:
    """Return the components for a bill of materials: the packages, each with the images that contain it, and the base
    images."""
    found: list[dict[str, Any]] = []
    for package in sorted(set().union(*of.values())):
        version = quote(package.version, safe=":~")
        purl = f"pkg:deb/debian/{quote(package.name)}@{version}?arch={package.architecture}"
        where = [{"name": "weft:image", "value": name} for name, there in sorted(of.items()) if package in there]
        found.append(
            {"type": "library", "bom-ref": purl, "name": package.name, "version": package.version, "purl": purl,
             "properties": where}
        )  # fmt: skip
    for base in sorted({each.base for each in bases}):
        name, _, version = base.partition(":")
        purl = f"pkg:docker/{name}@{version}"
        found.append({"type": "container", "bom-ref": purl, "name": name, "version": version, "purl": purl})
    return found


def packages(deploy: Path) -> tuple[list[dict[str, Any]], Answer]:
    """Return the components for the bill, and the answer for the report. An image that installs nothing lists its base
    alone."""
    of, unasked, all_ = dict[str, set[Package]](), list[str](), images(deploy)
    for each in all_:
        if each.named or each.base.startswith("debian:"):
            try:
                of[each.name] = listed(each)
            except Unknown as unknown:
                unasked.append(f"image {each.name}: {unknown}")
    found = components(of, all_)
    bases = ", ".join(sorted({each.base for each in all_}))
    count = sum(each["type"] == "library" for each in found)
    notes = (
        f"{count} listed, as an image built now has them; of what is in {bases} otherwise, the names of these alone",
    )
    return found, Answer("Debian packages of the images", unasked=tuple(unasked), notes=notes)

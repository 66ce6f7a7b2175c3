"""The secrets of a region in the lab, and the places that could expose them: logs, and the command lines of
processes."""

import json
import re
from pathlib import Path

from lab.paths import LAB, RUN

PRIVATE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\n(\S+)")
PASSWORD = re.compile(r"^ *neighbor \S+ password (\S+)$", re.MULTILINE)


def secrets() -> dict[str, str]:
    """Return every secret in a file of the region, by the file: tokens and credentials, the first line of each private
    key, and the passwords of FRR's sessions."""
    found = {}
    for path in (*LAB.rglob("*"), *RUN.rglob("frr.conf")):
        if path.is_file() and path.suffix != ".log" and path.stat().st_size < 100_000:
            for number, secret in enumerate(_of(path, path.read_text(errors="replace"))):
                found[f"{path} {number}"] = secret
    return found


def _of(path: Path, text: str) -> list[str]:
    match path.name:
        case "control.token" | "token":
            return [text.strip()]
        case "credential.json":
            return [str(json.loads(text)["credential"])]
        case _:
            return PRIVATE.findall(text) + PASSWORD.findall(text)


def told(secrets: dict[str, str]) -> dict[str, str]:
    """Return the exposed secrets: the place where somebody else can read each, by the secret's name."""
    heard = {str(path): path.read_text(errors="replace") for path in LAB.rglob("*.log")}
    for process in Path("/proc").glob("[0-9]*"):
        for what in ("cmdline", "environ"):
            try:
                heard[str(process / what)] = (process / what).read_text(errors="replace")
            except OSError:
                continue  # it has ended
    return {name: where for name, secret in secrets.items() for where, text in heard.items() if secret in text}

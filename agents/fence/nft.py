"""The door to nftables: the `nft` command."""

import json
from dataclasses import dataclass
from typing import Any

from agents import command
from agents.fence.generation import generation
from agents.fence.rules import FAMILIES, TABLE, ruleset

_TIMEOUT = 10.0


class NftError(Exception):
    """`nft` is missing or refused what it was given. The text is for people."""


@dataclass(frozen=True)
class Dropped:
    """What one LAN's fence has dropped for one reason since its rules were last replaced."""

    bridge: str
    reason: str
    packets: int
    bytes: int


class Nft:
    """The fences in this network namespace's kernel."""

    def __init__(self) -> None:
        self._loaded: tuple[str, int] | None = None  # the text, and the generation it made

    async def apply(self, text: str, first: str = "") -> bool:
        """Replaces the fences by `text` in one transaction; says whether anything was done.

        Nothing is (no process, and the counters go on) while the kernel's rules are as this object left them. `first`
        goes ahead of the text if anything is done. Raises NftError.
        """
        before = generation()
        if before is not None and self._loaded == (text, before):
            return False
        await _nft("-f", "-", stdin=first + text)
        after = generation()
        # Another change in between may have touched ours: then do not rely on it next time.
        ours_alone = before is not None and after == before + 1
        self._loaded = (text, after) if after is not None and ours_alone else None
        return True

    async def counters(self, table: str = TABLE) -> list[Dropped]:
        """What each fence dropped and why, also what dropped nothing. Empty without fences. Of another table: what its
        counters have counted. Raises NftError."""
        found = []
        for item in json.loads(await _nft("-j", "list", "counters"))["nftables"]:
            counter = item.get("counter")
            if counter and counter["table"] == table and counter["family"] in FAMILIES:
                bridge, _, reason = counter["name"].partition(".")
                found.append(Dropped(bridge, reason, counter["packets"], counter["bytes"]))
        return sorted(found, key=lambda d: (d.bridge, d.reason))

    async def names(self, table: str) -> dict[str, frozenset[str]]:
        """Chains, counters and limits of a bridge table by their kind; empty if it is not there. Raises NftError."""
        found: dict[str, set[str]] = {}
        for kind in ("chain", "counter", "limit"):
            for item in json.loads(await _nft("-j", "list", f"{kind}s"))["nftables"]:
                one = item.get(kind)
                if one and one["table"] == table and one["family"] == "bridge":
                    found.setdefault(kind, set()).add(one["name"])
        return {kind: frozenset(names) for kind, names in found.items()}

    async def clear(self) -> None:
        """Takes the fences out, if there are any. Raises NftError."""
        self._loaded = None
        await _nft("-f", "-", stdin=ruleset([]))


async def objects(family: str, table: str) -> list[dict[str, Any]]:
    """What a table has, in nft's own JSON (libnftables-json(5)). Raises NftError, also if there is no such table."""
    found: list[dict[str, Any]] = json.loads(await _nft("-j", "list", "table", family, table))["nftables"]
    return found


async def _nft(*arguments: str, stdin: str = "") -> str:
    try:
        ended = await command.run("nft", *arguments, stdin=stdin, seconds=_TIMEOUT)
    except FileNotFoundError:
        raise NftError("nft: not found; install nftables") from None
    except TimeoutError:
        raise NftError(f"nft did not finish within {_TIMEOUT:g} s") from None
    if ended.code:
        raise NftError(f"nft refused the rules: {ended.complaint.strip()}")
    return ended.out

"""The door to nftables: the `nft` command."""

import asyncio
import json
from dataclasses import dataclass

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

    async def apply(self, text: str) -> bool:
        """Replaces the fences by `text` in one transaction; says whether anything was done.

        Nothing is (no process, and the counters go on) while the kernel's rules are as this object left them.
        Raises NftError.
        """
        before = generation()
        if before is not None and self._loaded == (text, before):
            return False
        await _nft("-f", "-", stdin=text)
        after = generation()
        # Another change in between may have touched ours: then do not rely on it next time.
        ours_alone = before is not None and after == before + 1
        self._loaded = (text, after) if after is not None and ours_alone else None
        return True

    async def counters(self) -> list[Dropped]:
        """What each fence dropped and why, also what dropped nothing. Empty without fences. Raises NftError."""
        found = []
        for item in json.loads(await _nft("-j", "list", "counters"))["nftables"]:
            counter = item.get("counter")
            if counter and counter["table"] == TABLE and counter["family"] in FAMILIES:
                bridge, _, reason = counter["name"].rpartition(".")
                found.append(Dropped(bridge, reason, counter["packets"], counter["bytes"]))
        return sorted(found, key=lambda d: (d.bridge, d.reason))

    async def clear(self) -> None:
        """Takes the fences out, if there are any. Raises NftError."""
        self._loaded = None
        await _nft("-f", "-", stdin=ruleset([]))


async def _nft(*arguments: str, stdin: str = "") -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            "nft",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError:
        raise NftError("nft: not found; install nftables") from None
    try:
        output, complaint = await asyncio.wait_for(process.communicate(stdin.encode()), _TIMEOUT)
    except TimeoutError:
        raise NftError(f"nft did not finish within {_TIMEOUT:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise NftError(f"nft refused the rules: {complaint.decode(errors='replace').strip()}")
    return output.decode()

"""`weft gather`: a bundle for a bug report."""

import json
import platform
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from controller.cli.bundle.archive import archive
from controller.cli.bundle.collection import Collection, Wanted
from controller.cli.bundle.pseudonyms import Pseudonyms, kept_key
from controller.cli.bundle.words import HIDDEN, Words
from controller.cli.cells import plain
from controller.cli.client import Client
from controller.cli.failures import WrongUsage
from controller.cli.output import done
from controller.wire.release import release

CONTENTS = "contents.json"
"""The list of the files of a bundle."""

To = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A new file; by default weft-gather-TIME.tar.gz in this folder.")
]
Events = Annotated[int, typer.Option(min=0, max=1000, help="Number of latest events.")]
Audit = Annotated[
    int, typer.Option(min=0, max=10_000, help="Number of latest entries of the audit log; needs its role.")
]


def gather(
    to: To = None,
    events: Events = 1000,
    audit: Audit = 0,
    no_policy: Annotated[bool, typer.Option("--no-policy", help="Leave the policy's text out.")] = False,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Replace names and addresses, the same by the same.")
    ] = False,
) -> None:
    """Write a bundle for a bug report: versions, doctor, settings, pools, sessions, events, metrics, policy, reports.

    Without secrets: it has only named fields, and of their texts only words that are Weft's own or name a thing of the
    region. Any other word is `…`. Read it before you send it. Names the parts that could not be asked."""
    began = time.time()
    to = to or Path(f"weft-gather-{datetime.fromtimestamp(began, UTC):%Y%m%dT%H%M%SZ}.tar.gz")
    try:
        words = Words(Pseudonyms(kept_key()) if anonymous else None)
    except (OSError, ValueError) as error:
        raise WrongUsage(f"--anonymous: cannot keep the key of pseudonyms: {error}") from None
    with Client() as api:
        api.get("/healthz")  # without a controller there is no bundle
        with archive(to, began) as made:
            found = Collection(api, words, made)
            found.all(Wanted(events, audit, policy=not no_policy))
            contents = {
                "made_at": datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"),
                "weft": release(),
                "python": platform.python_version(),
                "anonymous": anonymous,
                "files": [{"name": name, "bytes": size} for name, size in sorted(made.sizes.items())],
                "not_asked": [{"part": part, "reason": reason} for part, reason in found.unasked.items()],
                "fields_left_out": found.left_out,
                "words_left_out": words.hidden,
            }
            made.add(CONTENTS, json.dumps(contents, indent=1, ensure_ascii=False) + "\n")
    done(
        contents | {"file": str(to), "size": to.stat().st_size},
        *(f"  {name}, {size:,} bytes" for name, size in sorted(made.sizes.items())),
        *(f"! not in it: {plain(part)}: {plain(reason)}" for part, reason in found.unasked.items()),
        f"left out: {found.left_out:,} fields, {words.hidden:,} words ({HIDDEN})",
        f"✓ {to}, {to.stat().st_size:,} bytes; read it before you send it",
    )

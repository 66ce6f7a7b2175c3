"""`weft doctor`: checks whether intent, rule sets, Adj-RIB-Out and kernels agree."""

from collections import Counter

from controller.cli.cells import plain
from controller.cli.client import Client, path
from controller.cli.documents import emit
from controller.cli.failures import CheckFailed
from controller.cli.output import say
from controller.cli.session import session


def doctor() -> None:
    """Compare intent with rule sets, Adj-RIB-Out and kernels. Names every difference with a remedy.

    Ends with 0 if all agree, with 1 if anything differs."""
    with Client() as api:
        answer = api.get(path("doctor"))
    differences = answer["differences"]
    more = Counter(answer.get("counts") or {})
    more.subtract(Counter(difference.get("kind") for difference in differences))
    if session.documents:
        emit(answer)
    else:
        counts = {what.replace("_", " "): count for what, count in answer["checked"].items() if what != "generation"}
        parts = ", ".join(f"{plain(count)} {what}" for what, count in counts.items())
        say(f"replica {plain(answer.get('replica'))}; {plain(answer.get('leader') or 'none')} leads")
        say(f"generation {plain(answer['checked'].get('generation'))}; compared: {parts or 'nothing'}")
        for difference in differences:
            say(f"✗ {plain(difference['where'])}: {plain(difference['text'])}")
            say(f"    expected {plain(difference['expected'])}; found {plain(difference['found'])}")
            if difference.get("remedy"):
                say(f"    remedy: {plain(difference['remedy'])}")
        for kind, count in sorted((+more).items()):
            say(f"✗ {count} more of kind {plain(kind)}")
        for name in answer.get("unconsented") or []:
            say(f"· endpoint {plain(name)} is held back until its tenant consents to it")
        for name in answer.get("unmanaged") or []:
            say(f"· PE of {plain(name)} has no agent: only its sessions and routes are compared")
        for told in answer.get("uncompared") or []:
            say(f"· {plain(told)}")
        if answer["ok"]:
            say("✓ all agree")
    if not answer["ok"]:
        count = len(differences) + (+more).total()
        raise CheckFailed(f"{count} difference{'' if count == 1 else 's'}")

"""Questions of network engineers: why did a route arrive, why did another not, and does everything agree?"""

import json

from lab.demo.stage import Stage


def explain(stage: Stage, source: str, arrived: str, absent: str) -> None:
    """Run `weft route explain` for a route that reached `arrived` and did not reach `absent`."""
    stage.title("why did this route arrive, and that one not?")
    for target, wanted in ((arrived, "sent"), (absent, "not-sent")):
        shown = stage.weft("route", "explain", source, target)
        done = stage.weft("--output", "json", "route", "explain", source, target, show=False)
        found = _verdicts(done.stdout)
        name = f"explain {source} → {target}"
        stage.verdict.add(
            name,
            shown.returncode == 0 and found == {wanted},
            f"verdict: {', '.join(sorted(found)) or done.stderr.strip()}",
        )


def doctor(stage: Stage, by_hand: str | None = None) -> None:
    """Check that intent, rule sets, Adj-RIB-Out and kernels agree. The policy agrees too, except for a member that
    joined `by_hand`."""
    stage.title("does everything agree?")
    done = stage.weft("doctor")
    if by_hand is None:
        stage.verdict.add("weft doctor", done.returncode == 0, (done.stdout.strip().splitlines() or ["no answer"])[-1])
        return
    found = [line.strip() for line in done.stdout.splitlines() if line.startswith("✗")]
    drift = [line for line in found if line.startswith("✗ policy") and f" {by_hand} " in line]
    figure = f"all agree, but the policy, which did not ask for {by_hand}" if drift == found else "; ".join(found)
    stage.verdict.add("weft doctor", len(drift) == 1 and drift == found, figure)


def _verdicts(text: str) -> set[str]:
    """Return every verdict in an explanation, of any route server."""
    try:
        document = json.loads(text)
    except ValueError:
        return set()
    return {str(answer["verdict"]) for answer in document["route_servers"]}

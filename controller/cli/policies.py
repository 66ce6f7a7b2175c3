"""`weft policy`: the region's policy as text, which is checked, tested and planned before it is applied."""

from pathlib import Path
from typing import Annotated, Any

import typer

from controller.cli import policy_reports
from controller.cli.arguments import ConfirmWithin, DryRun
from controller.cli.bases import Base, digest, recall, remember
from controller.cli.changes import print_change, print_parts
from controller.cli.client import Client
from controller.cli.confirmation import confirm, interactive
from controller.cli.documents import emit
from controller.cli.failures import CheckFailed, Refused
from controller.cli.noun import Noun, Yes
from controller.cli.output import say
from controller.cli.policy_comment import comment as markdown
from controller.cli.policy_plans import (
    print_errors,
    print_filters,
    print_harm,
    print_routes,
    print_steps,
    print_tests,
    print_unconsented,
)
from controller.cli.policy_reports import CHECK, Case
from controller.cli.session import session
from controller.cli.texts import Error, lacking, read, send
from controller.cli.texts import check as check_text

app = Noun("policy", "The policy: check, test, plan, apply; its history, and drift from it.")

File = Annotated[str, typer.Argument(metavar="FILE", help="A policy; - is standard input.")]
Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Policies; - is standard input.")]
Offline = Annotated[bool, typer.Option("--offline", help="Use the text alone; ask no controller.")]
Strict = Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")]
AllowDisconnect = Annotated[
    bool, typer.Option("--allow-disconnect", help="Go on even if devices lose their running VMs.")
]
HoldBack = Annotated[
    bool, typer.Option("--hold-back", help="Go on even if endpoints are cut off until their tenants consent.")
]
CountConsented = Annotated[
    bool, typer.Option("--count-consented", help="Count endpoints that are in force as consented to.")
]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Also write a report: JUnit (FILE.xml) or SARIF (FILE.sarif)."),
]
Comment = Annotated[
    Path | None,
    typer.Option("--comment", metavar="FILE", help="Also write the plan as Markdown, for a merge request."),
]


@app.verb(
    "check",
    "weft policy check policies/examples/*.yaml\nweft policy check --offline pools.yaml\n"
    "weft policy check --report policy.sarif pools.yaml",
)
def check(files: Files, offline: Offline = False, strict: Strict = False, report: Report = None) -> None:
    """Check a policy: its form, its tests and, if a controller answers, its names."""
    policy_reports.check_name(report)
    results = [check_text("policy", name, _form, "names", offline=offline, strict=strict or None) for name in files]
    if report is not None:
        policy_reports.write(report, [_checked(result) for result in results])
    if session.documents:
        emit(results)
    bad = [result["file"] for result in results if result["errors"]]
    if bad:
        raise CheckFailed(f"{', '.join(bad)}: not right")


def _checked(result: dict[str, Any]) -> Case:
    outcome = "passed" if result["ok"] else "failed"
    return Case(result["file"], CHECK, outcome, result["errors"], result["warnings"], result["checked"])


@app.verb(
    "test",
    "weft policy test pools.yaml\nweft policy test --offline pools.yaml\n"
    "weft policy test --report tests.xml pools.yaml",
)
def test(files: Files, offline: Offline = False, report: Report = None) -> None:
    """Run the tests inside a policy. They run against the region as the policy would make it, or against the text
    alone."""
    policy_reports.check_name(report)
    failing: list[str] = []
    results = []
    for name in files:
        text = read(name)
        answer = _tests_offline(name, text) if offline else send("policy", "test", name, text)
        results.append({"file": name, **answer})
        if not session.documents:
            print_tests(answer["tests"], text)
            counts = [test["outcome"] for test in answer["tests"]]
            told = ", ".join(f"{counts.count(o)} {o}" for o in ("passed", "failed", "wrong", "skipped") if o in counts)
            say(f"{name}: {told or 'no tests'}")
        if not answer["ok"]:
            failing.append(name)
    if report is not None:
        policy_reports.write(report, [_tested(result["file"], test) for result in results for test in result["tests"]])
    if session.documents:
        emit(results)
    if failing:
        raise CheckFailed(f"{', '.join(failing)}: a policy whose tests fail is not taken")


def _tested(file: str, test: dict[str, Any]) -> Case:
    refused = test["outcome"] in ("failed", "wrong")
    said = test["said"]
    return Case(file, test["name"], test["outcome"], [said] if refused else (), note="" if refused else said["message"])


@app.verb(
    "plan",
    "weft policy plan pools.yaml\nweft policy plan pools.yaml --strict\nweft policy plan pools.yaml --comment plan.md",
)
def plan(file: File, strict: Strict = False, count_consented: CountConsented = False, comment: Comment = None) -> None:
    """Show the effects that the policy would have. A later `apply` of the file does exactly this, or says why not."""
    text = read(file)
    with Client() as api:
        terms: dict[str, Any] = {"strict": strict or None, "count_consented": count_consented or None}
        answer = send("policy", "plan", file, text, api=api, **terms)
        counted = count_consented if answer.get("unconsented") else None
        remember(api.url, file, Base(answer["etag"], answer["planned"], digest(text), counted))
    if comment is not None:
        comment.write_text(markdown(file, answer), encoding="utf-8")
    if session.documents:
        emit(answer)
    else:
        _print_plan(answer, text)
    if answer.get("unconsented") and not count_consented:
        raise CheckFailed(
            f"{file}: would be refused, unless it is applied with --hold-back; or plan it with --count-consented, and "
            "apply it with that"
        )
    if answer["disconnects"]:
        raise CheckFailed(f"{file}: would be refused, unless it is applied with --allow-disconnect")


@app.verb(
    "apply",
    "weft policy apply pools.yaml\nweft policy apply pools.yaml --dry-run\n"
    "weft policy apply pools.yaml --confirm-within 60",
)
def apply(
    file: File,
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
    strict: Strict = False,
    allow_disconnect: AllowDisconnect = False,
    hold_back: HoldBack = False,
    count_consented: CountConsented = False,
    anew: Annotated[
        bool, typer.Option("--anew", help="Ignore earlier plans, and policies that others have applied since.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Put the policy in force, exactly as last planned or not at all. Pools made over REST that it does not name
    stay. On a terminal, a policy without a plan is planned first, and asked about."""
    text = read(file)
    terms: dict[str, Any] = {"strict": strict or None, "allow_disconnect": allow_disconnect or None}
    terms |= {"dry_run": dry_run or None, "confirm_within": confirm_within}
    terms |= {"hold_back": hold_back or None, "count_consented": count_consented or None}
    with Client() as api:
        base = None if anew else recall(api.url, file)
        if not dry_run and (base is None or base.plan_of(text) is None):
            _ask(api, file, text, terms, yes)
        try:
            answer = _apply(api, file, text, base, terms)
        except Refused as refused:
            if base is None or refused.problem.get("status") != 412 or "diff" in refused.problem:
                raise
            remember(api.url, file, None)  # the base was of another region, or the database was made anew
            answer = _apply(api, file, text, None, terms)
        if not dry_run:
            remember(api.url, file, Base(answer["etag"]))
    if not session.documents:
        print_errors(answer.get("warnings") or [], text, "warning: ")
        print_steps(answer["plan"])
        print_harm(answer, text)
    print_change(file, answer)


def _ask(api: Client, file: str, text: str, terms: dict[str, Any], yes: bool) -> None:
    """Show the plan of a policy, and ask whether to apply it, on a terminal."""
    if not yes and interactive() and not session.documents:
        _print_plan(send("policy", "plan", file, text, api=api, count_consented=terms["count_consented"]), text)
        confirm(f"weft policy apply {file}", yes)


def _apply(api: Client, file: str, text: str, base: Base | None, terms: dict[str, Any]) -> dict[str, Any]:
    """Apply a policy. Without a base, the policy in force now is the base, and its present effects are the plan."""
    planned, counts = base.plan_of(text) if base else None, bool(terms["count_consented"])
    if base and planned and base.counted is not None and base.counted is not counts:
        was, now = ("with", "without") if base.counted else ("without", "with")
        raise CheckFailed(
            f"{file}: was planned {was} --count-consented, and {now} it something else would be done: plan it again "
            f"{now} it, or apply it {was} it; nothing was changed"
        )
    if base is None:
        found = send("policy", "plan", file, text, api=api, count_consented=terms["count_consented"])
        base, planned = Base(found["etag"]), found["planned"]
    return send("policy", "apply", file, text, api=api, if_match=base.etag, planned=planned, **terms)


def _print_plan(answer: dict[str, Any], text: str) -> None:
    print_errors(answer["warnings"], text, "warning: ")
    print_steps(answer["plan"])
    print_filters(answer.get("filters") or [])
    print_routes(answer["change"])
    print_parts(answer["change"])
    print_tests(answer["tests"], text)
    print_unconsented(answer)
    print_harm(answer, text)
    against = f"revision {answer['revision']}" if answer["revision"] else "no policy"
    say(f"planned at generation {answer['generation']}, against {against}; nothing was changed")


def _form(name: str, text: str) -> list[Error]:
    """Return errors of form, and tests that fail in any region. Needs no controller."""
    try:
        from controller.core.policy import PolicyInvalid, parse
        from controller.core.promises import alone, run
    except ImportError as error:
        raise lacking(error) from None
    try:
        policy = parse(text, name)
    except PolicyInvalid as invalid:
        return [vars(error) for error in invalid.errors]
    return [vars(result.said) for result in run(policy, alone(policy.rules)) if result.refuses]


def _tests_offline(name: str, text: str) -> dict[str, Any]:
    from controller.core.policy import PolicyInvalid, parse
    from controller.core.promises import alone, run

    try:
        policy = parse(text, name)
    except PolicyInvalid as invalid:
        print_errors([vars(error) for error in invalid.errors], text)
        raise CheckFailed(f"{name}: not right") from None
    found = run(policy, alone(policy.rules))
    tests = [{"name": r.name, "outcome": str(r.outcome), "said": vars(r.said), "why": list(r.why)} for r in found]
    return {"ok": not any(result.refuses for result in found), "tests": tests}

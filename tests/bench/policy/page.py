"""The figures of `make bench-policy` as a table, and the page that contains it."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

MARKED = re.compile(r"(<!-- make bench-policy -->\n).*?(<!-- end -->)", re.DOTALL)
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table, with two lines a row: a first policy, and the same policy again."""
    lines = [
        "| region | database | plan of | REST, ms | `weft policy plan`, ms | controller's CPU, ms | its own CPU, ms |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        region = "lived in" if row["lived_in"] else "bare"
        for when, what in (("first", f"a first policy, {row['members']:,} joins"), ("again", "the same again")):
            figures = (row[when][f"{key}_ms"] for key in ("rest", "command", "controller_cpu", "command_cpu"))
            cells = " | ".join(f"{figure:,.0f}" for figure in figures)
            lines.append(f"| {region} | {NAMES[row['database']]} | {what} | {cells} |")
    return "\n".join(lines)


def written(page: str, rows: Sequence[dict[str, Any]]) -> str:
    """Return the page with a new table, and below it the size of the region, the date, and the machine's other load.
    Raises ValueError if the page has no place for the table."""
    if MARKED.search(page) is None:
        raise ValueError("the page has no table between <!-- make bench-policy --> and <!-- end -->")
    first, load = rows[0], max(row["load"] for row in rows)
    under = (
        f"{first['cloudlets']:,} cloudlets, {first['vcps']} pools, {datetime.now(UTC):%Y-%m-%d}, load up to {load:.1f}."
    )
    if lived_in := next((row for row in rows if row["lived_in"]), None):
        under += f" Lived in: {lived_in['tests']} tests, {lived_in['leases_hit']} leases hit."
    return MARKED.sub(lambda found: f"{found[1]}{table(rows)}\n\n{under}\n{found[2]}", page)

"""Explanations of YAML syntax errors in an operator's words. The parser reports what it did not find; users want to
know their mistake: a tab, a wrong indent, a value that needs quotes, a bracket that is not closed."""

from typing import NamedTuple


class Mark(NamedTuple):
    """A place, counted from 1."""

    line: int
    column: int


def explain(text: str, problem: str, context: str, at: Mark, began: Mark) -> tuple[Mark, str]:
    """Return the place and the explanation. `problem` and `context` are libyaml's own words, `at` is where it stopped
    and `began` the start of the part that it was reading."""
    lines = text.split("\n")
    line = lines[at.line - 1] if at.line <= len(lines) else ""
    before, character = line[: at.column - 1], line[at.column - 1 : at.column]
    at_the_end = not "\n".join([character, *lines[at.line :]]).strip()
    if character == "\t" or "tab character" in problem:
        return at, "a tab: indent with spaces only"
    match problem:
        case "mapping values are not allowed in this context" | "mapping values are not allowed here":
            if ":" in before:
                return (
                    at,
                    "a second ': ' on one line: put a value that contains it in quotes, and a key on a line of its own",
                )
            return at, "a key where none can be: is the line indented too far, or does the line above lack its ': '?"
        case "did not find expected key" | "did not find expected <document start>" if character in ("]", "}"):
            return at, f"one '{character}' more than was opened"
        case "did not find expected key":
            if before.strip():
                return at, "text after the end of a value: write the whole value in quotes"
            return at, f"the indent fits no line above: keys of the mapping of line {began.line} begin in one column"
        case "did not find expected '-' indicator":
            return (
                at,
                f"a list began on line {began.line}, and this is not an item of it: begin it with '- ' or indent it",
            )
        case "block sequence entries are not allowed in this context":
            return at, "a list cannot begin on the line of its key: give '- ' a line of its own"
        case "could not find expected ':'":
            return began, "a key without ': ' after it"
        case "found unexpected end of stream":
            return began, "the quote that opens here is not closed"
        case "did not find expected ',' or ']'" | "did not find expected ',' or '}'":
            return (
                at,
                f"the '{problem[-2]}' for line {began.line} or a comma is missing here, or the text needs quotes",
            )
        case "did not find expected node content":
            return at, "the file ends inside '[' or '{'" if at_the_end else f"a value is missing before '{character}'"
        case "did not find expected <document start>":
            return at, "indented less than the first key: all keys of one mapping begin in one column"
        case "found character that cannot start any token":
            return at, f"nothing can begin with '{character}': write the value in quotes"
        case "found unknown escape character" | "found invalid Unicode character escape code":
            return at, "not an escape of double quotes: use single quotes, or write the character itself"
    return at, ", ".join(part for part in (problem, context) if part)

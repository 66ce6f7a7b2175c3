"""The conversion of text to a policy: the document, its form, its sections, and the errors between them."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from controller.core.policy.errors import PolicyInvalid
from controller.core.policy.model import Rules
from controller.core.policy.policy import Policy
from controller.core.policy.sections import (
    access,
    addresses,
    images,
    migration,
    neighbours,
    proximity,
    tenants,
    tests,
    vcps,
)
from controller.core.yaml_document.document import Document
from controller.core.yaml_document.errors import MAX_ERRORS
from controller.core.yaml_document.form import Form

SECTIONS: dict[str, Any] = {
    "addresses": addresses,
    "proximity": proximity,
    "neighbours": neighbours,
    "vcps": vcps,
    "access": access,
    "migration": migration,
    "tenants": tenants,
    "images": images,
    "tests": tests,
}
NEED = {"access": "vcps", "tenants": "vcps", "images": "vcps", "tests": "addresses"}
"""Sections that are checked against another one."""
FORM = Form("a policy", "schema.json", PolicyInvalid)


def parse(text: str, filename: str) -> Policy:
    """Return the policy in `text`; `filename` is for messages only. Raises PolicyInvalid with every error: those of
    form, and for sections with the right form, contradictions in the content."""
    document = FORM.read(text, filename)
    wrong = FORM.violations(document, filename)
    if len(wrong) >= MAX_ERRORS:
        raise PolicyInvalid(wrong)  # there may be more, in any section
    bad = {error.field.partition(".")[0].partition("[")[0] for error in wrong}
    right = [name for name in SECTIONS if name not in bad] if isinstance(document.data, dict) else []
    policy = Policy(filename, _rules(document, right), document=document)
    checked = [SECTIONS[name] for name in right if NEED.get(name) not in bad]
    errors = [*wrong, *islice((e for section in checked for e in section.errors(policy)), MAX_ERRORS)]
    if errors:
        raise PolicyInvalid(errors)
    warnings = islice((w for section in (access, tenants) for w in section.warnings(policy)), MAX_ERRORS)
    return Policy(filename, policy.rules, tuple(sorted(warnings)), document=document)


def _rules(document: Document, sections: Iterable[str]) -> Rules:
    data: Any = document.data
    return Rules(**{name: SECTIONS[name].read(data[name]) for name in sections if name in data})

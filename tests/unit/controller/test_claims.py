"""The permissions of a user, derived from the claims of a token."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controller.core.oidc_users import ALGORITHMS, Mapped, NoRole, caller
from controller.core.roles import Role

ROLES = {"ops": "operator", "readers": "viewer", "admins": "admin", "acme": "tenant"}
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda x: st.lists(x, max_size=3))
CLAIM = st.sampled_from(["ops", "acme", "readers", "cooks"])


@given(st.one_of(CLAIM, st.lists(CLAIM), JSON), st.one_of(st.sampled_from(["acme", "A b", ""]), JSON), st.text(), JSON)
def test_whoever_has_no_role_gets_none(groups: Any, tenant: Any, sub: str, name: Any) -> None:
    mapped = Mapped({value: Role(role) for value, role in ROLES.items()}, name="preferred_username")
    claims = {"sub": sub, "groups": groups, "tenant": tenant, "preferred_username": name}
    there = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
    known = {ROLES[value] for value in there if isinstance(value, str) and value in ROLES}
    try:
        found = caller(claims, mapped)
    except NoRole:
        assert not known or (known == {"tenant"} and tenant != "acme")
        return
    assert found.role in known and (found.role is Role.TENANT) == (found.tenant is not None)
    assert found.name.startswith("oidc:") and found.name.isprintable() and len(found.name) <= 95


def test_only_asymmetric_algorithms_can_be_chosen() -> None:
    assert not any(name.startswith("HS") or name.lower() == "none" for name in ALGORITHMS)

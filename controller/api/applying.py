"""The application of a policy: checks it against the present region, and refuses it or applies it in one change."""

import asyncio
from dataclasses import asdict, dataclass, replace

from sqlalchemy.ext.asyncio import AsyncSession

from controller.api.based_on import alike, check_base, mark
from controller.api.errors import of_place
from controller.changes.flow import Changes
from controller.changes.outcomes import PolicySteps
from controller.changes.policies import InForce, measured, medians
from controller.core import consents, lease_hits, policies
from controller.core.clock import now
from controller.core.disconnects import Disconnect, disconnects, losing
from controller.core.effects import Effects
from controller.core.intent import Intent
from controller.core.lease_hits import Hit
from controller.core.plans import Plan
from controller.core.policies import PolicyEdit
from controller.core.policy import Policy, PolicyInvalid
from controller.core.promises import Measured, Result, run
from controller.core.promises import Region as Proof
from controller.core.proximity.nearness import Medians
from controller.core.tenants import waiting
from controller.core.yaml_document.errors import DocumentError
from controller.db import events, leases
from controller.db.applied_texts import rollback_note
from controller.db.engine import Database
from controller.db.policies import POLICIES, PolicyRow
from controller.runtime.problems import Problem

MOST = 20
"""Maximum number of endpoints that an event names in its text."""


@dataclass(frozen=True)
class Terms:
    """The operator's conditions for a policy. `strict`: warnings refuse it. `allow_disconnect`: devices may lose their
    VMs. `planned`: apply it only if the plan still has this mark. `based_on`: apply it only if the policy in force
    still has this entity tag. `back_to` is the revision that it brings back. `by` is the operator. Both go into the
    history. `hold_back`: cut off endpoints in force whose tenants must consent from now on. `count_consented`: count
    them as consented, on the operator's word."""

    strict: bool = False
    allow_disconnect: bool = False
    planned: str | None = None
    based_on: str | None = None
    back_to: int | None = None
    hold_back: bool = False
    count_consented: bool = False
    by: str = ""


@dataclass(frozen=True)
class Look:
    """The effects that a policy would have on the region `before`. `unconsented` are endpoints in force without
    consent, whose tenants must consent from now on."""

    before: Intent
    in_force: InForce
    result: PolicyEdit
    effects: Effects
    disconnects: tuple[Disconnect, ...] = ()
    hits: tuple[Hit, ...] = ()
    tests: tuple[Result, ...] = ()
    unconsented: tuple[str, ...] = ()

    @property
    def planned(self) -> str:
        """The mark of the plan: the generation at which it was made, and a digest of its content. Numbers of routes are
        not part of it, because PEs announce and withdraw routes without any change. Takes as long as computing the
        effects."""
        said = {
            "steps": PolicySteps.of(self.result.plan).model_dump(),
            "warnings": [warning.message for warning in self.result.warnings],
            "disconnects": [asdict(one) for one in self.disconnects],
            "leases": [asdict(hit) for hit in self.hits],
            "unconsented": self.unconsented,
            "effects": self.effects.digest,
        }
        return mark(self.before.generation, said)


@dataclass(frozen=True)
class Known:
    """The input of a look: the region, the policy in force, round trips if pools depend on them, and the measured
    values that tests ask for."""

    intent: Intent
    in_force: InForce
    medians: Medians
    measured: Measured


class Application:
    """One attempt to apply a policy, or to find out its effects."""

    def __init__(self, changes: Changes, policy: Policy, text: str, terms: Terms) -> None:
        self.policy, self.text, self.terms = policy, text, terms
        self.row: PolicyRow | None = None
        intent = changes.intent
        self.look = Look(intent, InForce(), PolicyEdit(Plan(), intent), Effects(intent, intent))
        self._changes, self._looked = changes, False

    async def foresee(self, database: Database) -> Look:
        """Return the effects that the policy would have now, before this change's turn, so that other changes do not
        wait. The computation runs outside a transaction, because in a large region it takes longer than the database's
        limit on idle transactions. Raises PolicyInvalid for errors in the policy, failing tests included."""
        async with database.read() as session:
            known = await self._known(session)
        look = await self._work_out(known)
        async with database.read() as session:
            return await self._conclude(session, look)

    async def see(self, session: AsyncSession) -> Look:
        """Return the same inside a transaction: the effects from before with the present leases, or all anew if the
        region has changed since."""
        if not (self._looked and self.look.before is self._changes.intent):
            return await self._conclude(session, await self._work_out(await self._known(session)))
        return await self._conclude(session, self.look)

    async def _known(self, session: AsyncSession) -> Known:
        in_force = await self._changes.policies.load(session)
        rules = self.policy.rules
        told = await measured(session, rules)
        return Known(self._changes.intent, in_force, await medians(session, rules), told)

    async def _work_out(self, known: Known) -> Look:
        return await asyncio.to_thread(self._worked_out, known)

    def _worked_out(self, known: Known) -> Look:
        """Return all effects except those that depend on leases."""
        intent, rules = known.intent, self.policy.rules
        unconsented = tuple(consents.cut_off(intent, rules))
        if self.terms.count_consented:
            intent = consents.counted(intent, unconsented, self.terms.by)
        result = policies.apply(intent, self.policy, known.medians, strict=self.terms.strict)
        if known.in_force.text == self.text:
            result = replace(result, intent=result.intent.but(policy=intent.policy))
        tests, effects = run(self.policy, Proof(result.intent, known.measured)), Effects(known.intent, result.intent)
        if self.terms.planned is not None:
            _ = effects.digest  # computed here, because later all other changes would wait for it
        return Look(known.intent, known.in_force, result, effects, tests=tests, unconsented=unconsented)

    async def _conclude(self, session: AsyncSession, look: Look) -> Look:
        intent, after = look.before, look.result.intent
        devices = await leases.apart(session, losing(intent, after), now())
        was, will = intent.policy.addresses, self.policy.rules.addresses
        held = await leases.held(session, lease_hits.touched(was, will), now())
        cut_off, hits = await asyncio.to_thread(
            lambda: (disconnects(intent, after, devices), lease_hits.hits(was, will, held))
        )
        self.look, self._looked = replace(look, disconnects=tuple(cut_off), hits=tuple(hits)), True
        return self.look

    async def rehearsing(self, session: AsyncSession) -> None:
        """Guard a rehearsal: failing tests refuse it. The plan shows all other obstacles."""
        refuse_failing(await self.see(session))

    async def applying(self, session: AsyncSession) -> None:
        """Guard an application. Raises Problem if a condition of `Terms` does not hold."""
        row = (await self._changes.policies.load(session)).row
        terms = self.terms
        await check_base(session, POLICIES, "policy", row, terms.based_on, terms.back_to)
        look = await self.see(session)
        refuse_failing(look)
        if (planned := terms.planned) is not None and not alike(planned, look.planned):
            raise self._unlike(planned, look)
        if look.unconsented and not (terms.hold_back or terms.count_consented):
            raise self._unconsented(look)
        if look.disconnects and not terms.allow_disconnect:
            raise self._cutting_off(look)

    def edit(self, _intent: Intent) -> Intent:
        """Return the intent under the policy, as last computed."""
        return self.look.result.intent

    async def record(self, session: AsyncSession, intent: Intent) -> None:
        """Store the policy with its change. A policy whose text and effects are in force already is not stored
        again."""
        look = self.look
        if intent.generation == look.before.generation:
            self.row = look.in_force.row
            return
        summary = PolicySteps.of(look.result.plan).model_dump(mode="json")
        name, number, by, back_to = self.policy.file, intent.generation, self.terms.by, self.terms.back_to
        note = rollback_note(back_to) if back_to is not None else ""
        applied = PolicyRow(filename=name, text=self.text, generation=number, summary=summary, note=note)
        self.row = row = await POLICIES.add(session, applied, by)
        text = f"policy {name} is in force as revision {row.id} at generation {number}, by {by}"
        await events.add(session, "policy-applied", name, text, revision=row.id, generation=number, by=by)
        if look.unconsented:
            who = ", ".join(look.unconsented[:MOST]) + ("…" if len(look.unconsented) > MOST else "")
            counted = self.terms.count_consented
            kind, text = ("counted", f"counted as consented by {by}: ") if counted else ("awaited", "held back: ")
            await events.add(session, f"consent-{kind}", name, text + who, endpoints=list(look.unconsented))

    def place(self, one: Disconnect) -> DocumentError:
        """Return the place in the policy that causes a disconnect: the rule that drops, the pool that the policy takes
        apart, or the missing pool."""
        who, how, rules = one.who, one.how, self.policy.rules
        sentence = f"device {who.device} at {who.md} would be cut off from its VM at {who.vm}: {how.why}"
        if how.rule is not None:
            family = self.look.result.intent.vcps[how.vcp].family or how.vcp
            number = [rule.name for rule in rules.access[family]].index(how.rule)
            return self.policy.error(("access", family, number), sentence)
        return self.policy.error(("vcps", how.vcp, "members") if how.vcp in rules.vcps else ("vcps",), sentence)

    def _cutting_off(self, look: Look) -> Problem:
        places = [of_place(self.place(one)) for one in look.disconnects[:200]]
        who = "1 device" if len(look.disconnects) == 1 else f"{len(look.disconnects)} devices"
        detail = f"The policy would cut {who} off from a running VM, which needs allow_disconnect."
        return Problem(409, detail, places, slug="disconnects")

    def _unconsented(self, look: Look) -> Problem:
        endpoints = [look.before.endpoints[name] for name in look.unconsented[:200]]
        places = [of_place(self.policy.error(("tenants", e.tenant or "", "consent"), waiting(e))) for e in endpoints]
        who = "1 endpoint" if len(look.unconsented) == 1 else f"{len(look.unconsented)} endpoints"
        detail = f"The policy would hold {who} back that are in force, which needs hold_back, or count_consented."
        return Problem(409, detail, places, slug="unconsented")

    def _unlike(self, planned: str, look: Look) -> Problem:
        then, here = planned.partition("-")[0], look.before.generation
        how = f" {'with' if self.terms.count_consented else 'without'} count_consented, as this was sent"
        return Problem(
            409,
            f"The plan made at generation {then} does not hold any more: at generation {here}, where the region is "
            f"now, the policy would do something else. Plan again{how if look.unconsented else ''}.",
            slug="plan-changed",
        )


def refuse_failing(look: Look) -> None:
    """Raise PolicyInvalid if tests inside the policy fail."""
    if failing := [test.said for test in look.tests if test.refuses]:
        raise PolicyInvalid(failing)

"""The application of an inventory: decide the effects, refuse or make the change, and store the text with it."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from controller.api.based_on import alike, check_base, mark
from controller.api.cloudlets import speakers
from controller.api.errors import of_place
from controller.changes.inventories import LastApplied
from controller.changes.inventory_steps import InventorySteps
from controller.core import inventories, tokens
from controller.core.clock import now
from controller.core.disconnects import Disconnect, disconnects, losing
from controller.core.effects import Effects
from controller.core.intent import Intent
from controller.core.inventories import Action, InventoryPlan
from controller.core.inventory import Inventory, InventoryInvalid, Objects, named
from controller.core.inventory.kinds import CLOUDLETS, DEVICES, ENDPOINTS, VMS
from controller.core.refusals import conflict
from controller.core.trials import OnTrial
from controller.core.yaml_document.errors import DocumentError
from controller.db import events, holdings, intents, leases
from controller.db.applied_texts import rollback_note
from controller.db.inventories import INVENTORIES, InventoryRow
from controller.db.rehearsals import transaction
from controller.inventory.cloudlets import EnrolmentToken
from controller.inventory.work import Work
from controller.region import Region
from controller.runtime.problems import Problem


@dataclass(frozen=True)
class Terms:
    """The operator's conditions for an inventory. `allow_disconnect`: devices may lose their VMs. `planned`: apply it
    only if the plan still has this mark. `based_on`: apply it only if the inventory in force still has this entity tag.
    `back_to` is the revision that it brings back. `by` is the operator. Both go into the history. `within`: seconds of
    a trial. New tokens are good for `token_seconds`."""

    allow_disconnect: bool = False
    planned: str | None = None
    based_on: str | None = None
    back_to: int | None = None
    by: str = ""
    within: int | None = None
    token_seconds: int = 3600


@dataclass(frozen=True)
class Look:
    """The effects that an inventory would have on a region, which has the objects `held`. `last` is the inventory in
    force."""

    effects: Effects
    last: LastApplied = field(default_factory=LastApplied)
    held: Objects = field(default_factory=dict)
    plan: InventoryPlan = field(default_factory=InventoryPlan)
    disconnects: tuple[Disconnect, ...] = ()

    @property
    def before(self) -> Intent:
        """The intent as it is."""
        return self.effects.before

    @property
    def after(self) -> Intent:
        """The intent under the inventory."""
        return self.effects.after

    @property
    def planned(self) -> str:
        """The mark of the plan: the generation at which it was made, and a digest of its content. The number of objects
        that the inventory leaves alone is not part of it. Takes as long as computing the effects."""
        said = {
            "steps": InventorySteps.of(self.plan).model_dump(mode="json", exclude={"untouched"}),
            "disconnects": [asdict(one) for one in self.disconnects],
            "effects": self.effects.digest,
        }
        return mark(self.before.generation, said)


class Application:
    """One attempt to apply an inventory, or to find out its effects."""

    def __init__(self, region: Region, inventory: Inventory, text: str, terms: Terms) -> None:
        self.inventory, self.text, self.terms = inventory, text, terms
        self.row: InventoryRow | None = None
        self.look = Look(Effects(region.intent, region.intent))
        self._region, self._speakers, self._looked = region, speakers(region), False
        self._work: Work | None = None
        self.tokens: Mapping[str, EnrolmentToken] = {}

    async def foresee(self) -> Look:
        """Return the effects that the inventory would have now, before this change's turn, so that other changes do not
        wait, and outside a transaction, because in a large region this takes longer than the database's limit on idle
        transactions. Raises InventoryInvalid."""
        async with self._region.database.read() as session:
            known = await self._known(session)
        look = await asyncio.to_thread(self._worked_out, *known)
        async with self._region.database.read() as session:
            return await self._conclude(session, look)

    async def rehearse(self) -> None:
        """Do all the work in the database, and undo it. Raises InventoryInvalid with what is refused."""
        look = self.look
        if look.plan.steps:
            async with transaction(self._region.database, dry_run=True) as session:
                work = self._begin()
                await work.before(session, look.before, look.after)
                await intents.save(session, look.before, look.after)
                await work.after(session, look.before, look.after)

    async def see(self, session: AsyncSession) -> Look:
        """Return the same inside a transaction: the effects from before, or all anew if the region has changed since.
        Raises InventoryInvalid."""
        (before, last, held), look = await self._known(session), self.look
        if not (self._looked and look.before is before and look.last is last and look.held == held):
            look = await asyncio.to_thread(self._worked_out, before, last, held)
        return await self._conclude(session, look)

    async def _known(self, session: AsyncSession) -> tuple[Intent, LastApplied, Objects]:
        intent = self._region.intent
        last = await self._region.changes.inventory_drift.inventories.load(session)
        return intent, last, await holdings.held(session, intent)

    def _worked_out(self, before: Intent, last: LastApplied, held: Objects) -> Look:
        plan = inventories.plan(self.inventory, held, last.names)
        if wrong := inventories.fixed(self.inventory, plan):
            raise InventoryInvalid(wrong)
        after, wrong = inventories.follow(self.inventory, plan, before, self._speakers, self._region.fabric.asn)
        if wrong:
            raise InventoryInvalid(wrong)
        effects = Effects(before, after)
        if self.terms.planned is not None:
            _ = effects.digest  # computed here, because later all other changes would wait for it
        return Look(effects, last, held, plan)

    async def _conclude(self, session: AsyncSession, look: Look) -> Look:
        devices = await leases.apart(session, losing(look.before, look.after), now())
        cut_off = await asyncio.to_thread(disconnects, look.before, look.after, devices)
        self.look, self._looked = replace(look, disconnects=tuple(cut_off)), True
        return self.look

    async def looking(self, session: AsyncSession) -> None:
        """Guard a plan, which shows all obstacles."""
        await self.see(session)

    async def checking(self, session: AsyncSession) -> None:
        """Guard a rehearsal. Raises Problem or Refused if a condition of `Terms` does not hold."""
        if (trial := self._region.changes.flow.trial) is not None:
            raise OnTrial(trial)
        row, terms = await INVENTORIES.latest(session), self.terms
        await check_base(session, INVENTORIES, "inventory", row, terms.based_on, terms.back_to)
        look = await self.see(session)
        if terms.planned is not None and not alike(terms.planned, look.planned):
            then, here = terms.planned.partition("-")[0], look.before.generation
            text = (
                f"The plan made at generation {then} does not hold any more: at generation {here}, where the region is "
                "now, the inventory would do something else. Plan again."
            )
            raise Problem(409, text, slug="plan-changed")
        if terms.within is not None:
            self._check_trial(look.plan)
        if look.disconnects and not terms.allow_disconnect:
            raise self._cutting_off(look)

    async def applying(self, session: AsyncSession) -> None:
        """Guard an application, and do the work that comes before the intent is saved."""
        await self.checking(session)
        self._work = self._begin()
        await self._work.before(session, self.look.before, self.look.after)

    def edit(self, _intent: Intent) -> Intent:
        """Return the intent under the inventory, as last computed."""
        return self.look.after

    async def record(self, session: AsyncSession, intent: Intent) -> None:
        """Do the rest of the work, and store the inventory with its change. One whose text is in force and that changes
        nothing is not stored again."""
        look, terms = self.look, self.terms
        if self._work is not None:
            await self._work.after(session, look.before, intent)
        if not look.plan.steps and look.last.row is not None and look.last.row.text == self.text:
            self.row = look.last.row
            return
        steps, name, by = InventorySteps.of(look.plan), self.inventory.file, terms.by
        applied = InventoryRow(
            filename=name,
            text=self.text,
            generation=intent.generation,
            summary=steps.model_dump(mode="json"),
            note=rollback_note(terms.back_to) if terms.back_to is not None else "",
            names=named(self.inventory.objects),
        )
        self.row = row = await INVENTORIES.add(session, applied, by)
        text = f"inventory {name} was applied as revision {row.id} by {by}: {steps.sentence()}"
        await events.add(session, "inventory-applied", name, text, revision=row.id, generation=intent.generation, by=by)

    def told(self) -> None:
        """Tell others about objects of which the flow of changes does not know."""
        sections = {step.section for step in self.look.plan.steps}
        if VMS in sections:
            self._region.migration.vms.told()
        if self.look.plan.those(Action.REMOVE, CLOUDLETS):
            self._region.identity.revocations.changed()
        self._region.runtime.wakeup.ring()

    def place(self, one: Disconnect) -> DocumentError:
        """Return the place in the inventory of the endpoint of a disconnect that it names."""
        who = one.who
        sentence = f"device {who.device} at {who.md} would be cut off from its VM at {who.vm}: {one.how.why}"
        named_there = [name for name in (who.vm, who.md) if name in self.inventory.objects[ENDPOINTS]]
        return self.inventory.error((ENDPOINTS, *named_there[:1]), sentence)

    def _begin(self) -> Work:
        """Return the work, with new tokens for the cloudlets that it makes."""
        expires: datetime = now() + timedelta(seconds=self.terms.token_seconds)
        made = ((s.name, s.fields) for s in self.look.plan.those(Action.CREATE, CLOUDLETS))
        self.tokens = {
            name: EnrolmentToken(tokens.new_secret(), expires, fields.get("approval", False))
            for name, fields in made
            if not fields.get("unmanaged", False)
        }
        return Work(self.inventory, self.look.plan, self._region.leases.renumbering, self.tokens)

    def _check_trial(self, plan: InventoryPlan) -> None:
        others = [step for step in plan.steps if step.section in (DEVICES, VMS)]
        others += [step for step in plan.those(Action.CHANGE, CLOUDLETS) if "approval" in step.fields]
        if others:
            one = others[0]
            raise conflict(
                f"{one.noun} {one.name} cannot be on trial: apply what concerns it by itself, without a trial"
            )

    def _cutting_off(self, look: Look) -> Problem:
        places = [of_place(self.place(one)) for one in look.disconnects[:200]]
        who = "1 device" if len(look.disconnects) == 1 else f"{len(look.disconnects)} devices"
        detail = f"The inventory would cut {who} off from a running VM, which needs allow_disconnect."
        return Problem(409, detail, places, slug="disconnects")

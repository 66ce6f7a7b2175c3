"""A LAN with its clients and an agent that reaches one controller, the other, or none."""

import asyncio
from collections.abc import Sequence

import pytest

from agents.leases.pair import Kind
from controller.core.intent import Cloudlet, CloudletState, Endpoint
from controller.wire.delegations import Client, Exchange, Exchanged
from controller.wire.flavours import Flavour
from tests.unit.leases.replica import Replica
from tests.unit.leases.world import SECONDS, Disk, World


class Site(World):
    """A World with several controllers. `partition` is the number of rounds for which the agent reaches none."""

    def __init__(self, number: int, url: str, patch: pytest.MonkeyPatch, clients: int) -> None:
        super().__init__(url, patch, clients)
        self.cloudlet = Cloudlet(f"c{number}", Flavour.VPLS, f"192.0.2.{number}", CloudletState.ACTIVE, f"x{number}")
        self.lan = f"c{number}-lan"
        lan, gateway = f"10.{number}.0.0/26", f"10.{number}.0.1"
        self.endpoint = Endpoint(self.lan, self.cloudlet.name, number, 1, lan, gateway, lease_seconds=SECONDS)
        self.partition = 0
        self._promised: dict[int, str] = {}

    def send(self, ask: list[Client]) -> Exchange:
        """Return the agent's next exchange."""
        self.book.tidy(self.clock)
        self.turn += 1
        sent = self.account.exchange(self.lan, self.turn, ask, self.clock)
        self.save()
        return Exchange.model_validate_json(sent.model_dump_json())

    async def tell(self, replicas: Sequence[Replica], ask: list[Client]) -> list[Exchanged]:
        """Send an exchange to each of the replicas. The agent receives one of the answers, unless it has died or tried
        again before; all answers are returned."""
        sent, account = self.send(ask), self.account
        answers = await asyncio.gather(*(replica.exchange(self.endpoint, sent) for replica in replicas))
        found = [answer for answer in answers if answer is not None]
        if found and self.account is account and self.turn == sent.turn:
            account.hear(sent, found[0], self.clock)
            self.save()
        return found

    def restart(self, how: str) -> None:
        """Restart the agent. `how`: the agent is "killed"; or the machine loses "power", and nothing proves the journal
        until it is written to; or it loses its "disk" as well."""
        if how == "disk":
            self.disk = Disk()
        if how != "killed":
            self.booted, self.proof = self.time - 5, self.disk.writes + 1
        self.start_agent(proven=True)

    def want(self, number: int, what: str, fate: str) -> None:
        """Let a client ask; `fate` is the fate of the answer (`World.request`)."""
        machine = self.machines[number]
        live = machine.holds if machine.until > self.time else None
        if what == "release":
            if live is not None:
                self.release(machine)
            return
        asked = {"discover": self.offer(machine), "renew": live, "reboot": machine.remembers}[what]
        if asked is None:
            return
        if what == "discover" and machine.holds != asked:
            machine.holds = None
        before = machine.until
        self.request(machine, asked, renewing=what == "renew", fate=fate)
        if machine.until != before:
            sure = self.book.pairs[asked[0]].confirmed
            self._promised[number] = self.book.incarnation if sure else ""

    def told(self) -> dict[tuple[int, Kind], str | None]:
        """Return the client's MAC of each lease that the agent has answered, as far as the agent remembers it and is
        sure of it. (A VM that came before it was registered counts when it renews: `test_once.py`.)"""
        found: dict[tuple[int, Kind], str | None] = {}
        for machine in self.machines:
            mine = self._promised.get(machine.number) == self.book.incarnation
            if mine and machine.holds is not None and machine.until > self.time:
                found[machine.holds] = machine.client.mac
        for pair in self.book.pairs.values():
            for kind, half in pair.halves.items():
                if pair.confirmed and half.client is not None and half.until > self.clock:
                    found[pair.number, kind] = half.client.mac
        known = {machine.client.mac: machine.registered for machine in self.machines}
        return {half: mac for half, mac in found.items() if (known[mac] or half)[1] == half[1]}

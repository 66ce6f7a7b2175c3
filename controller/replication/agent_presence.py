"""The presence of agents. Each agent is connected to one replica; that replica tells the others where the agent is and
which generation it has proved."""

import asyncio
import logging

from controller.agents.registry import Agents, Elsewhere
from controller.core.unavailable import Unavailable
from controller.db import agent_presence as table
from controller.db.agent_presence import Seen
from controller.db.engine import Database
from controller.replication.replicas import Replicas
from controller.runtime.service import forever
from controller.wire.reports import Report

log = logging.getLogger(__name__)

KIND = "agents"

RETRY = 1.0
"""Seconds between two attempts to write news to the database."""


class AgentPresence:
    """Shares this replica's knowledge of agents with the other replicas, by the database."""

    def __init__(self, agents: Agents, replicas: Replicas, database: Database) -> None:
        self._agents, self._replicas, self._database = agents, replicas, database
        replicas.hear[KIND] = self._hear
        replicas.look.append(self._look)

    def connected(self, cloudlet: str) -> bool:
        """Return whether the cloudlet's agent is connected, here or to a replica that is alive."""
        there = self._agents.elsewhere.get(cloudlet)
        return self._agents.of(cloudlet).connected or (
            there is not None and there.replica is not None and self._replicas.alive(there.replica)
        )

    async def report(self, cloudlet: str) -> Report | None:
        """Return the last report of the cloudlet's agent, whichever replica it is connected to."""
        return (await self.reports([cloudlet])).get(cloudlet)

    async def reports(self, cloudlets: list[str]) -> dict[str, Report]:
        """Return the last reports of agents, whichever replicas they are connected to."""
        here = {name: self._agents.of(name) for name in cloudlets}
        found = {name: agent.report for name, agent in here.items() if agent.report and agent.connected}
        away = [name for name in cloudlets if name not in found]
        if away and not self._replicas.alone:
            async with self._database.read() as session:
                kept = await table.reports(session, away)
            found |= {name: Report.model_validate_json(text) for name, text in kept.items()}
        return {name: agent.report for name, agent in here.items() if agent.report} | found

    async def run(self) -> None:
        """Write news of agents to the database at once, until cancelled."""
        if self._replicas.alone:
            return await forever()
        while True:
            await self._agents.stir.wait()
            news = self._agents.take_news()
            try:
                async with self._database.write() as session:
                    await table.note(session, self._replicas.name, news)
                    await self._replicas.say(session, KIND, (_word(name, seen) for name, seen in news.items()))
            except Unavailable as away:
                log.warning("%d agents cannot be written down yet: %s", len(news), away)
                await asyncio.sleep(RETRY)
                self._agents.tell_again(news)

    def _hear(self, who: str, words: list[str]) -> None:
        for word in words:
            name, sign, proved = word.rpartition("+") if "+" in word else word.rpartition("=")
            place = who if sign == "+" else None
            there = self._agents.elsewhere.get(name)
            if place is None and there is not None and there.replica not in (None, who):
                place = there.replica  # it is connected to another replica already
            self._agents.learn(name, Elsewhere(place, int(proved)))

    async def _look(self) -> None:
        """Read where all agents are, and tell the others of this replica's own agents, after a time in which nothing
        was heard."""
        self._agents.tell_all()
        async with self._database.write() as session:
            await table.clear(session, self._replicas.name)
            known = await table.load(session)
        for name, (replica, proved) in known.items():
            self._agents.learn(name, Elsewhere(replica, proved))


def _word(name: str, seen: Seen) -> str:
    return f"{name}{'+' if seen.connected else '='}{seen.proved}"

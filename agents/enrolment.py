"""The first start: the one-time token becomes a credential. Neither is ever logged."""

import asyncio
import logging
from pathlib import Path

from agents.backoff import Backoff
from agents.controller import Controller, ControllerAway, ControllerRefused
from agents.state import State
from controller.wire.enrolments import EnrolmentRequest

log = logging.getLogger(__name__)


class EnrolmentError(Exception):
    """The agent has no credential and cannot get one. The text is for people."""


async def credential(controller: Controller, state: State, cloudlet: str, token_file: Path, version: str) -> str:
    """The credential kept from before, or a new one for the token in `token_file`. Waits for a controller that is
    away. Raises EnrolmentError when there is no token or the controller refuses it."""
    kept = state.credential()
    if kept is not None:
        return kept
    try:
        token = token_file.read_text().strip()
    except OSError as error:
        raise EnrolmentError(f"token_file {token_file}: {error.strerror}; an operator can issue a token") from error
    if not token:
        raise EnrolmentError(f"token_file {token_file}: is empty; an operator can issue a token")
    request = EnrolmentRequest(token=token, cloudlet=cloudlet, agent_version=version)
    backoff, waiting = Backoff(), False
    while True:
        try:
            enrolment = await controller.enrol(request)
        except ControllerRefused as refused:
            raise EnrolmentError(f"the controller refused the token for cloudlet {cloudlet}: {refused}") from refused
        except ControllerAway as away:
            if not waiting:
                log.warning("enrolment: controller: %s; trying on", away)
            waiting = True
            await asyncio.sleep(backoff.delay())
            continue
        state.save_credential(enrolment.credential)
        log.info("enrolled as %s (%s)", enrolment.cloudlet, enrolment.state)
        return enrolment.credential

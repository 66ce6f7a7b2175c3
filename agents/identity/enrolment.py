"""The first start: the one-time token is traded for a credential. Neither is ever logged."""

import asyncio
import logging
from pathlib import Path

from agents.backoff import Backoff
from agents.controller.client import Controller, ControllerAway, ControllerRefused
from agents.identity import Identity
from agents.identity.x509 import Foreign, Unfit
from agents.storage.state import StateDirectory
from controller.wire.enrolments import Enrolment, EnrolmentRequest

log = logging.getLogger(__name__)


class EnrolmentError(Exception):
    """The agent has no credential and cannot get one. The text is for users."""


async def credential(
    controller: Controller, state: StateDirectory, identity: Identity, cloudlet: str, token_file: Path, version: str
) -> str:
    """Return the credential of an earlier start, or trade the token in `token_file` for a new one and a first
    certificate. Waits for a controller that is away. Raises EnrolmentError when there is no token or the controller
    refuses it."""
    kept = state.credential()
    if kept is not None:
        return kept
    try:
        token, _, fingerprint = token_file.read_text().strip().partition(".")
    except OSError as error:
        raise EnrolmentError(f"token_file {token_file}: {error.strerror}; an operator can issue a token") from error
    if not token:
        raise EnrolmentError(f"token_file {token_file}: is empty; an operator can issue a token")
    if controller.tls and not fingerprint and identity.trusted is None:
        raise EnrolmentError(
            f"token_file {token_file}: does not say whom to trust, and identity/authorities.pem is not in the state "
            "directory; make a token with a controller that issues certificates, or put its root there"
        )
    proposed = state.proposed()
    csr = identity.request(again=proposed is not None)
    wanted = proposed or state.propose()
    request = EnrolmentRequest(token=token, cloudlet=cloudlet, agent_version=version, csr=csr, credential=wanted)
    backoff, waiting = Backoff(), False
    while True:
        try:
            if fingerprint:
                await identity.meet(fingerprint)
            enrolment = await controller.enrol(request)
            _take(identity, enrolment)  # before the credential is kept: an impostor's is never used
        except Unfit as unfit:
            raise EnrolmentError(f"the controller is not the one that the token is from: {unfit}") from unfit
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


def _take(identity: Identity, enrolment: Enrolment) -> None:
    """Keep the first certificate, if the controller sent one. Raises Foreign if it leads to a root that is not
    trusted."""
    if enrolment.certified is None:
        return
    try:
        identity.take(enrolment.certified)
    except Foreign:
        raise
    except Unfit as unfit:  # the agent asks for it again later
        log.warning("the first certificate is of no use: %s", unfit)

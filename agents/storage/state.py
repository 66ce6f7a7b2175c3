"""The agent's state directory: credential, last desired state, leases. Each file is replaced as a whole, mode 0600."""

import json
import secrets
import shutil
from pathlib import Path

from pydantic import ValidationError

from agents.storage import durable
from controller.wire.desired import Desired


class StateError(Exception):
    """Raised when the directory cannot be used. The text names the file."""


class StateDirectory:
    """The files of one cloudlet below `directory`, which is created if it does not exist."""

    def __init__(self, directory: Path, cloudlet: str) -> None:
        self._directory, self._cloudlet = directory, cloudlet
        self._readers: str | None = None
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StateError(f"state_dir {directory}: {error.strerror}") from error

    def open_to(self, readers: str | None) -> None:
        """Let the group `readers` read the directory and every file in it, from now on; None: no group may. Raises
        StateError."""
        self._readers = readers
        for path in (self._directory, *self._directory.iterdir()):
            self._share(path)

    def _share(self, path: Path) -> None:
        try:
            if self._readers is not None:
                shutil.chown(path, group=self._readers)
            mode = 0o750 if path.is_dir() else 0o640
            path.chmod(mode if self._readers is not None else mode & 0o700)
        except LookupError:
            raise StateError(f"identity_group: there is no group {self._readers}") from None
        except OSError as error:
            whom = f" for group {self._readers}" if self._readers else ""
            raise StateError(f"{path}: cannot be opened{whom}: {error.strerror}") from error

    def credential(self) -> str | None:
        """Return the credential of the enrolment, None before it. Raises StateError if the file belongs to another
        cloudlet."""
        text = self.read("credential.json")
        if text is None:
            return None
        path = self._directory / "credential.json"
        try:
            document = json.loads(text)
            cloudlet, credential = str(document["cloudlet"]), str(document["credential"])
        except (ValueError, KeyError, TypeError) as error:
            raise StateError(f"{path}: not a credential; remove it and enrol with a new token") from error
        if cloudlet != self._cloudlet:
            raise StateError(f"{path}: belongs to cloudlet {cloudlet}, not {self._cloudlet}")
        return credential

    def save_credential(self, credential: str) -> None:
        """Store the credential for restarts."""
        self.write("credential.json", json.dumps({"cloudlet": self._cloudlet, "credential": credential}))
        self.remove("proposed")

    def proposed(self) -> str | None:
        """Return the credential with which an enrolment was begun and whose result is not known yet."""
        return self.read("proposed")

    def propose(self) -> str:
        """Return a new credential to enrol with. It is stored until a credential is saved: if the answer is lost, the
        agent can ask for it again, also after a restart."""
        proposed = secrets.token_urlsafe(32)
        self.write("proposed", proposed)
        return proposed

    def desired(self) -> Desired | None:
        """Return the last desired state; None if there is none that this version understands."""
        text = self.read("desired.json")
        try:
            desired = Desired.model_validate_json(text) if text is not None else None
        except ValidationError:
            return None
        return desired if desired is not None and desired.cloudlet == self._cloudlet else None

    def save_desired(self, desired: Desired) -> None:
        """Store the desired state for a start without the controller."""
        self.write("desired.json", desired.model_dump_json())

    def read(self, name: str) -> str | None:
        """Return the text of one file; None if it does not exist."""
        path = self._directory / name
        try:
            return path.read_text()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateError(f"{path}: {error.strerror}") from error

    def remove(self, name: str) -> None:
        """Remove one file, if it exists."""
        path = self._directory / name
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StateError(f"{path}: {error.strerror}") from error

    def write(self, name: str, text: str) -> None:
        """Replace one file; a crash leaves the old file or the new file."""
        path = self._directory / name
        try:
            durable.replace(path, text, ready=self._share if self._readers is not None else None)
        except OSError as error:
            raise StateError(f"{path}: {error.strerror}") from error

"""New files for the secrets that a controller tells once. They are made before the change: none is told in vain."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule


class NewSecrets:
    """New files, readable by their owner alone. Those that get no secret do not stay."""

    def __init__(self, module: AnsibleModule, option: str, files: dict[str, Path]) -> None:
        self._files: dict[str, Path] = {}
        for name, file in files.items():
            try:
                os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            except OSError as error:
                self.close()
                module.fail_json(msg=f"{option}: cannot make {file}: {error.strerror}")
            self._files[name] = file

    def __enter__(self) -> NewSecrets:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, secrets: dict[str, str]) -> list[str]:
        """Write the secrets that have a file; return their names."""
        written = sorted(self._files.keys() & secrets.keys())
        for name in written:
            self._files.pop(name).write_text(secrets[name] + "\n")
        return written

    def close(self) -> None:
        """Remove the files without a secret."""
        for file in self._files.values():
            with suppress(FileNotFoundError):
                file.unlink()
        self._files = {}

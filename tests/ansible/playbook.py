"""Playbooks with tasks of the collection `weft.weft`, built and installed as its users do, run on this machine."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.house.imports import ROOT

TOOLS = ROOT / "build" / "ansible" / "bin"
"""The programs of `make ansible`."""

COLLECTION = ROOT / "deploy" / "ansible"
Json = dict[str, Any]


@dataclass(frozen=True)
class Played:
    """A playbook's output and the results of its tasks, in their order."""

    output: str
    results: list[Json]

    @property
    def changed(self) -> list[bool]:
        """Whether each task has changed something."""
        return [bool(result["changed"]) for result in self.results]

    @property
    def failures(self) -> list[str]:
        """The errors of the tasks that failed."""
        return [str(result["msg"]) for result in self.results if result["failed"]]

    @property
    def message(self) -> str:
        """The error of the first task that failed."""
        return next(str(result["msg"]) for result in self.results if result["failed"])


class Ansible:
    """Ansible with the collection. `folder` gets the collection and all files; `environment` goes to the modules."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self._folder = folder
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("WEFT_", "ANSIBLE_", "PYTHON"))},
            "ANSIBLE_COLLECTIONS_PATH": str(folder / "collections"),
            "ANSIBLE_HOME": str(folder / "home"),
            "ANSIBLE_REMOTE_TEMP": str(folder / "tmp"),
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_NOCOLOR": "true",
            "LC_ALL": "C.UTF-8",
            **environment,
        }

    def install(self) -> None:
        """Build the collection, and install it from its archive."""
        built = self._folder / "built"
        self.call("ansible-galaxy", "collection", "build", "--output-path", str(built), str(COLLECTION))
        [archive] = built.glob("weft-weft-*.tar.gz")
        where = str(self._folder / "collections")
        self.call("ansible-galaxy", "collection", "install", "--offline", "--collections-path", where, str(archive))

    def call(self, program: str, *words: str) -> str:
        """Run a program of Ansible; return its output."""
        done = subprocess.run(
            [str(TOOLS / program), *words], env=self.environment, capture_output=True, text=True, cwd=self._folder
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def play(self, *tasks: tuple[str, Json], check: bool = False) -> Played:
        """Run a playbook with these tasks, each a module of the collection and its options."""
        names = [f"result_{number}" for number in range(len(tasks))]
        steps: list[Json] = [
            {f"weft.weft.{module}": options, "register": name, "ignore_errors": True}
            for name, (module, options) in zip(names, tasks, strict=True)
        ]
        results = self._folder / "results.json"
        content = "{{ [" + ", ".join(names) + "] | to_json }}"
        steps.append({"ansible.builtin.copy": {"content": content, "dest": str(results)}, "check_mode": False})
        steps[-1] |= {"diff": False, "no_log": True}
        own = {"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"}
        play = {"hosts": "localhost", "gather_facts": False, "vars": own, "tasks": steps}
        file = self._folder / "playbook.yaml"
        file.write_text(json.dumps([play]))
        words = ["--inventory", "localhost,", "--diff", "-vvv", *(["--check"] if check else [])]
        output = self.call("ansible-playbook", *words, str(file))
        assert "Traceback" not in output, output
        return Played(output, json.loads(results.read_text()))

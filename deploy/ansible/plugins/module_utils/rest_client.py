"""The client of a controller's REST API, on Ansible's own HTTP alone. Refusals end the module with the field at fault
and the controller's remedy."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

from ansible.module_utils.basic import AnsibleModule, env_fallback
from ansible.module_utils.urls import fetch_url

Json = dict[str, Any]

OPTIONS: Json = {
    "url": {"type": "str", "default": "unix:///run/weft/controller.sock", "fallback": (env_fallback, ["WEFT_URL"])},
    "token": {"type": "str", "no_log": True, "fallback": (env_fallback, ["WEFT_TOKEN"])},
    "token_file": {"type": "path", "no_log": False, "fallback": (env_fallback, ["WEFT_TOKEN_FILE"])},
    "root_file": {"type": "path", "fallback": (env_fallback, ["WEFT_ROOT_FILE"])},
    "timeout": {"type": "int", "default": 60},
}
"""The options that say where the controller is. Their documentation is the fragment `connection`."""

ATTEMPTS = 3
"""A change has one Idempotency-Key in all attempts, so that the controller makes it once."""

LONGEST = 10
"""The longest wait in seconds that the controller may ask for before another attempt."""


class RestClient:
    """A conversation with a controller. Every method ends the module if the controller refuses."""

    def __init__(self, module: AnsibleModule) -> None:
        self._module = module
        self._base, self._socket = self._place(str(module.params["url"]))
        self._headers = {"Accept": "application/json"}
        if token := self._token():
            module.no_log_values.add(token)
            self._headers["Authorization"] = f"Bearer {token}"

    def find(self, *names: str) -> tuple[Json | None, str | None]:
        """Return an object and its entity tag; None for both if there is no such object."""
        status, body, etag = self._send("GET", path(*names))
        if status == 404:
            return None, None
        return self._checked(status, body), etag

    def get(self, *names: str) -> Json:
        """Return an object that is there."""
        status, body, _ = self._send("GET", path(*names))
        return self._checked(status, body)

    def change(
        self, method: str, *names: str, body: Json | None = None, etag: str | None = None, **query: object
    ) -> Json:
        """Make a change, if the object still has that entity tag. Return the answer."""
        data = json.dumps(body).encode() if body is not None else None
        status, answer, _ = self._send(method, path(*names), query, data, "application/json", etag)
        return self._checked(status, answer)

    def send_text(self, *names: str, text: str, etag: str | None = None, **query: object) -> Json:
        """Send a policy or an inventory. Return the answer."""
        status, answer, _ = self._send("POST", path(*names), query, text.encode(), "application/yaml", etag)
        return self._checked(status, answer)

    def _send(
        self,
        method: str,
        where: str,
        query: Json | None = None,
        data: bytes | None = None,
        media_type: str = "",
        etag: str | None = None,
    ) -> tuple[int, Any, str | None]:
        given = {key: _said(value) for key, value in (query or {}).items() if value is not None}
        url = f"{self._base}{where}" + (f"?{urlencode(given)}" if given else "")
        headers = dict(self._headers)
        if data is not None:
            headers["Content-Type"] = media_type
        if etag is not None:
            headers["If-Match"] = etag
        if method != "GET" and given.get("dry_run") != "true":
            headers["Idempotency-Key"] = str(uuid4())
        for attempt in range(ATTEMPTS):
            response, info = fetch_url(
                self._module,
                url,
                data=data,
                headers=headers,
                method=method,
                timeout=self._module.params["timeout"],
                unix_socket=self._socket,
                use_proxy=self._socket is None,
                ca_path=self._module.params["root_file"],
                use_netrc=False,
            )
            if not self._again(info, "Idempotency-Key" in headers or method == "GET") or attempt == ATTEMPTS - 1:
                break
        if info["status"] < 0:
            self._module.fail_json(msg=f"no controller at {self._module.params['url']}: {info['msg']}")
        text = response.read() if response is not None and info["status"] < 400 else info.get("body") or b""
        try:
            body = json.loads(text) if text else {}
        except ValueError:
            body = None
        return info["status"], body, info.get("etag")

    def _again(self, info: Json, repeatable: bool) -> bool:
        """Wait as long as the controller asks for. Return whether the request is sent again."""
        asked = str(info.get("retry-after", ""))
        if not repeatable or info["status"] not in (429, 503) or not asked.isdecimal() or int(asked) > LONGEST:
            return False
        time.sleep(int(asked))
        return True

    def _checked(self, status: int, body: Any) -> Json:
        where = self._module.params["url"]
        if not isinstance(body, dict):
            self._module.fail_json(msg=f"{where} answered with something that is not JSON of Weft: is it Weft?")
        if status >= 400:
            self._module.fail_json(msg=refusal(status, body), status=status, problem=body)
        found: Json = body
        return found

    def _place(self, url: str) -> tuple[str, str | None]:
        """Return the beginning of URLs, and the path of the socket, if it is one."""
        parts = urlsplit(url)
        if parts.scheme == "unix" and parts.path and not parts.netloc:
            return "http://controller", parts.path
        if parts.scheme in ("http", "https") and parts.hostname and not parts.username:
            return url.rstrip("/"), None
        self._module.fail_json(msg=f"url: {url!r} is not a controller's URL: unix:///PATH or https://HOST:PORT")
        raise AssertionError

    def _token(self) -> str:
        params = self._module.params
        if params["token"] or not params["token_file"]:
            return str(params["token"] or "").strip()
        try:
            return Path(params["token_file"]).read_text(encoding="ascii").strip()
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not text"
            self._module.fail_json(msg=f"token_file: cannot read {params['token_file']}: {reason}")
            raise AssertionError from None


def path(*names: str) -> str:
    """Return a path below /api/v1 made of names, each quoted whole."""
    return "/api/v1/" + "/".join(quote(name, safe="") for name in names)


def refusal(status: int, problem: Json) -> str:
    """Return the sentence of a problem (RFC 9457), with each field at fault."""
    detail = str(problem.get("detail") or problem.get("title") or f"refused with status {status}")
    found = [error for error in problem.get("errors") or [] if isinstance(error, dict) and error.get("message")]
    if len(found) == 1 and found[0]["message"] == detail:
        return f"{_place_of(found[0])}{detail}"
    lines = [f"{_place_of(error)}{error['message']}" for error in found]
    return "; ".join([detail, *(line for line in lines if line not in detail)])


def _place_of(error: Json) -> str:
    if "line" in error:
        return f"{error.get('file')}:{error['line']}:{error.get('column')}: "
    return f"{error['field']}: " if error.get("field") else ""


def _said(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

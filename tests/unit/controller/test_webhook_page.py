"""The receiver of docs/operate/webhooks.md works as it stands."""

import asyncio
import re
import socket
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from controller.core.webhook_secrets import fresh
from lab.patience import eventually
from tests.house.imports import ROOT
from tests.unit.controller.conftest import Start

PAGE = (ROOT / "docs/operate/webhooks.md").read_text()


def receiver(port: int) -> str:
    """Return the page's program, with another port."""
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert code.count("9000") == 1
    return str(code).replace("9000", str(port))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_the_page_s_receiver_takes_what_is_signed_and_nothing_else(start: Start, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    secret = fresh()
    (tmp_path / "chat.secret").write_text(secret + "\n")
    (tmp_path / "key").write_text("a-secret-of-at-least-32-bytes-of-text")
    (tmp_path / "key").chmod(0o600)
    with (tmp_path / "out").open("wb") as out, (tmp_path / "errors").open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", receiver(port), cwd=tmp_path, stdout=out, stderr=errors
        )
        try:
            async with start(webhook_key_file=tmp_path / "key") as controller:
                body = {"name": "chat", "url": f"http://localhost:{port}/weft", "secret": secret}
                await controller.post("/webhooks", body)

                async def taken() -> Any:
                    return (await controller.post("/webhooks/chat/test", status=200))["delivered"]

                await eventually(taken, pause=0.2)
                said = (tmp_path / "out").read_text()
                assert "weft.webhook-test a test of webhook chat" in said
                forged = {"webhook-id": "1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}
                with pytest.raises(httpx.TransportError):
                    await controller.http.post(f"http://127.0.0.1:{port}/weft", json={"id": "forged"}, headers=forged)
                assert "forged" not in (tmp_path / "out").read_text()
                assert "WebhookVerificationError" in (tmp_path / "errors").read_text()
        finally:
            process.terminate()
            await process.wait()

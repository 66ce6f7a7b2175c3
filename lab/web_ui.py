"""The web UI of the lab's controller, for a browser on this machine."""

import subprocess
import sys
from pathlib import Path

from lab import window
from lab.errors import LabError
from lab.paths import BUILD, LAB
from lab.rest import Rest
from lab.secret import secret
from lab.watch import Watch

BUILT = BUILD / "ui" / "index.html"
URL, TOKEN = LAB / "ui.url", LAB / "ui.token"


def settings(directory: Path, address: str) -> dict[str, str]:
    """Return the settings by which a controller shows its web UI at an address of its node; none if `make ui` has not
    run. Make its certificate. Raises LabError."""
    if not BUILT.is_file():
        return {}
    certificate, key = directory / "ui.pem", directory / "ui-key.pem"
    if not key.exists():
        names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
        argv = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "30",
        ]
        argv += ["-subj", "/CN=localhost", "-addext", names, "-keyout", str(key), "-out", str(certificate)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LabError(f"openssl makes no certificate: {done.stderr.strip()}", "lab/provision")
    return {
        "WEFT_UI_LISTEN": f"{address}:{window.PORT}",
        "WEFT_UI_CERTIFICATE": str(certificate),
        "WEFT_UI_KEY": str(key),
    }


def program(address: str) -> list[str]:
    """Return the command line of the way to the UI (lab/window.py) in the controller's namespace."""
    return [sys.executable, "-m", "lab.window", address, str(window.PORT), str(URL)]


def opened(watch: Watch) -> str:
    """Wait until browsers can reach the UI, make a token, and return the sentence that says both. Raises LabError."""
    watch.wait(URL.is_file, 10, "no way leads to the web UI")
    with Rest() as rest:
        secret(TOKEN, str(rest.post("/tokens", {"name": "lab-browser", "role": "admin"})["token"]))
    return f"web UI: {address()}, with the token in {TOKEN}; its certificate is the lab's own"


def address() -> str | None:
    """Return the address of the UI on this machine; None if the lab has none."""
    return URL.read_text().strip() if URL.is_file() else None

"""The lab's paths: logs and state below `build/lab`, sockets below `/run/weft-lab` while it is up."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
BIN = BUILD / "bin"
LAB = BUILD / "lab"
GUESTS = BUILD / "guests"
STATE = LAB / "state.json"
ENV = BUILD / "env"

RUN = Path("/run/weft-lab")
SOCKET = RUN / "controller.sock"
LOCK = Path("/run/weft-lab.lock")

"""The start of the `weft` command. Loading it takes a while, and Ctrl-C must be as quiet then as later."""

import signal


def main() -> None:
    """Load and run the command."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from controller.cli.main import main as weft

    signal.signal(signal.SIGINT, signal.default_int_handler)
    weft()

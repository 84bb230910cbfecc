"""Where the command line begins: what a Ctrl-C does before there is anything to clean up."""

from __future__ import annotations

import signal


def main() -> int:
    # Most of a short verb's time is imports. Interrupted there, Python would show a traceback;
    # the signal's own way ends as quietly and with the same exit code. Where it is ignored, as
    # under nohup, that stays.
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from sonde.cli.main import main as run

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()

"""Entry point of the ``jetode`` command: Ctrl-C ends even its imports without a traceback."""

from __future__ import annotations

import signal
import sys
from threading import Timer
from typing import Any


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from jetode.cli.main import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.unraisablehook = _not_lost
    run()


def _not_lost(lost: Any) -> None:
    """Ctrl-C within a finaliser (numba has many), where Python would print and forget it, comes again after it."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        again = Timer(0.01, signal.raise_signal, [signal.SIGINT])  # here it would be lost once more
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(lost)


if __name__ == "__main__":
    main()

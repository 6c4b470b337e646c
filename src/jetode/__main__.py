"""Entry point of the ``jetode`` command: Ctrl-C ends even its imports without a traceback."""

from __future__ import annotations

import signal


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from jetode.cli.main import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()

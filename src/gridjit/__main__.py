"""The command `gridjit`; see `gridjit --help`. An interrupt ends it silently, with status 130."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command, and return its exit status; its modules are imported here, where interrupts are expected."""
    try:
        from gridjit.commands import main as run
        from gridjit.commands.printing import show_warnings_as_lines

        show_warnings_as_lines()
        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())

"""The command `gridjit`; see `gridjit --help`."""

from __future__ import annotations

import sys

from gridjit.commands import main

if __name__ == "__main__":
    sys.exit(main())

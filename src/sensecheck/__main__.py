"""`python -m sensecheck` is the command `sensecheck`."""

import sys

from sensecheck.cli import main

sys.exit(main())

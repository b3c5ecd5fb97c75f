"""The questions that can be asked: a room registers itself by its line here, and nowhere else.

The order is the one in which they are shown. A room's own module holds one sentence and nothing heavy: `evaluate` and
`QUESTION` are imported when they are first used. Rooms of other installed packages are met through their entry points
in the group `sensecheck.instruments` (docs/extending.md).
"""

# isort: off
from sensecheck import faithful as faithful
from sensecheck import correct as correct
from sensecheck import diverse as diverse
from sensecheck import robust as robust
from sensecheck import calibrated as calibrated

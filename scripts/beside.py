"""Let this interpreter import from our source and from another environment as well, behind its own packages."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

source, environment = (Path(place).resolve() for place in sys.argv[1:3])
own = Path(sysconfig.get_path("purelib"))
others = environment / own.relative_to(Path(sys.prefix).resolve())
(own / "beside.pth").write_text(f"{source}\n{others}\n")

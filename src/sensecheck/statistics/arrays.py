"""Names for the kinds of arrays that sums, draws and bins are made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Indexes = NDArray[np.intp]
Flags = NDArray[np.bool_]
U64 = NDArray[np.uint64]

"""Arrays by the type of their numbers, for annotations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Arrays = dict[str, NDArray[Any]]  # by name

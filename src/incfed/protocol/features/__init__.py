"""What only some federations have, each in a file of its own."""

from .base import Feature
from .lagging import Lagging
from .noise import NoisyUploads
from .presence import Presence
from .reports import Reports
from .share_from import ShareFrom
from .streaming import Streaming
from .trust_scores import TrustScores
from .upload_limits import UploadLimits

# In the order in which they take part in a round.
FEATURES: list[type[Feature]] = [
    Lagging,
    Presence,
    Reports,
    ShareFrom,
    NoisyUploads,
    Streaming,
    UploadLimits,
    TrustScores,
]

__all__ = ["FEATURES", "Feature"]

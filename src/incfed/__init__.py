"""Incentivized federated bandits: clients learn together, and share when it pays.

Names are imported on first use, so that `import incfed` and the command line start at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._version import __version__ as __version__

if TYPE_CHECKING:
    from .algorithms import Algorithm as Algorithm
    from .algorithms import AsyncLinUCB as AsyncLinUCB
    from .algorithms import Centralized as Centralized
    from .algorithms import DisLinUCB as DisLinUCB
    from .algorithms import FedLinUCB as FedLinUCB
    from .algorithms import IncFedUCB as IncFedUCB
    from .algorithms import Independent as Independent
    from .algorithms import LinUCB as LinUCB
    from .algorithms import thresholds as thresholds
    from .environments import BadRows as BadRows
    from .environments import Env as Env
    from .environments import Events as Events
    from .environments import FittedWorld as FittedWorld
    from .environments import MovieLens as MovieLens
    from .environments import RepeatedEvents as RepeatedEvents
    from .environments import ReplayLog as ReplayLog
    from .environments import Stream as Stream
    from .environments import Synthetic as Synthetic
    from .environments import Trace as Trace
    from .environments import World as World
    from .environments import check_world as check_world
    from .errors import InputError as InputError
    from .experiments import sweep as sweep
    from .mechanisms import BudgetFeasible as BudgetFeasible
    from .mechanisms import CostAware as CostAware
    from .mechanisms import Decision as Decision
    from .mechanisms import Exact as Exact
    from .mechanisms import Mechanism as Mechanism
    from .mechanisms import MechanismError as MechanismError
    from .mechanisms import PayEveryone as PayEveryone
    from .mechanisms import PaymentEfficient as PaymentEfficient
    from .mechanisms import PaymentFree as PaymentFree
    from .mechanisms import PostedPrice as PostedPrice
    from .mechanisms import Round as Round
    from .mechanisms import ShapleySplit as ShapleySplit
    from .mechanisms import Truthful as Truthful
    from .mechanisms import check_mechanism as check_mechanism
    from .planning import Estimate as Estimate
    from .planning import Plan as Plan
    from .planning import estimate as estimate
    from .planning import plan as plan
    from .protocol import ActingClient as ActingClient
    from .protocol import BestResponse as BestResponse
    from .protocol import ClientModel as ClientModel
    from .protocol import Colluding as Colluding
    from .protocol import DrawnCosts as DrawnCosts
    from .protocol import DriftingCosts as DriftingCosts
    from .protocol import GrowthRatio as GrowthRatio
    from .protocol import Limits as Limits
    from .protocol import News as News
    from .protocol import Patient as Patient
    from .protocol import Policy as Policy
    from .protocol import Privacy as Privacy
    from .protocol import Refusing as Refusing
    from .protocol import Shading as Shading
    from .protocol import Threshold as Threshold
    from .protocol import Trigger as Trigger
    from .protocol import Withholding as Withholding
    from .protocol import check_policy as check_policy
    from .results import Comparison as Comparison
    from .results import Result as Result
    from .results import load as load
    from .service.client.client import Client as Client
    from .simulation import Federation as Federation
    from .simulation import Simulation as Simulation
    from .simulation import compare as compare
    from .simulation import simulate as simulate
else:
    from ._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)

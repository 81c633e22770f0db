"""Good configs, by the command that reads them; together they use every key there is.

Labels have a blank, as the names of points of a sweep do: so neither is taken for a place.
"""

from __future__ import annotations

SMALL = """
[run]
steps = 40
[world]
kind = "Synthetic"
clients = 3
dim = 2
arms = 3
pool = 9
"""
TRACE = """
[world]
kind = "Trace"
file = "trace.npz"
"""

CONFIGS: dict[str, str] = {}

CONFIGS["run in a synthetic world"] = """
[run]
steps = 100
seeds = [0, 7, 9]
bootstrap = 5
resample = "events"
output = "results"
[world]
kind = "Synthetic"
clients = 3
dim = 4
arms = 5
pool = 20
noise = 0.2
activity = [1.0, 2.0, 3.0]
spread = 0.3
[[algorithm]]
label = "as in the paper"
kind = "IncFedUCB"
threshold = 0.5
costs = [1.0, 2.0, 3.0]
clocks = "participants"
download = "one-for-one"
budget = 1000.0
availability = 0.9
money_digits = 2
share_from = 3
reads = "stale"
[algorithm.mechanism]
kind = "PaymentEfficient"
beta = 0.7
order = "ascending"
payment_free = false
iterative = false
absorb = true
[[algorithm]]
label = "all share"
kind = "DisLinUCB"
threshold = 1.5
ridge = 0.2
noise = 0.3
delta = 0.05
exploration = 0.4
reads = "fresh"
width = "mixture"
width_scale = 1.0
trust = "auto"
"""

CONFIGS["run with few words"] = """
run = { steps = 50 }
world = { kind = "Synthetic" }
[[algorithm]]
kind = "Independent"
[[algorithm]]
kind = "IncFedUCB"
mechanism = "PayEveryone"
trigger = { kind = "Threshold", D_c = 0.5 }
reports = "Refusing"
"""

CONFIGS["run with formulas of the threshold"] = (
    SMALL
    + """
[[algorithm]]
label = "the high one"
kind = "DisLinUCB"
threshold = "high"
[[algorithm]]
label = "the low one"
kind = "IncFedUCB"
mechanism = { kind = "PayEveryone" }
threshold = "low"
[[algorithm]]
label = "of the theorem"
kind = "IncFedUCB"
mechanism = { kind = "PaymentEfficient", beta = 0.5 }
threshold = "theory"
ridge = 0.3
"""
)

CONFIGS["run with mechanisms that meet beta"] = (
    SMALL
    + """
[[algorithm]]
label = "for data"
kind = "IncFedUCB"
mechanism = { kind = "PaymentFree" }
threshold = 0.5
costs = 3
[[algorithm]]
label = "by cost"
kind = "IncFedUCB"
mechanism = { kind = "CostAware", beta = 0.6 }
threshold = inf
costs = 3
[[algorithm]]
label = "the cheapest"
kind = "IncFedUCB"
mechanism = { kind = "Exact", beta = 0.6, nodes = 500 }
threshold = 0.0
costs = 0
"""
)

CONFIGS["run with mechanisms that have prices"] = (
    SMALL
    + """
[[algorithm]]
label = "a budget"
kind = "IncFedUCB"
mechanism = { kind = "BudgetFeasible", per_round = 5.0, total = 50.0 }
threshold = 0.5
[[algorithm]]
label = "a pot"
kind = "IncFedUCB"
mechanism = { kind = "ShapleySplit", pot = 9.0, samples = 20 }
threshold = 0.5
[[algorithm]]
label = "a price"
kind = "IncFedUCB"
mechanism = { kind = "PostedPrice", price = 4.0 }
threshold = 0.5
[[algorithm]]
label = "an auction"
kind = "IncFedUCB"
mechanism = { kind = "Truthful", cover = 0.7, reserve = 8.0 }
threshold = 0.5
"""
)

CONFIGS["run with triggers"] = (
    SMALL
    + """
[[algorithm]]
label = "by growth"
kind = "IncFedUCB"
mechanism = { kind = "PaymentFree" }
trigger = { kind = "GrowthRatio", gamma = 1.5 }
trust = [1.0, 2.0, inf]
[[algorithm]]
label = "by news"
kind = "IncFedUCB"
mechanism = { kind = "PaymentFree" }
trigger = { kind = "News", above = 2.0 }
availability = [5.0, 3.0]
[[algorithm]]
label = "with patience"
kind = "IncFedUCB"
mechanism = { kind = "PaymentFree" }
trigger = { kind = "Patient", news = 2.0, signal = "growth", factor = 1.2 }
availability = [0.5, 0.6, 0.7]
"""
)

CONFIGS["run with limits"] = (
    SMALL
    + """
[[algorithm]]
label = "with limits"
kind = "IncFedUCB"
mechanism = { kind = "PayEveryone" }
threshold = 0.5
costs = 3.0
money_digits = 0
[algorithm.limits]
per_round = 10.0
per_payment = 5.0
per_client = 50.0
reserve = 8.0
price_rise = 1.1
price_floor = 0.5
price_spread = 5.0
steps_per_upload = 100
largest_share = 0.75
steps_spread = 10.0
least_sharers = 2
least_steps = 4
refuse_resale = false
"""
)

CONFIGS["run with privacy"] = (
    SMALL
    + """
[[algorithm]]
label = "with noise"
kind = "IncFedUCB"
mechanism = { kind = "PayEveryone" }
threshold = 0.5
share_from = 5
privacy = { epsilon = 4.0, delta = 1e-6, arm_norm = 1.0, reward_bound = 2.0 }
"""
)

CONFIGS["run with clients that lie"] = (
    SMALL
    + """
[[algorithm]]
label = "each in its way"
kind = "IncFedUCB"
mechanism = { kind = "PayEveryone" }
threshold = 0.5
costs = { kind = "DrawnCosts", mean = [1.0, 2.0, 3.0], spread = 0.3 }
reports = [
  { kind = "Shading", factor = 2.0, clients = [0] },
  { kind = "BestResponse", step = 0.2, clients = [1] },
  { kind = "Colluding", factor = 1.5, clients = [2] },
]
[[algorithm]]
label = "some keep quiet"
kind = "IncFedUCB"
mechanism = { kind = "PayEveryone" }
threshold = 0.5
costs = { kind = "DriftingCosts", mean = 2.0, spread = 0.1 }
reports = [
  { kind = "Refusing", clients = [0] },
  { kind = "Withholding", steps = 4, clients = [1, 2] },
]
"""
)

CONFIGS["run without rounds"] = (
    SMALL
    + """
[[algorithm]]
label = "two ratios"
kind = "AsyncLinUCB"
upload = 1.5
download = 2.0
costs = [1.0, 2.0, 3.0]
trust = 5.0
[[algorithm]]
label = "one ratio"
kind = "FedLinUCB"
growth = 0.5
costs = 1.0
trust = "auto"
[[algorithm]]
label = "all alone"
kind = "Independent"
ridge = 1.0
noise = 0.2
delta = 0.2
width = "mixture"
width_scale = 0.5
[[algorithm]]
label = "all as one"
kind = "Centralized"
ridge = 1.0
exploration = 0.5
reads = "stale"
"""
)

CONFIGS["run on a part of a trace"] = (
    TRACE
    + """
part = [0.0, 0.5]
turn = true
[[algorithm]]
kind = "Independent"
"""
)

CONFIGS["run on a trace drawn again"] = (
    TRACE
    + """
bootstrap = 20
resample = "clients"
[run]
steps = 10
seeds = 2
[[algorithm]]
kind = "Independent"
"""
)

CONFIGS["run on a trace"] = (
    TRACE
    + """
[run]
seeds = 2
bootstrap = 3
resample = "clients"
[[algorithm]]
label = "all share"
kind = "DisLinUCB"
threshold = 1.0
"""
)

CONFIGS["run on a log"] = """
[world]
kind = "ReplayLog"
file = "log.csv"
mode = "replay"
client = "client"
chosen = "chosen"
reward = "reward"
features = "features"
propensity = "propensity"
clip = 0.1
format = "csv"
separator = "|"
delimiter = ";"
[[algorithm]]
kind = "Independent"
"""

CONFIGS["run on a log with a table of items"] = """
[world]
kind = "ReplayLog"
file = "choices.csv"
items = "items.csv"
mode = "zero"
candidates = "candidates"
item = "item"
time = "time"
features = ["first", "second"]
[[algorithm]]
kind = "Independent"
"""

CONFIGS["run on a log with a row for each arm"] = """
[world]
kind = "ReplayLog"
file = "long.csv"
mode = "replay"
event = "event"
features = ["first", "second"]
[[algorithm]]
kind = "Independent"
"""

CONFIGS["run on films that are not there"] = """
[run]
steps = 10
[world]
kind = "MovieLens"
folder = "ml-20m"
min_events = 100
dim = 5
arms = 10
[[algorithm]]
kind = "Independent"
"""

CONFIGS["run with a mechanism of one's own"] = (
    SMALL
    + """
[[algorithm]]
label = "of my own"
kind = "IncFedUCB"
mechanism = { kind = "mine.py:Mine", factor = 2.0 }
threshold = 0.5
"""
)

CONFIGS["sweep over all sections"] = (
    SMALL
    + """
[[algorithm]]
label = "paid ones"
kind = "IncFedUCB"
mechanism = { kind = "PaymentEfficient", beta = 0.7 }
threshold = 0.5
[[algorithm]]
label = "all alone"
kind = "Independent"
[sweep]
"run.steps" = [20, 40]
"world.noise" = [0.1, 0.3]
"algorithm.costs" = [1, 10]
"algorithm[paid ones].mechanism.beta" = [1.0, 0.7]
"algorithm[2].ridge" = [0.1, 1.0]
"""
)

CONFIGS["sweep over kinds"] = """
[run]
steps = 40
seeds = 2
[world]
kind = "Synthetic"
clients = 3
dim = 2
arms = 3
pool = 9
[[algorithm]]
label = "some rounds"
kind = "IncFedUCB"
mechanism = { kind = "PayEveryone" }
trigger = { kind = "Patient" }
[sweep.algorithm]
mechanism = [{ kind = "PaymentFree" }, { kind = "PostedPrice", price = 2.0 }]
trigger.news = [1.0, 5.0]
limits = [{ per_round = 10.0 }, { per_round = 20.0, least_sharers = 2 }]
"""

CONFIGS["sweep on a trace"] = (
    TRACE
    + """
part = [0.0, 1.0]
[run]
seeds = 3
[[algorithm]]
label = "all alone"
kind = "Independent"
[sweep]
"world.part" = [[0.0, 0.5], [0.5, 1.0]]
"algorithm.delta" = [0.1, 0.2]
"""
)

CONFIGS["plan with few words"] = """
costs = 10
search = { mechanisms = ["PaymentFree", "PayEveryone"] }
[run]
steps = 40
[world]
kind = "Synthetic"
clients = 3
dim = 2
arms = 3
pool = 9
"""

CONFIGS["plan with a search"] = """
costs = { kind = "lognormal", median = 10, spread = 2 }
[run]
steps = 40
[world]
kind = "Synthetic"
clients = 3
dim = 2
arms = 3
pool = 9
activity = 0.5
[algorithm]
noise = 0.2
delta = 0.2
reads = "fresh"
clocks = "participants"
availability = 0.9
[search]
mechanisms = [
  { kind = "PaymentEfficient" },
  { kind = "PaymentFree" },
  { kind = "CostAware", beta = 0.5 },
  { kind = "mine.py:Mine", factor = 2.0 },
]
beta = [0.1, 0.9]
triggers = ["Threshold", "Patient"]
threshold = [0.1, 5.0]
news = [1.0, 9.0]
signal = "growth"
downloads = ["everyone", "one-for-one"]
widths = ["paper", "constant"]
exploration = [0.1, 0.5]
width_scale = [0.2, 1.0]
trusts = ["full", "auto", "limited"]
trust = [1.0, 50.0]
ridge = [0.05, 0.5]
clients_may_lie = false
"""

CONFIGS["plan with fixed settings"] = """
costs = { kind = "exponential", mean = 10 }
[run]
steps = 40
[world]
kind = "Synthetic"
clients = 3
dim = 2
arms = 3
pool = 9
[algorithm]
ridge = 0.2
width = "mixture"
width_scale = 0.5
download = "one-for-one"
trust = 5.0
[search]
triggers = ["Patient"]
"""

CONFIGS["plan with a constant width"] = """
costs = 3.0
[run]
steps = 40
[world]
kind = "Synthetic"
clients = 3
dim = 2
arms = 3
pool = 9
[algorithm]
exploration = 0.3
reads = "stale"
"""

CONFIGS["plan on a trace"] = """
costs = [1.0, 2.0, 3.0]
[run]
steps = 2
[world]
kind = "Trace"
file = "trace.npz"
[search]
trusts = ["full"]
"""

CONFIGS["plan with clients that lie"] = """
costs = { kind = "uniform", low = 5, high = 50 }
[run]
steps = 40
[world]
kind = "Synthetic"
clients = 3
dim = 2
arms = 3
pool = 9
[search]
clients_may_lie = true
mechanisms = [
  { kind = "PaymentFree" },
  { kind = "Truthful", cover = 0.8, reserve = 20.0 },
  { kind = "PostedPrice", price = 60.0 },
]
"""

CONFIGS["serve with few words"] = """
[federation]
dim = 3
mechanism = "PaymentFree"
threshold = 0.5
budget = "none"
"""

CONFIGS["serve with the paper's trigger"] = """
[federation]
dim = 3
mechanism = { kind = "PaymentFree" }
trigger = { kind = "Threshold", D_c = 0.5 }
budget = 10.0
"""

CONFIGS["serve with a setting that is no more"] = """
[federation]
dim = 3
mechanism = { kind = "PaymentFree" }
threshold = 0.5
budget = 10.0
barred_rounds = 2
"""

CONFIGS["serve whole"] = """
[federation]
name = "shops"
dim = 3
mechanism = { kind = "PaymentEfficient", beta = 0.7 }
threshold = 0.5
ridge = 0.2
noise = 0.2
delta = 0.05
arm_norm = 2.0
reward_bound = 5.0
cost_limit = 1000.0
budget = 10000.0
upload_time = 5.0
answer_time = 6.0
live_time = 60.0
attempts = 2
barred_time = 100.0
silent_rounds = 3
round_interval = 0.1
rounds_per_second = 5.0
false_calls = 4
ignored_time = 30.0
steps_per_second = 100.0
lag = 8
download = "one-for-one"
width = "mixture"
width_scale = 0.5
trust = 10.0
money_digits = 3
signatures = "required"
[federation.limits]
per_round = 100.0
per_payment = 50.0
per_client = 500.0
reserve = 80.0
price_rise = 1.2
price_floor = 0.5
price_spread = "none"
steps_per_upload = 1000
largest_share = 0.8
steps_spread = 10.0
least_sharers = 3
least_steps = 5
refuse_resale = false
[server]
database = "sqlite:///shops.db"
host = "0.0.0.0"
port = 9000
certificate = "certificate.pem"
key = "key.pem"
operator_host = "localhost"
operator_port = 9001
header_time = 5.0
body_time = 30.0
connections = 100
connections_per_address = 10
requests_per_client = 4
bad_tokens = 20
proxies = ["192.0.2.0/24", "::1"]
log_level = "DEBUG"
mechanism_files = ["mine.py"]
"""

CONFIGS["serve whole with a trigger"] = """
[federation]
dim = 3
mechanism = { kind = "PostedPrice", price = 3.0 }
trigger = { kind = "Patient", news = 4.0, signal = "growth", factor = 1.2 }
exploration = 0.4
trust = "auto"
budget = 100
limits = {}
"""

CONFIGS["serve whole with privacy"] = """
[federation]
dim = 3
mechanism = { kind = "PayEveryone" }
threshold = inf
budget = 50.0
privacy = { epsilon = 2.0, delta = 1e-6 }
[server]
database = "postgresql://localhost/shops"
"""

CONFIGS["serve with a mechanism of one's own"] = """
[federation]
dim = 3
mechanism = { kind = "mine.py:Mine", factor = 2.0 }
trigger = { kind = "GrowthRatio", gamma = 1.5 }
budget = 50.0
money_digits = 0
"""

CONFIGS["compare mechanisms"] = (
    SMALL
    + """
[[algorithm]]
label = "for data"
kind = "IncFedUCB"
mechanism = { kind = "PaymentFree" }
threshold = 0.5
costs = 3.0
[[algorithm]]
label = "a price"
kind = "IncFedUCB"
mechanism = { kind = "PostedPrice", price = 4.0 }
threshold = 0.5
costs = 3.0
"""
)

CONFIGS["compare mechanisms with lies"] = (
    SMALL
    + """
[[algorithm]]
label = "for data"
kind = "IncFedUCB"
mechanism = { kind = "PaymentFree" }
threshold = 0.5
reports = [{ kind = "Shading", factor = 2.0, clients = [0] }]
[[algorithm]]
label = "a price"
kind = "IncFedUCB"
mechanism = { kind = "PostedPrice", price = 4.0 }
threshold = 0.5
reports = [{ kind = "Shading", factor = 2.0, clients = [0] }]
"""
)

"""What is searched: ranges, and mechanisms, those of the user's own too."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.errors import InputError
from incfed.experiments.config import LONGEST_LABEL
from incfed.experiments.runs import read
from incfed.planning.case import read_case
from incfed.planning.config_files import short
from incfed.planning.space import Candidate, Range, read_space
from incfed.service.coordinator.config import read_config
from support.planning import SMALL, TOML


@given(st.floats(1e-6, 1e3), st.floats(1, 1e3), st.floats(1e-9, 1e9), st.integers(1, 4))
def test_a_short_number_stays_in_its_range(
    low: float, factor: float, value: float, digits: int
) -> None:
    one = Range(low, low * factor)
    short = one.clip(value, digits)
    assert one.low <= short <= one.high
    if one.low < short < one.high:
        assert short == float(f"{value:.{digits}g}")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"beta": [0.5, 0.1]}, "search.beta: got .* in this order"),
        ({"beta": [0, 2]}, r"search.beta\[2\]: got 2"),
        ({"threshold": 0}, "search.threshold: got 0"),
        ({"ridge": "x"}, "search.ridge: got 'x'"),
        ({"mechanisms": ["Free"]}, r"search.mechanisms\[1\]\.kind: got 'Free'"),
        ({"mechanisms": []}, "search.mechanisms: got"),
        ({"lambda": 1}, "search.lambda: got 1, but there is no such setting"),
        ({"triggers": ["Patience"]}, r"search.triggers\[1\]: got 'Patience', must be one of"),
        ({"triggers": "Patient"}, "search.triggers: got 'Patient', must be a list of some of"),
        ({"downloads": []}, "search.downloads: got"),
        ({"widths": ["narrow"]}, r"search.widths\[1\]: got 'narrow'"),
        ({"news": [5, 1]}, "search.news: got .* in this order"),
        ({"signal": "smoke"}, "search.signal: got 'smoke'"),
        ({"exploration": -1}, "search.exploration: got -1"),
        ({"width_scale": "x"}, "search.width_scale: got 'x'"),
        ({"trusts": ["some"]}, r"search.trusts\[1\]: got 'some', must be one of 'full', 'auto'"),
        ({"trusts": 3}, "search.trusts: got 3, must be a list of some of full, auto, limited"),
        ({"trust": -1}, "search.trust: got -1"),
    ],
)
def test_bad_ranges(table: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_space(table, {}, 0.5)


@pytest.mark.parametrize(
    ("table", "fixed"),
    [
        ({"ridge": 1.0}, {"ridge": 0.1}),
        ({"widths": ["paper"]}, {"exploration": 0.3}),
        ({"exploration": 0.3}, {"width": "mixture"}),
        ({"downloads": ["everyone"]}, {"download": "one-for-one"}),
        ({"width_scale": 0.5}, {"exploration": 0.3}),
        ({"trusts": ["auto"]}, {"trust": 3.0}),
        ({"trust": 3.0}, {"trust": "auto"}),
    ],
)
def test_fixed_or_searched(table: dict[str, Any], fixed: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="is given too, must be one of them"):
        read_space(table, fixed, 0.5)


def test_what_is_fixed_is_not_searched() -> None:
    space = read_space({}, {"exploration": 0.3, "download": "one-for-one", "ridge": 0.2}, 0.5)
    assert (space.widths, space.downloads) == (("paper",), ("one-for-one",))
    assert space.ranges["ridge"] == Range(0.2, 0.2)
    assert "exploration" not in space.ranges
    table = space.first(0.5)[0].table({"exploration": 0.3}, 1.0)
    assert (table["exploration"], table["download"]) == (0.3, "one-for-one")
    assert "width" not in table


def test_trust_is_searched_in_units_of_the_arms() -> None:
    space = read_space({}, {}, 0.5, norm=25.0)
    assert space.trust == Range(25.0, 2500.0)
    made = [
        space.make("PaymentFree", "Patient", "everyone", "mixture", trusting, trust=3000.0,
                   width_scale=0.31)
        for trusting in space.trusts
    ]  # fmt: skip
    assert [one.trust for one in made] == [math.inf, "auto", 2500.0]
    assert [one.trusting for one in made] == list(space.trusts)
    assert str(made[2]).endswith("mixture, width x 0.31, trust 2500, lambda 0.1")
    assert made[1].table({}, 1.0)["trust"] == "auto"
    assert "trust" not in made[0].table({}, 1.0)
    assert all(map(space.holds, made))
    narrow = read_space({"trusts": ["full"], "width_scale": 1.0}, {}, 0.5)
    assert not any(map(narrow.holds, made))
    assert "trust" not in narrow.ranges
    fixed = read_space({}, {"trust": 7.0}, 0.5)
    assert fixed.trusts == ("full",)
    assert fixed.first(0.5)[0].table({"trust": 7.0}, 1.0)["trust"] == 7.0


def test_a_fixed_scale_is_of_a_formula() -> None:
    space = read_space({}, {"width_scale": 0.5}, 0.5)
    assert space.widths == ("paper", "mixture")
    assert space.ranges["width_scale"] == Range(1.0, 1.0)  # not searched: [algorithm] has it
    with pytest.raises(InputError, match="without constant where"):
        read_space({"widths": ["constant"]}, {"width_scale": 0.5}, 0.5)


def test_the_longest_setting_has_a_label() -> None:
    space = read_space({"signal": "growth"}, {}, 0.5)
    made = space.make(
        "PaymentEfficient", "Patient", "one-for-one", "mixture", "limited",
        beta=0.0123, news=1.2345, width_scale=0.123, trust=12.345, ridge=0.0123,
    )  # fmt: skip
    assert len(str(made)) > LONGEST_LABEL
    assert short(made) == "the advice"
    plain = space.first(0.5)[0]
    assert short(plain) == str(plain)


def test_stale_reads_leave_nothing_to_find_out() -> None:
    assert read_space({}, {"reads": "stale"}, 0.5).trusts == ("full", "limited")
    with pytest.raises(InputError, match="without auto where reads are stale"):
        read_space({"trusts": ["auto"]}, {"reads": "stale"}, 0.5)


def test_a_patient_setting() -> None:
    space = read_space({"signal": "growth"}, {}, 0.5)
    patient = space.make("PaymentFree", "Patient", "one-for-one", "constant", news=4.04)
    assert str(patient) == "payment-free, patient 4, growth, one-for-one, alpha 0.3, lambda 0.1"
    assert patient.table({}, 7.0) == {
        "kind": "IncFedUCB",
        "mechanism": {"kind": "PaymentFree"},
        "trigger": {"kind": "Patient", "news": 4.0, "signal": "growth"},
        "costs": 7.0,
        "ridge": 0.1,
        "download": "one-for-one",
        "exploration": 0.3,
    }
    assert space.holds(patient)
    for changes in ({"triggers": ["Threshold"]}, {"downloads": ["everyone"]}, {"news": 5}):
        assert not read_space({"signal": "growth", **changes}, {}, 0.5).holds(patient)
    paper = space.make("PayEveryone", "Threshold", "everyone", "paper", threshold=0.5)
    assert str(paper) == "everyone paid, D_c 0.5, lambda 0.1"
    assert paper.exploration is paper.news is None


def test_the_first_settings_span_the_space() -> None:
    first = read_space({}, {}, 0.5).first(0.5)
    assert len(first) == 16  # one batch
    assert {one.trigger for one in first} == {"Threshold", "Patient"}
    assert {one.width for one in first} == {"paper", "mixture", "constant"}
    assert {one.mechanism for one in first} == {"PaymentFree", "PayEveryone", "PaymentEfficient"}
    plain = read_space({"triggers": ["Threshold"]}, {}, 0.5).first(0.5)
    assert {one.news for one in plain} == {None}


CODE = """
from dataclasses import dataclass
import incfed

@dataclass(frozen=True)
class Tips(incfed.PaymentEfficient):
    tip: float = 1.0

    def decide(self, round):
        found = super().decide(round)
        return incfed.Decision(found.participants, found.payments + self.tip * found.participants)

class Data(incfed.Mechanism):
    def decide(self, round):
        return incfed.PaymentFree().decide(round)
"""


def write(folder: Path, mechanisms: str) -> Path:
    (folder / "own.py").write_text(CODE)
    (folder / "world.toml").write_text(f"{TOML}mechanisms = {mechanisms}\n")
    return folder / "world.toml"


def test_beta_is_searched_if_there_is_one_and_options_stay(tmp_path: Path) -> None:
    own = '{ kind = "own.py:Tips", tip = 3.0 }'
    case = read_case(write(tmp_path, f'[{own}, "own.py:Data", "PayEveryone"]'))
    assert list(case.space.candidates.values()) == [
        Candidate("own.py:Tips", (("tip", 3.0),), True),
        Candidate("own.py:Data"),
        Candidate("PayEveryone"),
    ]
    first = [one for one in case.space.first(case.usual) if one.news is None]
    assert {one.beta for one in first if one.mechanism == "own.py:Tips"} == {0.7, 0.3, 0.05, 0.01}
    assert {one.beta for one in first if one.mechanism == "own.py:Data"} == {None}
    assert str(first[0]).startswith("Tips (tip 3.0), beta 0.7, D_c ")
    table: dict[str, Any] = first[0].table({}, 0)["mechanism"]
    assert table == {"kind": "own.py:Tips", "tip": 3.0, "beta": 0.7}
    before = case.identity()
    (tmp_path / "own.py").write_text(CODE + "# changed")
    assert read_case(tmp_path / "world.toml").identity() != before


def test_the_advice_can_be_run_and_served(tmp_path: Path) -> None:
    source = write(tmp_path, '[{ kind = "own.py:Tips", tip = 3.0, payment_free = false }]')
    plan = incfed.plan(source, minimize="regret", **{**SMALL, "trials": 16, "held_out": 2})
    assert plan.setting.beta is not None
    assert f"own.py:Tips decides who shares and who is paid at beta {plan.setting.beta:g}" in (
        words_of(plan)
    )
    plan.save(tmp_path / "plan")
    entry, _ = read(tmp_path / "plan" / "run.toml").entries.values()
    assert entry.value.mechanism.tip == 3.0
    served = read_config(tmp_path / "plan" / "federation.toml").settings.mechanism
    assert served.beta == plan.setting.beta
    assert served.settings()["payment_free"] is False


def words_of(plan: incfed.Plan) -> str:
    from incfed.planning.advice import explain

    return explain(plan.setting)


def test_one_that_breaks_a_rule_is_planned_with_a_note(tmp_path: Path) -> None:
    source = write(tmp_path, '[{ kind = "own.py:Tips", tip = -1.0 }, "own.py:Data"]')
    [note] = read_case(source).notes
    assert "No federation.toml with it: mechanism: own.py:Tips cannot be served" in note


@pytest.mark.parametrize(
    ("mechanisms", "said"),
    [
        ('["own.py:None"]', r"search\.mechanisms\[1\]\.kind: .*has no None"),
        ('[{ kind = "own.py:Tips", tip = [1] }]', r"\[1\]\.tip: got \[1\], must be a number"),
        ('[{ kind = "own.py:Data", tip = 1 }]', r"\[1\]\.tip: got 1, but there is no such"),
        ("[{ tip = 1 }]", r"\[1\]\.kind: is missing"),
        ('[{ kind = "PaymentEfficient", beta = 2 }]', r"mechanism\.beta: got 2"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, mechanisms: str, said: str) -> None:
    with pytest.raises(incfed.InputError, match=said):
        read_case(write(tmp_path, mechanisms))


def test_if_clients_may_lie_only_mechanisms_that_withstand_it_are_tried(tmp_path: Path) -> None:
    lies = {"clients_may_lie": True}
    space = read_space(lies, {}, 1.0, dearest=180.0)
    assert list(space.candidates) == [
        "PaymentFree",
        "PostedPrice (price 180.0)",
        *(f"Truthful (cover {cover}, reserve 198.0)" for cover in (0.7, 0.85, 1.0)),
    ]
    for one in space.candidates.values():
        assert one.lie_bound is not None
        assert "proved" in one.lie_bound
    own = {"mechanisms": ["PaymentFree", {"kind": "Truthful", "cover": 0.8, "reserve": 7.0}]}
    assert len(read_space({**lies, **own}, {}, 1.0, dearest=6.5).candidates) == 2
    with pytest.raises(InputError, match=r"mechanisms\[1\]: got 'CostAware', must be a mechanism"):
        read_space({**lies, "mechanisms": ["CostAware"]}, {}, 1.0)
    with pytest.raises(InputError, match="clients_may_lie: got 1, must be true or false"):
        read_space({"clients_may_lie": 1}, {}, 1.0)
    (tmp_path / "mine.py").write_text(
        "import incfed\nclass Mine(incfed.PaymentFree):\n    def lie_bound(self, highest): pass\n"
    )
    with pytest.raises(InputError, match=r"got 'mine.py:Mine', must be a mechanism with a bound"):
        read_space({**lies, "mechanisms": ["mine.py:Mine"]}, {}, 1.0, tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {"cover": 0.7, "reserve": 1e6},
        {"cover": 0.7, "reserve": 199.0},
        {"cover": 0.1, "reserve": 9},
    ],
)
def test_options_without_a_bound_on_lying_are_refused(options: dict[str, float]) -> None:
    table = {"clients_may_lie": True, "mechanisms": [{"kind": "Truthful", **options}]}
    with pytest.raises(InputError, match=r"cover of at least 0\.7 and a reserve of at most 198$"):
        read_space(table, {}, 1.0, dearest=180.0)


@pytest.mark.parametrize("dearest", [0.0, 7.0, 100.04, 99.996, 123456.0, 0.0123449])
def test_the_dearest_client_accepts_the_price(dearest: float) -> None:
    space = read_space({"clients_may_lie": True}, {}, 1.0, dearest=dearest)
    [price] = [
        dict(x.options)["price"] for x in space.candidates.values() if x.kind[:6] == "Posted"
    ]
    assert dearest <= price <= dearest * 1.001


def test_prices_fit_the_dearest_client() -> None:
    world = {"kind": "Synthetic", "clients": 4, "dim": 3, "arms": 3, "pool": 10}
    tables = {"world": world, "run": {"steps": 50}, "costs": 7.0}
    tables["search"] = {"clients_may_lie": True}
    assert "PostedPrice (price 7.0)" in read_case(tables).space.candidates
    tables["search"] = {"beta": 0.5}
    assert "PaymentEfficient" in read_case(tables).space.candidates
    switched = read_case(tables, clients_may_lie=True).space
    assert "PaymentEfficient" not in switched.candidates
    assert "PostedPrice (price 7.0)" in switched.candidates


TRIGGER = """
from dataclasses import dataclass
import incfed

@dataclass(frozen=True)
class Often(incfed.Trigger):
    pending: int = 10

    def calls(self, client):
        return client.pending >= self.pending
"""


def with_triggers(folder: Path, triggers: str) -> Path:
    (folder / "often.py").write_text(TRIGGER)
    (folder / "world.toml").write_text(f"{TOML}triggers = {triggers}\n")
    return folder / "world.toml"


def test_triggers_of_ones_own_are_searched(tmp_path: Path) -> None:
    own = '{ kind = "often.py:Often", pending = 4 }'
    case = read_case(with_triggers(tmp_path, f'[{own}, "Threshold", "often.py:Often"]'))
    names = ["often.py:Often (pending 4)", "often.py:Often"]
    assert case.space.choices["trigger"] == ("Threshold", *names)
    first = [one for one in case.space.first(case.usual) if one.trigger == names[0]]
    assert {one.mechanism for one in first} == {"PaymentFree", "PayEveryone", "PaymentEfficient"}
    assert str(first[0]) == "beta 0.7, Often (pending 4), lambda 0.1"
    table = first[0].table({}, 0)
    assert table["trigger"] == {"kind": "often.py:Often", "pending": 4}
    assert "threshold" not in table
    assert all(case.space.holds(one) for one in first)
    assert "beta" in case.space.numbers(first[0])
    assert not {"threshold", "news"} & case.space.numbers(first[0]).keys()
    assert len(case.notes) == 2
    assert case.notes[0].startswith(
        "No federation.toml with it: trigger: got 'often.py:Often (pending 4)', must be one of "
    )
    before = case.identity()
    (tmp_path / "often.py").write_text(TRIGGER + "# changed")
    assert read_case(tmp_path / "world.toml").identity() != before


def test_a_plan_with_a_trigger_of_ones_own(tmp_path: Path) -> None:
    source = with_triggers(tmp_path, '["often.py:Often"]')
    plan = incfed.plan(source, minimize="regret", **{**SMALL, "trials": 20, "held_out": 2})
    assert plan.setting.trigger == "often.py:Often"
    assert "Clients ask for a round when often.py:Often says so." in words_of(plan)
    assert plan.federation is None
    plan.save(tmp_path / "plan")
    entry, _ = read(tmp_path / "plan" / "run.toml").entries.values()
    assert entry.value.trigger.pending == 10


@pytest.mark.parametrize(
    ("triggers", "said"),
    [
        ('["Threshold", "often.py:None"]', r"search\.triggers\[2\]\.kind: .*has no None"),
        ('["often.py:Often", "Often"]', r"search\.triggers\[2\]: got 'Often', must be one of"),
        ('[{ kind = "often.py:Often", odd = 1 }]', r"\[1\]\.odd: got 1, but there is no such"),
        ('[{ kind = "often.py:Often", pending = [1] }]', r"\.pending: got \[1\], must be a number"),
    ],
)
def test_mistakes_in_triggers_are_named(tmp_path: Path, triggers: str, said: str) -> None:
    with pytest.raises(incfed.InputError, match=said):
        read_case(with_triggers(tmp_path, triggers))

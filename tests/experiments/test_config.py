"""Configs: what they become, and how each mistake is named."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import incfed
from incfed.errors import InputError
from incfed.experiments import Recipe, build, read
from incfed.experiments.template import experiment_template
from incfed.support.toml import write_new
from support.experiments import OWN, TOML, experiment, fingerprints, own, refused, tables, trace

TEMPLATE = ("incfed.toml", experiment_template())


def test_keys_become_arguments(tmp_path: Path) -> None:
    given = tables(seeds=[7, 0], output="there")
    given["algorithm"][1] |= {"ridge": 0.5, "reads": "stale", "costs": [1.0, 2.0, 3.0, 4.0]}
    made = build(Recipe(given, tmp_path))
    assert made.world == incfed.Synthetic(clients=4, dim=3, arms=3, pool=10)
    assert made.algorithms["paid"] == incfed.IncFedUCB(
        incfed.PaymentEfficient(beta=0.7),
        threshold=0.2,
        costs=[1.0, 2.0, 3.0, 4.0],
        ridge=0.5,
        reads="stale",
    )
    assert made.seeds == (7, 0)
    assert made.output == tmp_path / "there"
    with pytest.raises(AttributeError):
        made.steps = 3  # type: ignore[misc]


def test_thresholds_by_formula(tmp_path: Path) -> None:
    given = tables()
    given["algorithm"][1] |= {"threshold": "theory", "ridge": 0.3}
    made = build(Recipe(given, tmp_path)).algorithms
    sizes = {"steps": 400, "clients": 4, "dim": 3}
    assert made["altruistic"].rules(2).threshold == incfed.thresholds.high(**sizes)
    assert made["paid"].rules(2).threshold == incfed.thresholds.theory(**sizes, beta=0.7, ridge=0.3)
    given["algorithm"][0]["threshold"] = "theory"  # everybody shares: beta is 1
    low = incfed.thresholds.low(**sizes)
    changed = build(Recipe(given, tmp_path)).algorithms["altruistic"]
    assert math.isclose(changed.rules(2).threshold, low)


def test_a_trigger_is_a_table_or_a_name(tmp_path: Path) -> None:
    given = tables()
    del given["algorithm"][1]["threshold"]
    given["algorithm"][1] |= {
        "trigger": {"kind": "Patient", "news": 3.0, "signal": "growth"},
        "download": "one-for-one",
        "width": "mixture",
        "budget": 20.0,
        "availability": [100, 20],
    }
    assert build(Recipe(given, tmp_path)).algorithms["paid"] == incfed.IncFedUCB(
        incfed.PaymentEfficient(beta=0.7),
        trigger=incfed.Patient(3.0, "growth"),
        costs=2.0,
        download="one-for-one",
        width="mixture",
        budget=20.0,
        availability=(100.0, 20.0),
    )
    given["algorithm"][1]["trigger"] = "Patient"
    made = build(Recipe(given, tmp_path)).algorithms["paid"]
    assert isinstance(made, incfed.IncFedUCB)
    assert made.trigger == incfed.Patient()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trigger": "Patience"}, "algorithm[2].trigger.kind: got 'Patience'"),
        ({"trigger": 5.0}, "algorithm[2].trigger: got 5.0"),
        ({"trigger": {"kind": "News"}}, "algorithm[2].trigger.above: is missing"),
        ({"trigger": {"kind": "News", "above": -1}}, "algorithm[2].trigger.above: got -1"),
        ({"trigger": "Patient"}, "algorithm[2].threshold: got 0.2, must be left out"),
        ({"availability": [0.5, 0.5, 1.0]}, "algorithm[2].availability: got '3 probabilities'"),
        ({"download": "all"}, "algorithm[2].download: got 'all'"),
    ],
)
def test_mistakes_about_protocols(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    given = tables()
    given["algorithm"][1] |= changes
    with pytest.raises(InputError) as caught:
        build(Recipe(given, tmp_path))
    assert said in str(caught.value)


def test_a_trace_beside_the_config(tmp_path: Path) -> None:
    trace(60).save(tmp_path / "log.npz")
    given = tables() | {"world": {"kind": "Trace", "file": "log.npz"}}
    given["run"].pop("steps")
    made = build(Recipe(given, tmp_path))
    assert (made.steps, made.world.count) == (60, 4)
    before = fingerprints(made)
    assert before == fingerprints(build(Recipe(given, tmp_path)))
    changed = trace(60)
    changed.rewards[3] += 1.0  # same sizes, other numbers: other runs
    changed.save(tmp_path / "log.npz")
    after = fingerprints(build(Recipe(given, tmp_path)))
    assert not set(before) & set(after)


def test_fingerprints_tell_runs_apart(tmp_path: Path) -> None:
    made = experiment(tmp_path)
    some = set(fingerprints(made))
    assert len(some) == len({made.folder(cell) for cell in made.cells}) == 4
    assert not some & set(fingerprints(experiment(tmp_path, steps=401)))
    assert some < set(fingerprints(experiment(tmp_path, seeds=3)))


def test_fingerprints_know_a_class_of_the_users_own(tmp_path: Path) -> None:
    # its settings() do not tell
    one, two = fingerprints(own(tmp_path, at=1)), fingerprints(own(tmp_path, at=2))
    assert one[-1] != two[-1]
    assert one[:4] == two[:4]


def test_labels_that_look_alike_get_folders_of_their_own(tmp_path: Path) -> None:
    given = tables()
    labels = ["Beta 0.7", "beta: 0.7!", "β", "..", "a/../b", "x" * 70, "x" * 71]
    given["algorithm"] = [given["algorithm"][0] | {"label": label} for label in labels]
    made = build(Recipe(given, tmp_path))
    folders = [made.folder(cell) for cell in made.cells]
    assert len({str(folder).casefold() for folder in folders}) == 14
    assert all(folder.resolve().is_relative_to(tmp_path / "results/runs") for folder in folders)
    assert {len(folder.relative_to(tmp_path).parts) for folder in folders} == {4}


MISTAKES = {
    "unknown key": ("steps = 400", "step = 400", "run.step: got 400,", "'steps'"),
    "unknown section": ("[world]", "[wrld]", "wrld: got a table,", "did you mean 'world'?"),
    "unknown kind": ('"Synthetic"', '"synthetic"', "world.kind: got 'synthetic'", "'Synthetic'?"),
    "kind is no text": ('"Synthetic"', "3", "world.kind: got 3,", "Synthetic, Trace, or"),
    "no kind": ('kind = "Synthetic"', "", "world.kind: is missing", "Synthetic, Trace"),
    "unknown argument": ("dim = 3", "dims = 3", "world.dims: got 3,", "'dim'"),
    "zero arms": ("arms = 3", "arms = 0", "world.arms: got 0,", "at least 1"),
    "wrong type": ("dim = 3", 'dim = "3"', "world.dim: got '3',", "a whole number"),
    "small pool": ("pool = 10", "pool = 2", "world.arms: got 3,", "at most the pool (2)"),
    "no steps": ("steps = 400", "", "run.steps: is missing", "no length of its own"),
    "half a step": ("steps = 400", "steps = 400.5", "run.steps: got 400.5,", "whole number"),
    "no seed": ("seeds = 2", "seeds = 0", "run.seeds: got 0,", "from 1"),
    "a seed twice": ("seeds = 2", "seeds = [1, 1]", "run.seeds: got [1, 1],", "each named once"),
    "negative seed": ("seeds = 2", "seeds = [1, -1]", "run.seeds[2]: got -1,", "at least 0"),
    "seeds in words": ("seeds = 2", 'seeds = "2"', "run.seeds: got '2',", "a list of seeds"),
    "output is a number": ("seeds = 2", "output = 2", "run.output: got 2,", "a folder"),
    "beta": ("beta = 0.7", "beta = 7", "algorithm[2].mechanism.beta: got 7,", "from 0 to 1"),
    "beta misspelt": ("beta = 0.7", "bta = 7", "algorithm[2].mechanism.bta: got 7,", "'beta'"),
    "formula": ('"high"', '"hihg"', "algorithm[1].threshold: got 'hihg'", "'high'?"),
    "theory without beta": (
        '{ kind = "PaymentEfficient", beta = 0.7 }\nthreshold = 0.2',
        '"PaymentFree"\nthreshold = "theory"',
        "algorithm[2].threshold: got 'theory',",
        "the mechanism has none",
    ),
    "theory of beta 0": (
        "beta = 0.7 }\nthreshold = 0.2",
        'beta = 0 }\nthreshold = "theory"',
        "algorithm[2].threshold: 'theory' cannot be computed: beta: got 0,",
        "0 excluded",
    ),
    "costs too few": ("costs = 2.0", "costs = [1.0]", "algorithm[2].costs: got '1 cost',", "4"),
    "cost not finite": ("costs = 2.0", "costs = nan", "algorithm[2].costs: got nan,", "number"),
    "costs negative": (
        "costs = 2.0",
        "costs = [1.0, -1.0, 1.0, 1.0]",
        "algorithm[2].costs[1]: got -1.0,",
        "from 0 to 1e+100",
    ),
    "ridge": ("costs = 2.0", "ridge = 0", "algorithm[2].ridge: got 0,", "from 1e-12 to 1e+12"),
    "no threshold": ("threshold = 0.2", "", "algorithm[2].threshold: is missing", "IncFedUCB"),
    "label twice": ('"paid"', '"altruistic"', "algorithm[2].label: got 'altruistic',", "[1]"),
    "label of two lines": ('"paid"', '"a\\nb"', "algorithm[2].label: got 'a\\nb',", "text"),
    "mechanism is a number": (
        '{ kind = "PaymentEfficient", beta = 0.7 }',
        "7",
        "algorithm[2].mechanism: got 7,",
        "a table, such as { kind =",
    ),
    "not a class of mine": (
        '"PaymentEfficient", beta = 0.7',
        '"own.py:Mein"',
        "algorithm[2].mechanism.kind: own.py has no Mein",
        "'Mine'?",
    ),
    "no mechanism": (
        '"PaymentEfficient", beta = 0.7',
        '"own.py:PayEveryone2"',
        "algorithm[2].mechanism.kind: own.py has no PayEveryone2",
        "PayEveryone",
    ),
    "not finished": (
        '"PaymentEfficient", beta = 0.7',
        '"own.py:Unfinished"',
        "algorithm[2].mechanism.kind: own.py:Unfinished is not finished",
        "decide",
    ),
    "a module": (
        '"PaymentEfficient", beta = 0.7',
        '"math:sin"',
        "algorithm[2].mechanism.kind: math:sin must be a class derived from",
        "incfed.Mechanism",
    ),
    "no such module": (
        '"PaymentEfficient", beta = 0.7',
        '"nowhere.at.all:X"',
        "algorithm[2].mechanism.kind: nowhere.at.all cannot be imported",
        "No module named",
    ),
    "no such file": (
        '"PaymentEfficient", beta = 0.7',
        '"nowhere.py:X"',
        "algorithm[2].mechanism.kind: file not found: ",
        "nowhere.py",
    ),
    "broken file": (
        '"PaymentEfficient", beta = 0.7',
        '"broken.py:X"',
        "algorithm[2].mechanism.kind: broken.py cannot be loaded: NameError",
        "(broken.py, line 2)",
    ),
    "no trace": (
        TOML[TOML.index('kind = "Synthetic"') : TOML.index("[[algorithm]]")],
        'kind = "Trace"\nfile = "no.npz"\n',
        "world.file: got ",
        "existing .npz file",
    ),
    "no arrays": (
        TOML[TOML.index('kind = "Synthetic"') : TOML.index("[[algorithm]]")],
        'kind = "Trace"\nfile = "broken.npz"\n',
        "world.file: ",
        "readable .npz file",
    ),
    "not TOML": ("[run]", "[run", "not a TOML file", "line 1"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named(tmp_path: Path, mistake: str) -> None:
    old, new, place, allowed = MISTAKES[mistake]
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "broken.py").write_text("\nnot_defined\n")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 and nothing more")
    assert old in TOML
    message = refused(tmp_path, TOML.replace(old, new, 1))
    assert message.startswith(place), message
    assert allowed in message
    assert "\n" not in message


def test_missing_parts_are_named(tmp_path: Path) -> None:
    head, first, _ = TOML.split("[[algorithm]]")
    assert refused(tmp_path, head).startswith("algorithm: is missing")
    one = refused(tmp_path, f"{head}[algorithm]{first}")
    assert one == "algorithm: is one table, must be a list of them: write [[algorithm]]"
    assert refused(tmp_path, f"algorithm = []\n{head}").startswith("algorithm: got []")
    assert refused(tmp_path, f"[[algorithm]]{first}").startswith("world: is missing")
    assert refused(tmp_path, f"world = 3\n[[algorithm]]{first}").startswith("world: got 3")
    assert refused(tmp_path, f"run = 3\n[world]{first}").startswith("run: got 3")


@pytest.mark.parametrize("run", [{"steps": 61}, {"steps": 0}])
def test_steps_beyond_a_trace(tmp_path: Path, run: dict[str, Any]) -> None:
    trace(60).save(tmp_path / "log.npz")
    given = tables(**run) | {"world": {"kind": "Trace", "file": "log.npz"}}
    with pytest.raises(InputError, match=rf"config: run\.steps: got {run['steps']}, must be"):
        build(Recipe(given, tmp_path))


def test_a_config_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"config file not found: .*no\.toml\. .*incfed init"):
        read(tmp_path / "no.toml")
    with pytest.raises(InputError, match="cannot read"):
        read(tmp_path)


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(TOML, encoding="utf-8-sig")
    assert read(tmp_path / "a.toml", seeds=3).seeds == (0, 1, 2)


def test_the_template_is_a_config(tmp_path: Path) -> None:
    made = read(write_new(tmp_path, *TEMPLATE))
    assert (len(made.entries), len(made.seeds)) == (5, 3)
    with pytest.raises(InputError, match="--force"):
        write_new(tmp_path, *TEMPLATE)
    (tmp_path / "incfed.toml").write_text("mine")
    write_new(tmp_path / "incfed.toml", *TEMPLATE, force=True)
    assert "incfed run incfed.toml" in (tmp_path / "incfed.toml").read_text()
    with pytest.raises(InputError, match="existing folder"):
        write_new(tmp_path / "no" / "x.toml", *TEMPLATE)


def test_the_file_and_the_tables_are_the_same_experiment(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(TOML)
    one, two = read(tmp_path / "a.toml"), experiment(tmp_path)
    assert fingerprints(one) == fingerprints(two)
    assert len(one.cells) == 4

"""Learners that talk to a server by messages go the way of the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from incfed.protocol.client import Learner
from incfed.protocol.synchronous import Synchronous
from incfed.simulation import Simulation
from support.aggregator import Aggregator
from support.worlds import MECHANISMS, Kind, costs, mechanisms, settings_of_a_run, traces


def play(
    world: incfed.Trace, algorithm: incfed.IncFedUCB | incfed.Independent
) -> tuple[list[float], list[tuple[int, list[int], list[float], float]], Aggregator]:
    """The trace in step: a round is over before anybody acts again."""
    rules, protocol = algorithm.rules(world.dim), algorithm.protocol
    mechanism: Any = incfed.PayEveryone()
    if isinstance(protocol, Synchronous):
        mechanism = protocol.rules.mechanism
    prices = algorithm.prices(world.count)
    trust = getattr(algorithm, "trust", np.inf)
    each = [trust] * world.count if isinstance(trust, str | float) else trust
    clients = [Learner(world.dim, rules, one) for one in each]
    aggregator = Aggregator(world.count, world.dim, mechanism, rules.ridge)
    rewards: list[float] = []
    rounds: list[tuple[int, list[int], list[float], float]] = []
    acted = [0] * world.count
    for t, who in enumerate(world.clients.tolist()):
        acted[who] = aggregator.epoch
        arms = world.items[world.arms[t]]
        picked = clients[who].choose(arms)
        rewards.append(float(world.rewards[t, picked]))
        if not clients[who].learn(arms[picked], rewards[-1]):
            continue
        number = len(rounds)
        steps = [one.pending_steps for one in clients]
        uploads = {i: one.freeze(number, prices[i]) for i, one in enumerate(clients)}
        opened, decision = aggregator.decide(uploads)
        _, closed = aggregator.close(opened, decision, lambda i: clients[i].deliver(number))  # noqa: B023
        for i in closed.participants.tolist():
            aggregator.pool(clients[i].scores(number), steps[i])
        rounds.append(
            (t, closed.participants.tolist(), closed.payments.tolist(), closed.communication)
        )
        for i, one in enumerate(clients):
            rounds_of = {aggregator.epoch: number}
            one.take_in(aggregator.download(i, one.epoch, rounds_of, acted[i]))
    return rewards, rounds, aggregator


@settings(max_examples=60)
@given(traces(), st.data())
def test_alone_a_learner_is_the_simulators_client(world: incfed.Trace, data: st.DataObject) -> None:
    options = data.draw(settings_of_a_run())
    algorithm = incfed.Independent(
        **{name: options[name] for name in ("ridge", "noise", "delta", "exploration")}
    )
    rewards, rounds, _ = play(world, algorithm)
    assert not rounds
    np.testing.assert_array_equal(np.cumsum(rewards), incfed.simulate(world, algorithm).reward)


@settings(max_examples=100)
@given(traces(), mechanisms(), st.data())
def test_a_federation_in_step_is_the_simulators(
    world: incfed.Trace, mechanism: Kind, data: st.DataObject
) -> None:
    # a threshold of exactly 0 leaves it to rounding whether a step taught something
    options: dict[str, Any] = data.draw(settings_of_a_run((1e-6, 0.05, 0.5, 3.0, 20.0)))
    options |= {"reads": "fresh", "clocks": "all"}
    options["trust"] = data.draw(
        st.sampled_from([np.inf, np.inf, 0.0, 2.0, "auto", [2.0 * i for i in range(world.count)]])
    )
    algorithm = incfed.IncFedUCB(
        mechanism=MECHANISMS[mechanism[0]](**mechanism[1]),
        costs=data.draw(costs(world.count)),
        **options,
    )
    run = Simulation(world, algorithm)
    run.advance(len(world.clients))
    expected = run.result()
    rewards, rounds, aggregator = play(world, algorithm)
    np.testing.assert_array_equal(np.cumsum(rewards), expected.reward)
    assert [one[0] for one in rounds] == expected.rounds.step.tolist()
    for k, (_, participants, payments, communication) in enumerate(rounds):
        place = slice(expected.rounds.offsets[k], expected.rounds.offsets[k + 1])
        assert participants == expected.rounds.participants[place].tolist()
        assert payments == pytest.approx(
            expected.rounds.payments[place].tolist(), rel=1e-9, abs=1e-9
        )
        if options["trust"] != "auto":  # the aggregator does not count scores
            assert communication == expected.rounds.communication[k]
    shared = run._run.shared
    np.testing.assert_allclose(aggregator.server.shared.V, shared.V, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(aggregator.server.shared.b, shared.b, rtol=1e-9, atol=1e-9)

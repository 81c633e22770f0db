"""Nothing that matters depends on the processor: how it rounds shows in the last digits only."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import incfed
from support.cli import INCFED
from support.docs import ROOT
from support.federation import eventful, federate, run_in_step, synthetic

# Kernels without SIMD and fused operations, and the BLAS of an old processor; what is compiled here
# is found by `make generic`. In a folder apart: numba may mix up what two processes write at once.
GENERIC = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CACHE_DIR": str(ROOT / ".generic_cache"),
    "OPENBLAS_CORETYPE": "Nehalem",
}
NATIVE = {name: value for name, value in os.environ.items() if GENERIC.get(name) != value}
ENVIRONMENTS = {"native": NATIVE, "generic": {**NATIVE, **GENERIC}}
ALGORITHM = incfed.IncFedUCB(incfed.PaymentEfficient(beta=0.7), threshold=0.5, costs=2.0)


def make(folder: Path, file: Path) -> None:
    """Two ledgers with their configs, and what a simulation came to, of the trace in that file."""
    trace = incfed.Trace.load(file)
    federation = federate(folder / "long.db", trace, ALGORITHM)
    run_in_step(trace, ALGORITHM, federation)
    for one in (federation, eventful(folder / "eventful.db")):
        one.store.close()
    for name in ("long", "eventful"):
        (folder / f"{name}.toml").write_text(
            f'[federation]\ndim = 2\nmechanism = "PayEveryone"\nthreshold = 1.0\nbudget = "none"\n'
            f'[server]\ndatabase = "sqlite:///{name}.db"\n'
        )
    result = incfed.simulate(trace, ALGORITHM)
    rounds = result.rounds
    np.savez(
        folder / "simulated.npz",
        reward=result.reward, participants=rounds.participants, payments=rounds.payments,
    )  # fmt: skip


def run(folder: Path, environment: Mapping[str, str], *command: str) -> str:
    tests = os.pathsep.join([str(ROOT / "tests"), environment.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, cwd=folder, env={**environment, "PYTHONPATH": tests},
        capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_one_processor_decided_another_finds_right(tmp_path: Path) -> None:
    """Both ways round."""
    synthetic(count=5, steps=300).save(tmp_path / "trace.npz")
    simulated = []
    for maker, auditor in (("native", "generic"), ("generic", "native")):
        folder = tmp_path / maker
        folder.mkdir()
        code = f"from {__name__} import *; make(Path(), Path('../trace.npz'))"
        run(folder, ENVIRONMENTS[maker], sys.executable, "-c", code)
        for name in ("long", "eventful"):
            audit = (*INCFED, "ledger", "audit", "--config", f"{name}.toml")
            said = run(folder, ENVIRONMENTS[auditor], *audit)
            assert "every decision and payment recomputed: clean" in said
        with np.load(folder / "simulated.npz") as arrays:
            simulated.append(dict(arrays))
    one, two = simulated
    np.testing.assert_array_equal(one["reward"], two["reward"])  # the same choices
    np.testing.assert_array_equal(one["participants"], two["participants"])
    np.testing.assert_allclose(one["payments"], two["payments"], rtol=1e-9, atol=1e-9)

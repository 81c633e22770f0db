"""Small logs of all forms, for the tests of ReplayLog."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import incfed
from incfed.environments.logs.world import LogStream
from reference.mechanisms import FloatArray


@dataclass
class Sample:
    """Events of various lengths over a table of items; written to files in each of the forms."""

    clients: list[str]
    candidates: list[list[int]]
    chosen: list[int]  # index
    rewards: list[float]
    items: FloatArray  # [M, d]

    @classmethod
    def random(
        cls, events: int = 60, most: int = 5, items: int = 12, dim: int = 3, seed: int = 0
    ) -> Sample:
        chance = np.random.default_rng(seed)
        sizes = chance.integers(1, most + 1, events)
        shown = [chance.permutation(items)[:size].tolist() for size in sizes]
        return cls(
            clients=[f"u{n}" for n in chance.integers(0, 7, events)],
            candidates=shown,
            chosen=[int(chance.integers(0, size)) for size in sizes],
            rewards=chance.standard_normal(events).round(3).tolist(),
            items=chance.standard_normal((items, dim)).round(3),
        )

    @property
    def events(self) -> pl.DataFrame:
        picked = [shown[k] for shown, k in zip(self.candidates, self.chosen, strict=True)]
        return pl.DataFrame(
            {
                "client": self.clients,
                "candidates": self.candidates,
                "chosen": picked,
                "reward": self.rewards,
            }
        )

    @property
    def table(self) -> pl.DataFrame:
        columns = {f"x{n}": self.items[:, n] for n in range(self.items.shape[1])}
        return pl.DataFrame({"item": np.arange(len(self.items)), **columns})

    @property
    def long(self) -> pl.DataFrame:
        """One row a candidate, by id and by features; rewards beside the chosen one only."""
        rows = [
            {
                "event": f"e{t}",
                "client": self.clients[t],
                "item": item,
                **{f"x{n}": x for n, x in enumerate(self.items[item])},
                "chosen": int(k == self.chosen[t]),
                "reward": self.rewards[t] if k == self.chosen[t] else None,
            }
            for t, shown in enumerate(self.candidates)
            for k, item in enumerate(shown)
        ]
        return pl.DataFrame(rows)

    def open(self, form: str, folder: Path, mode: str = "replay", **more: Any) -> incfed.ReplayLog:
        """The log in one of FORMS, read back."""
        events, table = self.events, self.table
        ids, texts = folder / "items.parquet", folder / "items.csv"
        table.write_parquet(ids)
        table.write_csv(texts)
        joined = pl.col("candidates").cast(pl.List(pl.String)).list.join("|")
        names = [f"x{n}" for n in range(self.items.shape[1])]
        features = [self.items[shown].tolist() for shown in self.candidates]
        inline = events.with_columns(chosen=pl.Series(self.chosen))
        if form == "ids":
            events.write_parquet(folder / "log.parquet")
            more = {"file": "log.parquet", "items": ids, **more}
        elif form == "text ids":
            texted = pl.col("candidates").cast(pl.List(pl.String)), pl.col("chosen").cast(pl.String)
            events.with_columns(*texted).write_parquet(folder / "log.pq")
            more = {"file": "log.pq", "items": ids, **more}
        elif form == "csv ids":
            events.with_columns(joined).write_csv(folder / "log.csv")
            more = {"file": "log.csv", "items": texts, **more}
        elif form == "csv ids, typed items":
            events.with_columns(joined).write_csv(folder / "log.csv")
            more = {"file": "log.csv", "items": ids, **more}
        elif form == "inline":
            inline.with_columns(features=pl.Series(features)).write_parquet(folder / "log.parquet")
            more = {"file": "log.parquet", **more}
        elif form == "csv inline":
            text = ["|".join(",".join(map(str, x)) for x in event) for event in features]
            inline = inline.drop("candidates").with_columns(features=pl.Series(text))
            inline.write_csv(folder / "log.csv")
            more = {"file": "log.csv", **more}
        elif form == "long ids":
            self.long.write_csv(folder / "log.csv")
            more = {"file": "log.csv", "items": texts, "event": "event", **more}
        elif form == "long features":
            self.long.write_csv(folder / "log.csv")
            more = {"file": "log.csv", "event": "event", "features": names, **more}
        elif form == "long, mixed up":
            self.long.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(folder / "a.parquet")
            more = {"file": "a.parquet", "event": "event", "features": names, **more}
        else:
            raise ValueError(form)
        return incfed.ReplayLog(folder / more.pop("file"), mode=mode, **more)


FORMS = [
    "ids", "text ids", "csv ids", "csv ids, typed items", "inline", "csv inline", "long ids",
    "long features",
]  # fmt: skip


def told(world: incfed.ReplayLog) -> tuple[list[int], list[FloatArray], list[list[float | None]]]:
    """Who acted, the candidates' features in the order of the file, and the rewards with None where
    nobody knows; the padding taken away again."""
    stream = LogStream(world, None)
    taken = stream.take(world.length)
    unlike = np.diff(taken.arms, axis=1, prepend=-1) != 0
    shown = [stream.items[arms[one]] for arms, one in zip(taken.arms, unlike, strict=True)]
    rewards = [
        [None if np.isnan(y) else float(y) for y in row[one]]
        for row, one in zip(taken.rewards, unlike, strict=True)
    ]
    assert np.isnan(taken.expected).all()
    return taken.clients.tolist(), shown, rewards

"""A client's process that does what it is told on stdin, a line at a time.

    python stepping_client.py URL TOKEN FOLDER COST TRACE.npz

"act T" chooses among the arms of step T, learns, waits for the round if that calls for one, and
answers with the pick and its epoch; "sync" catches up.
"""

from __future__ import annotations

import sys

import incfed


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(url: str, token: str, folder: str, cost: str, file: str) -> None:
    trace = incfed.Trace.load(file)
    with incfed.Client(url, token, folder, cost=float(cost)) as client:
        say("ready")
        for line in sys.stdin:
            word, *rest = line.split()
            if word == "act":
                t = int(rest[0])
                arms = trace.items[trace.arms[t]]
                picked = client.choose(arms)
                client.learn(arms[picked], float(trace.rewards[t, picked]))
                client.sync(60.0)
                say(f"{picked} {client.epoch}")
            else:
                client.sync(60.0)
                say(f"{client.epoch}")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A real federation on this machine: a coordinator in a process of its own, and two clients."""

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np

import incfed

with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
Path("federation.toml").write_text(f"""[federation]
dim = 3
mechanism = "PayEveryone"
threshold = 2.0
budget = 100.0
[server]
port = {port}
operator_port = 0  # any that is free
""")
COMMAND, URL = [sys.executable, "-m", "incfed"], f"http://127.0.0.1:{port}"
enrol = [*COMMAND, "client", "enrol"]
tokens = {  # in a real federation, each is given to one member
    name: subprocess.run([*enrol, name], capture_output=True, text=True, check=True).stdout.strip()
    for name in ("ann", "bob")
}
coordinator = subprocess.Popen([*COMMAND, "serve"], stderr=subprocess.DEVNULL)
try:
    while coordinator.poll() is None:  # until it answers
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{URL}/healthz", timeout=10):
            break
        time.sleep(0.05)
    chance, taste = np.random.default_rng(0), np.array([0.6, 0.0, 0.8])
    with (
        incfed.Client(URL, tokens["ann"], state="state/ann", cost=9.0) as ann,
        incfed.Client(URL, tokens["bob"], state="state/bob", cost=9.0) as bob,
    ):
        for client in (ann, bob) * 20:  # in a real federation, each in its own application
            arms = chance.standard_normal((4, 3)) / 4
            picked = client.choose(arms)
            client.learn(arms[picked], float(arms[picked] @ taste))
        for client in (ann, bob):
            client.sync(timeout=60)
            print(f"{client.name}: {client.steps} steps, shared {client.steps - client.pending}")
finally:
    coordinator.terminate()
    coordinator.wait()
audit = subprocess.run([*COMMAND, "ledger", "audit"], capture_output=True, text=True, check=True)
print(audit.stdout.strip().splitlines()[0])

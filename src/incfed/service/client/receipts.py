"""Receipts: what this client did, and the heads of the ledger that the coordinator showed it.

A line of the file is written, durably, when the coordinator has confirmed an act. With it, `incfed
ledger verify` proves that the ledger holds that act, once and unchanged. If the coordinator shows a
ledger that does not extend an earlier one, it is a *fork*, and the client halts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ...errors import InputError
from ...protocol.heads import Head, Proof
from .. import codec, requests
from ..requests import Request
from .state_folder import for_its_owner, sync_names
from .transport import ServiceError

RECEIPTS = "receipts"  # the file
MOST_HEADS = 1000  # that are compared with new ones
OFTEN = 1000  # entries after which a proof is asked for


class Fork(InputError):
    """The coordinator's ledger is not the one that this client has seen before."""


class Receipt(NamedTuple):
    """An act that the coordinator has confirmed."""

    head: Head  # the ledger's, with the reply
    entry: int | None  # None: it was confirmed before, and that reply was lost
    kind: str  # of the entry
    fields: dict[str, Any]  # of the statement
    signature: str


class Receipts:
    """The receipts of the client in this folder; for the background thread."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / RECEIPTS
        self._heads: dict[int, Head] = {}
        self._proved, self.last = 0, Head(0, "0" * 64, "0" * 64)
        self._entry = 0
        for receipt in read_receipts(folder):
            self._remember(receipt.head)
            self._entry = max(self._entry, receipt.entry or 0)

    def see(self, headers: Mapping[str, str]) -> None:
        """Compare the head of a reply with those seen before."""
        try:
            head = Head.read(headers.get(requests.HEAD.lower(), ""))
        except ValueError:  # what answered is no coordinator: a proxy, perhaps
            return
        if self._heads.get(head.number, head) != head:
            raise self._fork(f"it shows another entry {head.number} than before")
        self._remember(head)

    def keep(
        self, request: Request, kind: str, fields: Mapping[str, Any], headers: Mapping[str, str]
    ) -> None:
        """An act was confirmed."""
        said = headers.get(requests.ENTRY.lower(), "")
        entry = int(said) if said.isdecimal() else None
        if not self.last.number or request.signature is None:
            return
        if entry is not None and entry <= self._entry:
            raise self._fork(f"entry {entry} was another one before")
        self._entry = max(self._entry, entry or 0)
        line = {"head": str(self.last), "entry": entry, "kind": kind, "fields": fields,
                "signature": request.signature}  # fmt: skip
        new = not self.path.exists()
        with open(self.path, "a+b", opener=for_its_owner) as file:
            if file.tell() and not _ends(file):  # a crash cut the last line off
                file.write(b"\n")
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        if new:
            sync_names(self.path.parent)

    @property
    def due(self) -> bool:
        """Is it time to ask for a proof?"""
        return self.last.number - self._proved >= OFTEN

    def question(self) -> Request:
        return requests.get_proof(self.last.number)

    def check(self, status: int, reply: Any) -> None:
        """The reply to `question`: does the ledger extend the one that was last seen?"""
        refused = None if status == 200 else ServiceError(status, reply)
        if refused is not None and refused.field != "since":
            raise refused
        proof = None if refused else codec.reply(lambda: codec.read_proof(reply))
        if proof is None or not proof.head.extends(self.last, proof.consistency):
            raise self._fork(f"it does not extend that of entry {self.last.number}")
        self._remember(proof.head)
        self._proved = self.last.number

    def _remember(self, head: Head) -> None:
        self._heads[head.number] = head
        if len(self._heads) > MOST_HEADS:
            del self._heads[min(self._heads)]
        self.last = max(self.last, head)

    def _fork(self, why: str) -> Fork:
        return Fork(
            f"ledger: {why}. The coordinator has lost or changed entries, or shows its members "
            f"different ledgers. {self.path} proves it: keep that file (docs/ledger.md, Forks)"
        )


def read_receipts(folder: Path) -> Iterator[Receipt]:
    """All of them; a last line that is incomplete does not count."""
    try:
        lines = (folder / RECEIPTS).read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            said = json.loads(line)
            head = Head.read(said["head"])
            yield Receipt(head, said["entry"], said["kind"], said["fields"], said["signature"])
        except (ValueError, KeyError, TypeError):
            continue


def _ends(file: BinaryIO) -> bool:
    """Does the last line end?"""
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def faults(proof: Proof, older: Head) -> list[str]:
    """List what a proof fails to prove."""
    found = []
    if not proof.head.extends(older, proof.consistency):
        found.append(f"the ledger does not extend the one that was seen at entry {older.number}")
    found += [
        f"entry {entry.number} is not proved to be in the ledger"
        for entry in proof.entries
        if not proof.head.includes(entry)
    ]
    return found

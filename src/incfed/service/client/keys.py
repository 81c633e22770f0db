"""A client's key pair, with which it signs its uploads, answers and deliveries.

The private key is made by the client, and never leaves its state folder. The public key is
registered with the coordinator once, by the client's token.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ... import errors
from ...protocol.floats import to_bytes
from ...protocol.packing import combine
from ...protocol.statements import (
    ANSWERED,
    DELIVERED,
    STREAMED,
    UPLOADED,
    statement,
    stream_fields,
    upload_fields,
)
from ...protocol.triggers import ROWS
from ...support.signing import (
    KEY_BYTES,
    digest,
    new_key,
    public_key,
    read_bytes,
    sign,
    to_base64,
)
from .. import binary, requests
from ..requests import Request
from .durable_learner import DurableLearner
from .state_folder import sync_names

KEY = "key"  # the file
# of requests
KINDS = {"upload": UPLOADED, "answer": ANSWERED, "delivery": DELIVERED, "signal": STREAMED}


class Signer:
    """Signs for the client whose state is in this folder."""

    def __init__(self, durable: DurableLearner) -> None:
        self._durable = durable

    @cached_property
    def private(self) -> bytes:
        return load_or_create(self._durable.folder)

    @cached_property
    def public(self) -> str:
        return public_key(self.private)

    @property
    def unregistered(self) -> bool:
        """Does the coordinator not know this key yet?"""
        return self._durable.settings.key != self.public

    def registration(self) -> Request:
        return requests.put_key(self.public)

    def registered(self) -> None:
        self._durable.settings = replace(self._durable.settings, key=self.public)

    def signs(self, request: Request) -> bool:
        """Is it one of those that are signed? A signal is if it may become an upload."""
        kind, streams = request.kind, self._durable.streams
        return kind in KINDS and (kind != "signal" or streams == ROWS)

    def signed(self, request: Request) -> Request:
        """The request, signed if it is one of those that are."""
        if not self.signs(request):
            return request
        federation, kind = self._durable.settings.federation, KINDS[request.kind]
        said = statement(federation, kind, self.fields(request))
        return request._replace(signature=sign(self.private, said))

    def fields(self, request: Request) -> Mapping[str, Any]:
        """What the ledger will say of it: read from the request, as the coordinator reads it."""
        settings, number, body = self._durable.settings, request.number, request.body
        client, dim = settings.client.id, settings.dim
        about = {"round": number, "client": client}
        if isinstance(body, dict):  # an answer: the others are packed
            return about | body
        assert body is not None
        if request.kind == "upload":
            return upload_fields(client, binary.read_upload(number, body, dim))
        if request.kind == "signal":
            said = binary.read_signal(body, dim)
            return stream_fields(client, said, self._durable.stream, number)
        frozen = self._durable.learner.frozen
        assert frozen is not None  # it is what is delivered
        delivery = binary.read_delivery(number, body, dim)
        db = delivery.db
        if delivery.basis is not None:
            db = combine(frozen.sent.packed(), db)
        price = {"steps": frozen.sent.steps, "cost": self._durable.cost or 0.0}
        return about | price | {"db": digest(to_bytes(db))}


def load_or_create(folder: Path) -> bytes:
    """The private key, durable when this returns."""
    path = folder / KEY
    try:
        kept = read_bytes(path.read_text(encoding="ascii").strip(), KEY_BYTES)
    except FileNotFoundError:
        return _create(path)
    except (OSError, ValueError):
        kept = None
    if kept is None:
        allowed = (
            f"{KEY_BYTES} bytes in base64, readable. If it is lost, delete it and let the operator "
            "run: incfed client reset-key"
        )
        raise errors.refuse("key", str(path), allowed)
    return kept


def _create(path: Path) -> bytes:
    key = new_key()
    temporary = path.with_suffix(".tmp")
    temporary.unlink(missing_ok=True)
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, to_base64(key).encode())
        os.fsync(file)
    finally:
        os.close(file)
    os.replace(temporary, path)
    sync_names(path.parent)
    return key

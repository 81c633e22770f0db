"""Digests, canonical JSON, and signatures (Ed25519) over it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from .extras import needs

KEY_BYTES, SIGNATURE_BYTES = 32, 64


def canonical(body: Mapping[str, Any]) -> str:
    """The one JSON text of a body: sorted keys, no spaces, floats as their shortest exact repr."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(data: bytes | str) -> str:
    """SHA-256, which entries have in place of blobs."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def new_key() -> bytes:
    """A private key."""
    return os.urandom(KEY_BYTES)


def public_key(private: bytes) -> str:
    """The public key that belongs to it, in base64."""
    return to_base64(_private(private).public_key().public_bytes_raw())


def sign(private: bytes, message: bytes) -> str:
    """The signature, in base64."""
    return to_base64(_private(private).sign(message))


def verify(public: str, message: bytes, signature: str) -> bool:
    """Was the message signed with the private key that belongs to `public`?"""
    with needs("cryptography", "a signature", "service"):
        from cryptography.exceptions import InvalidSignature
    key, signed = _public(str(public)), read_bytes(signature, SIGNATURE_BYTES)
    if key is None or signed is None:
        return False
    try:
        key.verify(signed, message)
    except InvalidSignature:
        return False
    return True


def read_bytes(text: object, count: int) -> bytes | None:
    """So many bytes from base64; None: it is something else, or written in another way."""
    try:
        found = base64.b64decode(str(text), validate=True)
    except ValueError:
        return None
    return found if len(found) == count and to_base64(found) == text else None


@lru_cache(maxsize=1024)
def _public(key: str) -> Any:
    """None: it is none."""
    with needs("cryptography", "a signature", "service"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    found = read_bytes(key, KEY_BYTES)
    return None if found is None else Ed25519PublicKey.from_public_bytes(found)


def _private(key: bytes) -> Any:
    with needs("cryptography", "a signature", "client"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    return Ed25519PrivateKey.from_private_bytes(key)


def to_base64(data: bytes) -> str:
    """As `read_bytes` reads it."""
    return base64.b64encode(data).decode("ascii")

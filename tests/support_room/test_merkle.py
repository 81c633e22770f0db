"""The Merkle tree against the recursive definitions of RFC 9162, for every size and position."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import pytest

from incfed.support import merkle
from incfed.support.merkle import MerkleTree, extends, includes, leaf

DATA = [f"entry {n}".encode() for n in range(64)]
LEAVES = [leaf(one) for one in DATA]


def mth(data: Sequence[bytes]) -> bytes:
    """MTH(D_n), word for word."""
    n = len(data)
    if n == 0:
        return hashlib.sha256(b"").digest()
    if n == 1:
        return hashlib.sha256(b"\x00" + data[0]).digest()
    k = next(1 << e for e in range(6, -1, -1) if 1 << e < n)
    return hashlib.sha256(b"\x01" + mth(data[:k]) + mth(data[k:])).digest()


def grown(size: int) -> MerkleTree:
    tree = MerkleTree(lambda first, end: LEAVES[first:end])
    for one in LEAVES[:size]:
        tree.append(one)
    return tree


@pytest.fixture(params=[2, 8, 256])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(merkle, "BLOCK", request.param)
    return int(request.param)


def test_roots_are_those_of_the_definition(block: int) -> None:
    tree = grown(64)
    for size in range(65):
        assert merkle.root(LEAVES[:size]) == grown(size).root() == tree.root(size)
        assert tree.root(size) == mth(DATA[:size])


def test_worked_by_hand() -> None:
    a, b, c = LEAVES[:3]
    ab = hashlib.sha256(b"\x01" + a + b).digest()
    assert grown(3).root() == hashlib.sha256(b"\x01" + ab + c).digest()
    assert grown(3).inclusion(0, 3) == [b, c]
    assert grown(3).inclusion(2, 3) == [ab]
    assert grown(3).consistency(2, 3) == [c]
    assert grown(3).consistency(1, 3) == [b, c]


def test_every_entry_of_every_size_is_proved(block: int) -> None:
    tree = grown(64)
    for size in range(1, 65):
        top = tree.root(size)
        for index in range(size):
            path = tree.inclusion(index, size)
            assert len(path) <= (size - 1).bit_length()
            assert includes(top, size, index, LEAVES[index], path)
            assert not includes(top, size, index, LEAVES[(index + 1) % 64], path)
            for other in {index ^ 1, (index + 2) % size} - {index}:
                assert not includes(top, size, other, LEAVES[index], path)


def test_every_size_extends_every_smaller_one(block: int) -> None:
    tree = grown(64)
    for size in range(65):
        for old in range(size + 1):
            proof = tree.consistency(old, size)
            assert extends(tree.root(old), old, tree.root(size), size, proof)
            if old and old < size:
                assert not extends(LEAVES[0] + b"x", old, tree.root(size), size, proof)
                assert not extends(tree.root(old), old, tree.root(size - 1), size, proof)
                assert not extends(tree.root(old), old, tree.root(size), size, proof[:-1])
                assert not extends(tree.root(old), old, tree.root(size), size, [*proof, proof[0]])


def test_any_changed_byte_breaks_a_proof() -> None:
    tree, size, old, index = grown(64), 53, 21, 40
    path, proof = tree.inclusion(index, size), tree.consistency(old, size)
    then, now = tree.root(old), tree.root(size)
    checks: list[tuple[list[bytes], Callable[[list[bytes]], bool]]] = [
        (path, lambda it: includes(now, size, index, LEAVES[index], it)),
        (proof, lambda it: extends(then, old, now, size, it)),
    ]
    for hashes, holds in checks:
        assert holds(hashes)
        for n, one in enumerate(hashes):
            for k in range(32):
                wrong = one[:k] + bytes([one[k] ^ 1]) + one[k + 1 :]
                assert not holds([*hashes[:n], wrong, *hashes[n + 1 :]])


@pytest.mark.parametrize(("old", "new"), [(-1, 3), (4, 3), (0, 3)])
def test_impossible_sizes_prove_nothing(old: int, new: int) -> None:
    tree = grown(3)
    assert not extends(tree.root(3), old, tree.root(3), new, [LEAVES[0]])
    assert not includes(tree.root(3), 3, 3, LEAVES[0], [])
    assert not includes(tree.root(3), 3, -1, LEAVES[0], [])

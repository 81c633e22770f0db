"""Addresses: which stay on this machine, and which belong to one caller."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network


def is_loopback(host: str) -> bool:
    """Whether what is sent to this host never leaves the machine."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


@lru_cache(4096)
def caller(address: str) -> str:
    """Whom to count for this address: an IPv6 network of 64 bits is usually one caller's."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return address
    return str(found.ipv4_mapped or ip_network((int(found) >> 64 << 64, 64)))

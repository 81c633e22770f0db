"""What would keep a coordinator from serving, found out before it starts."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from ...support.inputs import refuse
from .config import Server


def check(server: Server) -> None:
    """InputError, by the name of the setting: a certificate, its key, the address to listen at."""
    if server.certificate is not None and server.key is not None:
        _check_certificate(server.certificate, server.key)
    try:
        found = socket.getaddrinfo(
            server.host, server.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        raise refuse("server.host", server.host, "an address of this machine") from None
    for family, kind, number, _, address in found:
        with socket.socket(family, kind, number) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                one.bind(address)
                one.listen(1)  # a port that is only bound to can be bound to again
            except OSError as error:
                why = (error.strerror or str(error)).lower()
                allowed = f"free to listen at on {server.host} ({why})"
                raise refuse("server.port", server.port, allowed) from None


def _check_certificate(certificate: Path, key: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:  # its certificates can be read as trusted ones, too
        context.load_verify_locations(certificate)
    except (OSError, ssl.SSLError) as error:
        why = getattr(error, "reason", None) or error.strerror
        raise refuse("server.certificate", str(certificate), f"in PEM ({why})") from None
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        why = getattr(error, "reason", None) or error.strerror
        allowed = f"the key of the certificate, in PEM, without a password ({why})"
        raise refuse("server.key", str(key), allowed) from None

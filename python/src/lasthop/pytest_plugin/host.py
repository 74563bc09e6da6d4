"""The other end of a test's link: sockets on the host, for a test that is behind the link.

A socket belongs to the network in which it was created, whoever uses it. A helper process on the
host (`host_process.py`) creates the sockets and passes them on over a Unix socket.
"""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

from lasthop._errors import LasthopError

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self


class HostEnd:
    """The host's end of the link, where servers of a marked test belong."""

    def __init__(self, place: str, address: str) -> None:
        """Connect to the helper process at the Unix socket `place`."""
        self._process = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process.connect(place)
        self._sockets: list[socket.socket] = []
        # Connecting a UDP socket chooses its address and sends nothing.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            self._process.sendall(json.dumps({"towards": probe.getsockname()[0]}).encode())
        self.address: str = self._process.recv(4096).decode()
        """Address of these sockets for the test. It is that of `host.lasthop`, except for an
        ordinary user with pasta: `host.lasthop` is then a host beyond the end of the link."""

    def listen(self, port: int = 0, *, backlog: int = 128) -> socket.socket:
        """Return a TCP socket that listens on the host, at `port` or a free port.

        Servers that take a socket can use it: `asyncio.start_server(..., sock=host.listen())`.
        The test reaches it at `address` and `getsockname()[1]`. It is closed with the test.
        """
        return self._request(type=int(socket.SOCK_STREAM), port=port, backlog=backlog)

    def udp(self, port: int = 0) -> socket.socket:
        """Return a UDP socket on the host, bound to `port` or a free port."""
        return self._request(type=int(socket.SOCK_DGRAM), port=port)

    def tcp(self) -> socket.socket:
        """Return a TCP socket on the host that is not connected, for a client there.

        It reaches a server of the test at the test's address behind the link.
        """
        return self._request(type=int(socket.SOCK_STREAM))

    def _request(self, **wanted: int) -> socket.socket:
        self._process.sendall(json.dumps(wanted).encode())
        answer, descriptors, _, _ = socket.recv_fds(self._process, 4096, 1)
        if not descriptors:
            reason = answer.decode() or "its process on the host has ended"
            raise LasthopError(f"lasthop_host: no socket for {wanted}: {reason}")
        created = socket.socket(fileno=descriptors[0])
        self._sockets.append(created)
        return created

    def close(self) -> None:
        """Close all sockets."""
        for one in [*self._sockets, self._process]:
            one.close()

    def __enter__(self) -> Self:
        """Return the end, connected."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close all sockets."""
        self.close()

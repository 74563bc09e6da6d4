#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Receives a file by HTTP: its header undamaged, its body with TCP Lite, and says where damage lies. See tcp_lite(7).

    lasthop tcp-lite run --on-request -- ./receive.py 198.51.100.1 8000 /picture.jpg > picture.jpg
"""
import re
import socket
import struct
import sys

TCP_LITE = 0x4C54
TCP_LITE_WINDOW = 0x4C55
TCP_LITE_STATS = 0x4C56
TCP_LITE_RANGES = 0x4C57
# struct tcp_lite_stats: seven counters, and sixteen by reason; struct tcp_lite_ranges: two numbers,
# and 63 pairs.
STATS = struct.Struct("=7Q16Q")
RANGES = struct.Struct("=2I126Q")


def main(host, port, path):
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        header = b""
        # One byte at a time, since what follows belongs to the body.
        while not header.endswith(b"\r\n\r\n"):
            header += connection.recv(1) or sys.exit("the response ends within its header")
        length = re.search(rb"\r\nContent-Length: *(\d+)", header, re.IGNORECASE)
        if not length:
            sys.exit("the response has no Content-Length")
        window = struct.pack("=2Q", len(header), int(length[1]))
        try:
            # The window first, so that nothing outside of it is ever accepted.
            connection.setsockopt(socket.IPPROTO_TCP, TCP_LITE_WINDOW, window)
            connection.setsockopt(socket.IPPROTO_TCP, TCP_LITE, 1)
        except OSError as error:
            print(f"continuing without TCP Lite: {error.strerror}", file=sys.stderr)
            is_lite = False
        else:
            is_lite = True
        while body := connection.recv(65536):
            sys.stdout.buffer.write(body)
        if not is_lite:
            return
        damaged, accepted, *_ = STATS.unpack(connection.getsockopt(socket.IPPROTO_TCP, TCP_LITE_STATS, STATS.size))
        count, overflow, *bounds = RANGES.unpack(connection.getsockopt(socket.IPPROTO_TCP, TCP_LITE_RANGES, RANGES.size))
        print(f"{damaged} damaged segments, {accepted} accepted", file=sys.stderr)
        for start, end in list(zip(bounds[::2], bounds[1::2]))[:count]:
            print(f"bytes {start - len(header)} to {end - len(header) - 1} of the body may be damaged", file=sys.stderr)
        if overflow:
            print("earlier bytes may be damaged, too", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} HOST PORT PATH")
    main(*sys.argv[1:])

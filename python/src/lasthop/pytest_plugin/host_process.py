"""The helper process of `host.py`: `lasthop link --serve` runs it on the host.

It creates sockets for the test behind the link, and runs the shell line of the mark's `serve`.

    python host_process.py SOCKET [LINE]
"""

import json
import socket
import subprocess
import sys
import threading


def main() -> None:
    """Serve requests until this process is ended with the link."""
    place, *line = sys.argv[1:]
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    unix.bind(place)
    unix.listen()
    threading.Thread(target=accept, args=(unix,), daemon=bool(line)).start()
    if line:
        sys.exit(subprocess.call(["/bin/sh", "-c", line[0]]))
    # lasthop starts the test when there is a new listener, or after 5 s.
    with socket.create_server(("127.0.0.1", 0)):
        threading.Event().wait()


def accept(unix: socket.socket) -> None:
    """Serve each test process that connects."""
    while True:
        connection, _ = unix.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def answer(connection: socket.socket) -> None:
    """Answer each request with a socket, or with the reason why there is none."""
    with connection:
        while request := connection.recv(4096):
            wanted = json.loads(request)
            try:
                if "towards" in wanted:
                    connection.sendall(address_towards(wanted["towards"]).encode())
                    continue
                with create(wanted) as created:
                    socket.send_fds(connection, [b"ok"], [created.fileno()])
            except OSError as error:
                connection.sendall((error.strerror or str(error)).encode())


def address_towards(peer: str) -> str:
    """Return the address of this host that `peer` reaches."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((peer, 9))
        return str(probe.getsockname()[0])


def create(wanted: dict[str, int]) -> socket.socket:
    """Create a socket of the wanted type; bound if a port is wanted, listening with a backlog."""
    created = socket.socket(socket.AF_INET, wanted["type"])
    try:
        if "port" in wanted:
            if "backlog" in wanted:
                created.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            created.bind(("", wanted["port"]))
        if "backlog" in wanted:
            created.listen(wanted["backlog"])
    except OSError:
        created.close()
        raise
    return created


if __name__ == "__main__":
    main()

//! The accepting side of a workload: a thread for each connection, until the clients have finished.

use nix::sys::socket::{Shutdown, shutdown};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;

/// Listens in the calling thread's namespace.
///
/// # Errors
/// If the address cannot be had.
pub fn listen(address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address).map_err(|error| format!("cannot listen at {address}: {error}"))
}

/// Runs `clients` while connections to `listener` are accepted and passed to `handle`.
///
/// Returns the result of `clients`, and the result of `handle` for each connection by the client's
/// port. A client must wait until its handler has closed the connection: connections that are not
/// accepted when the clients have finished are dropped.
pub fn serve<C, T: Send>(
    listener: &TcpListener,
    handle: impl Fn(TcpStream) -> T + Sync,
    clients: impl FnOnce() -> C,
) -> (C, Vec<(u16, T)>) {
    thread::scope(|scope| {
        let accepting = scope.spawn(|| {
            let mut handlers = Vec::new();
            // Ends when the listener is shut down. A connection that was reset while it waited is
            // reported by the client.
            loop {
                match listener.accept() {
                    Ok((connection, client)) => {
                        handlers.push((client.port(), scope.spawn(|| handle(connection))));
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => {}
                    Err(_) => break,
                }
            }
            handlers.into_iter().map(|(port, handler)| (port, join(handler))).collect()
        });
        let result = clients();
        // On Linux this wakes `accept`. It cannot fail for a listening socket.
        let _ = shutdown(listener.as_raw_fd(), Shutdown::Both);
        (result, join(accepting))
    })
}

/// Returns the result of a thread; its panic propagates to the caller.
pub fn join<T>(handle: thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn each_connection_is_handled_and_accepting_ends_with_the_clients() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
        let address = listener.local_addr().expect("an address");
        let handle = |mut connection: TcpStream| {
            let mut said = String::new();
            connection.read_to_string(&mut said).map(|_| said)
        };
        let (ports, mut heard) = serve(&listener, handle, || {
            ["one", "two"].map(|word| {
                let mut client = TcpStream::connect(address).expect("connect");
                client.write_all(word.as_bytes()).expect("send");
                client.shutdown(std::net::Shutdown::Write).expect("no more");
                client.read_to_end(&mut Vec::new()).expect("closed by the handler");
                client.local_addr().expect("an address").port()
            })
        });
        heard.sort_by_key(|(port, _)| ports.iter().position(|known| known == port));
        let words: Vec<_> = heard.into_iter().map(|(_, said)| said.expect("a word")).collect();
        assert_eq!(words, ["one", "two"]);
    }
}

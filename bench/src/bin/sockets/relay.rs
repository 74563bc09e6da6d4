//! A bare relay with two threads per connection, one per direction. It is the lower bound for the
//! cost of anything that forwards between two sockets.

use crate::far::BULK;
use crate::place::{SocketAddress, Stream};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::thread;

pub fn run(from: &SocketAddress, to: &SocketAddress, congestion: Option<&str>) -> io::Result<()> {
    let listener = from.listen()?;
    loop {
        let near = listener.accept(congestion)?;
        let (to, congestion) = (to.clone(), congestion.map(str::to_owned));
        // A connection that fails ends its own relay and no other.
        thread::spawn(move || drop(relay(near, &to, congestion.as_deref())));
    }
}

fn relay(near: Stream, to: &SocketAddress, congestion: Option<&str>) -> io::Result<()> {
    let far = to.connect(congestion)?;
    let (back, forth) = (far.try_clone()?, near.try_clone()?);
    let down = thread::spawn(move || copy(back, forth));
    copy(near, far)?;
    down.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

fn copy(mut from: Stream, mut to: Stream) -> io::Result<()> {
    let mut buffer = vec![0; BULK];
    loop {
        match from.read(&mut buffer)? {
            0 => return to.shutdown(Shutdown::Write),
            count => to.write_all(&buffer[..count])?,
        }
    }
}

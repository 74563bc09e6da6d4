//! The far host. The first octet of a connection states its purpose.

use crate::place::{SocketAddress, Stream};
use std::io::{self, Read, Write};
use std::thread;

/// Octets of a message that is echoed.
pub const MESSAGE: usize = 64;
/// Octets per read or write of a bulk transfer.
pub const BULK: usize = 256 << 10;

/// First octet of the last block that is counted.
pub const END: u8 = 0;

/// Purpose of a connection.
#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    /// The far host echoes messages.
    Echo = b'e' as isize,
    /// The far host counts octets of blocks, and sends the count after the block that starts with
    /// [`END`].
    Count = b'c' as isize,
    /// The far host sends octets until the program stops reading.
    Source = b's' as isize,
}

pub fn run(address: &SocketAddress) -> io::Result<()> {
    crate::many::raise_limit();
    let listener = address.listen()?;
    loop {
        let stream = listener.accept(None)?;
        // A connection that its program cuts off has served its purpose, so errors are ignored.
        // There may be many threads at once, and none needs much stack.
        thread::Builder::new().stack_size(128 << 10).spawn(move || drop(serve(stream)))?;
    }
}

fn serve(mut stream: Stream) -> io::Result<()> {
    let mut purpose = [0];
    stream.read_exact(&mut purpose)?;
    match purpose[0] {
        b'e' => {
            let mut message = [0; MESSAGE];
            loop {
                stream.read_exact(&mut message)?;
                stream.write_all(&message)?;
            }
        }
        b'c' => {
            let mut block = vec![0; BULK];
            let mut count = 0_u64;
            // A block marks the end, because some carriers of sockets transmit no end of stream.
            while count == 0 || block[0] != END {
                stream.read_exact(&mut block)?;
                count += BULK as u64;
            }
            stream.write_all(&count.to_be_bytes())
        }
        _ => {
            let octets = vec![7; BULK];
            loop {
                stream.write_all(&octets)?;
            }
        }
    }
}

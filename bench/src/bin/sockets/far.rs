//! The far host. The first octet of a connection says what it is for.

use crate::place::{Place, Stream};
use std::io::{self, Read, Write};
use std::thread;

/// Octets of a message that goes back and forth.
pub const MESSAGE: usize = 64;
/// Octets of a read or write of bulk.
pub const BULK: usize = 256 << 10;

/// First octet of the last block that is counted.
pub const END: u8 = 0;

/// What a connection is for.
#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    /// Messages are sent back.
    Echo = b'e' as isize,
    /// Blocks of octets are counted, and the octets told at the [`END`].
    Count = b'c' as isize,
    /// Octets are sent until nobody reads them any more.
    Source = b's' as isize,
}

pub fn run(address: &Place) -> io::Result<()> {
    crate::many::raise_limit();
    let listener = address.listen()?;
    loop {
        let stream = listener.accept(None)?;
        // One that is cut off by its program has served its purpose.
        // There may be many at once, and none needs much.
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
            // Not the end of the stream says so: some of what carries sockets does not carry it.
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

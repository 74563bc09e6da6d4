//! Many connections: at once, and one after another.

use crate::far::Purpose;
use crate::near::back_and_forth;
use crate::place::{SocketAddress, Stream};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// Raises the limit of file descriptors as far as this process may.
pub fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // On failure the old limit applies, and connections beyond it fail with an error.
    let _ = setrlimit(Resource::Nofile, limit);
}

fn used_once(address: &SocketAddress) -> io::Result<Stream> {
    let mut stream = address.connect(None)?;
    stream.write_all(&[Purpose::Echo as u8])?;
    back_and_forth(&mut stream)?;
    Ok(stream)
}

pub fn hold(address: &SocketAddress, count: usize) -> io::Result<()> {
    raise_limit();
    let begin = Instant::now();
    let mut held = Vec::with_capacity(count);
    for number in 0..count {
        let stream = used_once(address)
            .map_err(|error| io::Error::new(error.kind(), format!("connection {}: {error}", number + 1)))?;
        held.push(stream);
    }
    println!("held {count} after {:.1} s", begin.elapsed().as_secs_f64());
    io::stdout().flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    // Check that each connection still works.
    for stream in &mut held {
        back_and_forth(stream)?;
    }
    println!("used {count} again");
    Ok(())
}

pub fn churn(address: &SocketAddress, length: Duration) -> io::Result<()> {
    let (begin, mut count) = (Instant::now(), 0_u64);
    while begin.elapsed() < length {
        drop(used_once(address)?);
        count += 1;
    }
    println!("{count} connections in {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

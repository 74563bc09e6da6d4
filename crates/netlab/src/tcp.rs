//! What the kernel knows about a TCP connection (`TCP_INFO`), and which congestion control it uses.

use crate::error::{Result, Trying};
use crate::{Namespace, listening};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// A connection as its kernel sees it. Fields as in `struct tcp_info` (`linux/tcp.h`); one that
/// this kernel does not have reads zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Info {
    /// Smoothed round-trip time; zero before the first sample.
    pub round_trip: Duration,
    /// The least round-trip time in the kernel's window of it.
    pub least_round_trip: Duration,
    /// Congestion window in segments.
    pub congestion_window: u32,
    /// Slow start threshold in segments; 2^31 - 1 as long as there is none.
    pub slow_start_threshold: u32,
    /// Segments with data that were sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Segments that were sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts (Linux 6.7).
    pub timeouts: u64,
    /// Bytes that the other side has acknowledged.
    pub bytes_acknowledged: u64,
}

/// `TCP_INFO` of a socket.
///
/// # Errors
/// If it is no TCP socket.
pub fn info(socket: impl AsFd) -> Result<Info> {
    let mut bytes = [0; 256];
    option(&socket, libc::TCP_INFO, &mut bytes).trying(|| "read TCP_INFO".into())?;
    // The array starts out as zeros, so that a field which is not there reads zero.
    let u16_at = |at: usize| u64::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
    let u32_at = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
    let micros = |at| Duration::from_micros(u32_at(at).into());
    Ok(Info {
        round_trip: micros(68),
        least_round_trip: micros(148),
        congestion_window: u32_at(80),
        slow_start_threshold: u32_at(76),
        data_segments_sent: u32_at(156).into(),
        retransmissions: u32_at(100).into(),
        timeouts: u16_at(240),
        bytes_acknowledged: if cfg!(target_endian = "little") {
            u64_at(120)
        } else {
            u64_at(120).rotate_left(32)
        },
    })
}

/// Name of the congestion control of a socket.
///
/// # Errors
/// If it is no TCP socket.
pub fn congestion_control(socket: impl AsFd) -> Result<String> {
    let mut name = [0; 16];
    let length = option(&socket, libc::TCP_CONGESTION, &mut name).trying(|| "read TCP_CONGESTION".into())?;
    let name = name[..length].split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// Gives a socket another congestion control than its route's.
///
/// # Errors
/// If this kernel does not have it, or does not let this user have it.
pub fn set_congestion_control(socket: impl AsFd, name: &str) -> Result<()> {
    // Longer ones than the kernel's 16 bytes it refuses by itself.
    let length = libc::socklen_t::try_from(name.len()).unwrap_or(libc::socklen_t::MAX);
    // SAFETY: `name` outlives the call, and `length` is its length.
    let status = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            length,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        .trying(|| format!("use congestion control `{name}`"))
}

/// Connections of `namespace` that their programs have closed and whose other side has not
/// acknowledged all of it yet: the kernel still sends for them (FIN-WAIT-1, CLOSING, LAST-ACK of
/// RFC 9293 section 3.3.2).
///
/// # Errors
/// If the kernel's list cannot be read.
pub fn closing(namespace: &Namespace) -> Result<usize> {
    namespace.enter(|| Ok(count_closing(&listening::read("tcp")?) + count_closing(&listening::read("tcp6")?)))
}

fn count_closing(list: &str) -> usize {
    // FIN-WAIT-1, LAST-ACK, CLOSING (`include/net/tcp_states.h`).
    listening::rows(list).filter(|row| matches!(row.state, "04" | "09" | "0B")).count()
}

/// Reads an option of level TCP; how many bytes the kernel gave.
fn option(socket: &impl AsFd, name: libc::c_int, bytes: &mut [u8]) -> io::Result<usize> {
    let mut length = libc::socklen_t::try_from(bytes.len()).expect("a short buffer");
    // SAFETY: `bytes` and `length` outlive the call, and `length` is that of `bytes`.
    let status = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            name,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if status == 0 { Ok(length as usize) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// A connection over loopback, and the other side of it.
    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("connect");
        (client, listener.accept().expect("accept").0)
    }

    #[test]
    fn the_kernel_counts_what_was_sent() {
        let (mut client, mut server) = connection();
        client.write_all(&[1; 10_000]).expect("send");
        server.read_exact(&mut [0; 10_000]).expect("receive");
        // The acknowledgement of the last byte may be on its way.
        let deadline = std::time::Instant::now() + Duration::from_secs(5);
        let mut seen = info(&client).expect("info");
        // The SYN counts as one byte.
        while seen.bytes_acknowledged < 10_000 && std::time::Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
            seen = info(&client).expect("info");
        }
        assert!((10_000..=10_001).contains(&seen.bytes_acknowledged), "{seen:?}");
        assert!(seen.data_segments_sent >= 1 && seen.data_segments_sent < 20, "{seen:?}");
        assert_eq!((seen.retransmissions, seen.timeouts), (0, 0));
        assert!(seen.round_trip > Duration::ZERO && seen.round_trip < Duration::from_secs(1), "{seen:?}");
        assert!(seen.congestion_window > 1 && seen.congestion_window < 10_000, "{seen:?}");
    }

    #[test]
    fn congestion_control_by_name() {
        let (client, _server) = connection();
        set_congestion_control(&client, "reno").expect("reno is always there");
        assert_eq!(congestion_control(&client).expect("a name"), "reno");
        let error = set_congestion_control(&client, "nosuch").expect_err("there is none");
        assert!(error.to_string().contains("`nosuch`"), "{error}");
    }

    #[test]
    fn closed_by_the_program_and_not_yet_by_the_other_side() {
        let list = "  sl  local_address rem_address   st tx_queue\n\
                    0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n\
                    1: 0100007F:1F90 0100007F:A2B4 04 00000000:00000000\n\
                    2: 0100007F:A2B4 0100007F:1F90 06 00000000:00000000\n\
                    3: 0100007F:A2B4 0100007F:1F90 0B 00000000:00000000\n";
        assert_eq!(count_closing(list), 2);
        assert_eq!(count_closing(""), 0);
    }

    #[test]
    fn datagram_sockets_have_none() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("bind");
        assert!(info(&socket).is_err());
    }
}

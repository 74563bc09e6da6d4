//! The kernel's view of a TCP connection (`TCP_INFO`), and the congestion control of a socket.

use crate::error::{Result, Trying};
use crate::{Namespace, listening};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// State of a connection, as the kernel reports it.
///
/// The fields are those of `struct tcp_info` (`linux/tcp.h`); a field that this kernel lacks is
/// zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Info {
    /// Smoothed round-trip time; zero before the first sample.
    pub round_trip: Duration,
    /// Smallest round-trip time in the kernel's measurement window.
    pub least_round_trip: Duration,
    /// Bytes of data in a segment of the peer, as the kernel estimates them.
    pub received_segment: u32,
    /// Congestion window in segments.
    pub congestion_window: u32,
    /// Slow start threshold in segments; 2^31 - 1 until it is set.
    pub slow_start_threshold: u32,
    /// Data segments sent, including retransmissions.
    pub data_segments_sent: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Retransmission timeouts (Linux 6.7).
    pub timeouts: u64,
    /// Bytes acknowledged by the peer.
    pub bytes_acknowledged: u64,
    /// Segments that arrived out of order (Linux 5.4).
    pub out_of_order: u32,
}

/// Reads `TCP_INFO` of a socket.
///
/// # Errors
/// If it is not a TCP socket.
pub fn info(socket: impl AsFd) -> Result<Info> {
    let mut bytes = [0; 256];
    option(&socket, libc::TCP_INFO, &mut bytes).trying(|| "read TCP_INFO".into())?;
    // The array starts as zeros, so a field that the kernel lacks reads as zero.
    let u16_at = |at: usize| u64::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
    let u32_at = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
    let micros = |at| Duration::from_micros(u32_at(at).into());
    Ok(Info {
        round_trip: micros(68),
        least_round_trip: micros(148),
        received_segment: u32_at(20),
        congestion_window: u32_at(80),
        slow_start_threshold: u32_at(76),
        data_segments_sent: u32_at(156).into(),
        retransmissions: u32_at(100).into(),
        timeouts: u16_at(240),
        out_of_order: u32_at(224),
        bytes_acknowledged: if cfg!(target_endian = "little") {
            u64_at(120)
        } else {
            u64_at(120).rotate_left(32)
        },
    })
}

/// Returns the name of a socket's congestion control.
///
/// # Errors
/// If it is not a TCP socket.
pub fn congestion_control(socket: impl AsFd) -> Result<String> {
    let mut name = [0; 16];
    let length = option(&socket, libc::TCP_CONGESTION, &mut name).trying(|| "read TCP_CONGESTION".into())?;
    let name = name[..length].split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// Sets the congestion control of a socket, overriding that of its route.
///
/// # Errors
/// If the kernel lacks this congestion control, or does not permit it to this user.
pub fn set_congestion_control(socket: impl AsFd, name: &str) -> Result<()> {
    // The kernel itself refuses names above its 16 bytes.
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
        .trying(|| format!("use congestion control {name:?}"))
}

/// Counts the connections of `namespace` that are closed by their programs but not fully
/// acknowledged.
///
/// The kernel still sends for these connections (FIN-WAIT-1, CLOSING, LAST-ACK of RFC 9293 section
/// 3.3.2).
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

/// Reads an option of level TCP into `bytes`; returns its length.
fn option(socket: &impl AsFd, name: libc::c_int, bytes: &mut [u8]) -> io::Result<usize> {
    let mut length = libc::socklen_t::try_from(bytes.len()).expect("a short buffer");
    // SAFETY: `bytes` and `length` outlive the call, and `length` is the size of `bytes`.
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

    /// Opens a connection over loopback and returns both ends.
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
        // The acknowledgement of the last byte may still be in flight.
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
        assert!(error.to_string().contains("cannot use congestion control \"nosuch\""), "{error}");
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

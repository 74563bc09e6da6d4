//! Sending and receiving on a datagram socket of the kernel. Nothing is buffered: datagrams that
//! cannot be sent are lost.

use crate::{errors, messages};
use resoa_protocol::message::{Ancillary, Family};
use resoa_protocol::{Errno, TcpEvent};
use rustix::fd::AsFd;
use rustix::net::{self, SendFlags};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};

/// Maximum datagrams reported per call, so that a flood of them does not delay other sockets.
const AT_A_TIME: usize = 64;

/// Reports datagrams that have arrived, and errors caused by others (ICMP). Returns whether there
/// may be more; epoll reports no further edge for these.
pub(crate) fn receive(fd: impl AsFd, buffer: &mut [u8], events: &mut Vec<TcpEvent>) -> bool {
    let may_be_more = receive_some(&fd, buffer, events);
    // Read after the error that they belong to, because reading them clears that error.
    while let Ok(undelivered) = messages::undelivered(fd.as_fd(), buffer) {
        if let Some((count, to, ancillary)) = undelivered {
            events.push(TcpEvent::Undelivered { to, ancillary, bytes: buffer[..count].to_vec() });
        }
    }
    may_be_more
}

fn receive_some(fd: impl AsFd, buffer: &mut [u8], events: &mut Vec<TcpEvent>) -> bool {
    for _ in 0..AT_A_TIME {
        match messages::receive(fd.as_fd(), buffer) {
            Ok(Some((count, from, ancillary))) => {
                events.push(TcpEvent::Datagram { from, ancillary, bytes: buffer[..count].to_vec() });
            }
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            // Either it is the last event, or datagrams are queued behind it. The next call reads
            // those.
            Err(error) => {
                events.push(TcpEvent::Failed(errors::errno(&error)));
                return true;
            }
        }
    }
    true
}

/// Sends a datagram, or reports why it cannot. If there is no room at the moment, that is no error:
/// the datagram is lost.
pub(crate) fn send(
    fd: impl AsFd,
    own: (Family, IpAddr),
    (to, ancillary, bytes): (Option<SocketAddr>, &Ancillary, &[u8]),
    events: &mut Vec<TcpEvent>,
) {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let sent = match to {
        _ if !ancillary.is_empty() => messages::send(fd.as_fd(), own, to, ancillary, bytes),
        Some(to) => net::sendto(&fd, bytes, flags, &to).map(drop).map_err(errors::of),
        None => net::send(&fd, bytes, flags).map(drop).map_err(errors::of),
    };
    match sent {
        Ok(()) | Err(Errno::EAGAIN) => {}
        Err(error) => events.push(TcpEvent::Failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, UdpSocket};

    /// Many datagrams are reported in parts, so that other sockets are served in between. None is
    /// missed.
    #[test]
    fn some_at_a_time() {
        let [near, far] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback"));
        let to = near.local_addr().expect("is bound");
        for number in 0..AT_A_TIME as u8 + 10 {
            far.send_to(&[number], to).expect("there is room");
        }
        let (mut buffer, mut told) = ([0; 100], Vec::new());
        while told.len() < AT_A_TIME + 10 {
            let mut events = Vec::new();
            let may_be_more = receive(&near, &mut buffer, &mut events);
            assert!(events.len() <= AT_A_TIME);
            assert_eq!(may_be_more, events.len() == AT_A_TIME, "{events:?}");
            told.extend(events);
        }
        let from = far.local_addr().expect("is bound");
        let ancillary = Ancillary::none();
        let expected = (0..).map(|number| TcpEvent::Datagram {
            from,
            ancillary: ancillary.clone(),
            bytes: vec![number],
        });
        assert_eq!(told, expected.take(AT_A_TIME + 10).collect::<Vec<_>>());
    }
}

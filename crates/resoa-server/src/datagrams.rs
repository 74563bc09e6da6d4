//! A datagram socket of the kernel's: nothing is kept, and what cannot be sent is lost.

use crate::errors;
use resoa_protocol::TcpEvent;
use rustix::fd::AsFd;
use rustix::net::{self, RecvFlags, SendFlags};
use std::net::SocketAddr;

/// Tells of all datagrams that have arrived, and of errors that others have caused (ICMP).
pub(crate) fn receive(fd: impl AsFd, buffer: &mut [u8], events: &mut Vec<TcpEvent>) {
    loop {
        match net::recvfrom(&fd, &mut *buffer, RecvFlags::DONTWAIT) {
            Ok((count, _, Some(from))) => {
                if let Ok(from) = SocketAddr::try_from(from) {
                    events.push(TcpEvent::Datagram { from, bytes: buffer[..count].to_vec() });
                }
            }
            Ok((_, _, None)) | Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => break,
            Err(error) => {
                events.push(TcpEvent::Failed(errors::of(error)));
                break;
            }
        }
    }
}

/// Sends one, or tells why not. That there is no room for it at the moment is no error: it is lost.
pub(crate) fn send(fd: impl AsFd, to: Option<SocketAddr>, bytes: &[u8], events: &mut Vec<TcpEvent>) {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let sent = match to {
        Some(to) => net::sendto(&fd, bytes, flags, &to),
        None => net::send(&fd, bytes, flags),
    };
    match sent {
        Ok(_) | Err(rustix::io::Errno::AGAIN) => {}
        Err(error) => events.push(TcpEvent::Failed(errors::of(error))),
    }
}

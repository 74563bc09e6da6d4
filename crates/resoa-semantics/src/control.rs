//! Control messages (`cmsg(3)`), as programs build and parse them.

use crate::cases::messages::{message, part};
use crate::sys::{self, Answer, call};
use std::fmt;
use std::net::SocketAddr;

/// Length of a `struct cmsghdr` in bytes.
const HEADER: usize = size_of::<libc::cmsghdr>();
/// Size of the buffer for control messages.
const ROOM: usize = 512;

/// A control message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    pub level: i32,
    pub kind: i32,
    pub value: Vec<u8>,
}

impl Control {
    pub fn new(level: i32, kind: i32, value: &[u8]) -> Self {
        Self { level, kind, value: value.to_vec() }
    }

    /// Creates a control message whose value is an `int`.
    pub fn number(level: i32, kind: i32, value: i32) -> Self {
        Self::new(level, kind, &value.to_ne_bytes())
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} {:02x?}", self.level, self.kind, self.value)
    }
}

/// Formats a list of control messages.
pub fn list(controls: &[Control]) -> String {
    if controls.is_empty() {
        return "none".into();
    }
    controls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A buffer for control messages, aligned as the kernel's macros require.
#[repr(align(8))]
struct Buffer([u8; ROOM]);

fn laid_out(controls: &[Control]) -> (Buffer, usize) {
    let mut octets = Vec::new();
    for Control { level, kind, value } in controls {
        octets.extend((HEADER + value.len()).to_ne_bytes());
        octets.extend(level.to_ne_bytes());
        octets.extend(kind.to_ne_bytes());
        octets.extend(value);
        octets.resize(octets.len().next_multiple_of(size_of::<usize>()), 0);
    }
    let mut buffer = Buffer([0; ROOM]);
    buffer.0[..octets.len()].copy_from_slice(&octets);
    (buffer, octets.len())
}

/// Calls `sendmsg` for a datagram with control messages.
pub fn send(fd: i32, octets: &[u8], to: Option<SocketAddr>, controls: &[Control]) -> Answer {
    let (buffer, length) = laid_out(controls);
    send_raw(fd, octets, to, &buffer.0[..length])
}

/// The same with the bytes of a control buffer, which may be invalid.
pub fn send_raw(fd: i32, octets: &[u8], to: Option<SocketAddr>, control: &[u8]) -> Answer {
    let mut octets = octets.to_vec();
    let mut buffer = Buffer([0; ROOM]);
    buffer.0[..control.len()].copy_from_slice(control);
    let mut parts = [part(&mut octets)];
    let mut header = message(&mut parts);
    let address = to.map(sys::Address::from);
    if let Some(address) = &address {
        (header.msg_name, header.msg_namelen) = (address.pointer().cast_mut().cast(), address.length);
    }
    (header.msg_control, header.msg_controllen) = (buffer.0.as_mut_ptr().cast(), control.len());
    call!(sendmsg(fd, &raw const header, 0))
}

/// Result of `recvmsg`.
pub struct Received {
    pub answer: Answer,
    pub text: String,
    pub controls: Vec<Control>,
    /// Bytes used in the control buffer.
    pub length: usize,
    pub flags: i32,
}

/// Calls `recvmsg` with `room` bytes for control messages. Without room, it passes no buffer.
pub fn receive(fd: i32, room: usize, flags: i32) -> Received {
    let (mut octets, mut buffer) = ([0; 100], Buffer([0; ROOM]));
    let mut parts = [part(&mut octets)];
    let mut header = message(&mut parts);
    if room > 0 {
        (header.msg_control, header.msg_controllen) = (buffer.0.as_mut_ptr().cast(), room.min(ROOM));
    }
    let answer = call!(recvmsg(fd, &raw mut header, flags));
    let length = header.msg_controllen;
    Received {
        answer,
        text: String::from_utf8_lossy(&octets[..answer.count().min(100)]).into_owned(),
        controls: found(&buffer.0[..length.min(ROOM)]),
        length,
        flags: header.msg_flags,
    }
}

/// Parses all control messages that the kernel has written, including truncated ones.
fn found(mut control: &[u8]) -> Vec<Control> {
    let mut found = Vec::new();
    while let Some((header, behind)) = control.split_first_chunk::<HEADER>() {
        let int = |at: usize| header[at..].first_chunk().map_or(0, |octets| i32::from_ne_bytes(*octets));
        let length = header.first_chunk().map_or(0, |octets| usize::from_ne_bytes(*octets));
        let value = behind.get(..length.saturating_sub(HEADER)).unwrap_or(behind);
        found.push(Control::new(int(8), int(12), value));
        control = control.get(length.max(HEADER).next_multiple_of(size_of::<usize>())..).unwrap_or_default();
    }
    found
}

//! `setsockopt`, `getsockopt` and `ioctl`. Options of the client's half are handled here, all
//! others by the server (6.2.2).
//!
//! Numbers and layouts are those of Linux (`asm-generic/socket.h`, `tcp.h`, `ioctls.h`), because
//! programs use them.

use super::told::Told;
use super::{Lsm, State};
use crate::Errno;
use crate::calls::{Action, CallId, Value};
use crate::message::{Call, Family, Operation, RsockType};
use std::collections::BTreeMap;
use std::time::Duration;

const SOL_SOCKET: i32 = 1;
const SO_REUSEADDR: i32 = 2;
const SO_TYPE: i32 = 3;
const SO_ERROR: i32 = 4;
const SO_SNDBUF: i32 = 7;
const SO_RCVBUF: i32 = 8;
const SO_KEEPALIVE: i32 = 9;
const SO_OOBINLINE: i32 = 10;
const SO_PRIORITY: i32 = 12;
const SO_LINGER: i32 = 13;
const SO_REUSEPORT: i32 = 15;
const SO_RCVLOWAT: i32 = 18;
const SO_SNDLOWAT: i32 = 19;
const SO_RCVTIMEO: i32 = 20;
const SO_SNDTIMEO: i32 = 21;
const SO_BINDTODEVICE: i32 = 25;
const SO_ATTACH_FILTER: i32 = 26;
const SO_TIMESTAMP: i32 = 29;
const SO_ACCEPTCONN: i32 = 30;
const SO_TIMESTAMPNS: i32 = 35;
const SO_PROTOCOL: i32 = 38;
const SO_DOMAIN: i32 = 39;
const SO_ATTACH_BPF: i32 = 50;
const SO_ZEROCOPY: i32 = 60;
const SO_TIMESTAMP_NEW: i32 = 63;
const SO_TIMESTAMPNS_NEW: i32 = 64;
const SOL_TCP: i32 = 6;
const SOL_UDP: i32 = 17;
const SOL_UDPLITE: i32 = 136;
const TCP_REPAIR: i32 = 19;
const TCP_ULP: i32 = 31;
const SOL_IP: i32 = 0;
const IP_RECVERR: i32 = 11;
pub(super) const SOL_IPV6: i32 = 41;
pub(super) const IPV6_ADDRFORM: i32 = 1;
const IPV6_RECVERR: i32 = 25;
/// From `linux/tcp.h`.
const TCP_FASTOPEN: i32 = 23;
const TCP_FASTOPEN_KEY: i32 = 33;
const FIONREAD: u32 = 0x541b;
const TIOCOUTQ: u32 = 0x5411;
const FIONBIO: u32 = 0x5421;
const FIOASYNC: u32 = 0x5452;
const SIOCATMARK: u32 = 0x8905;
const TCP_MAXSEG: i32 = 2;
/// Setting it affects the stack's next actions, for an unspecified time.
const TCP_QUICKACK: i32 = 12;
/// Minimum of SO_SNDBUF on Linux.
const LEAST_BUFFER: u32 = 4608;
/// Minimum of SO_RCVBUF on Linux, which doubles it as well.
const LEAST_RECEIVE_BUFFER: u32 = 2304;
/// Maximum of SO_SNDBUF: Linux's default of `net.core.wmem_max`. Negative numbers count as very
/// large ones.
const LARGEST_BUFFER: u32 = 4 << 20;
/// SO_SNDBUF that Linux reports before it has grown by itself (`net.ipv4.tcp_wmem`). Ours does not
/// need to grow.
const FIRST_BUFFER: i32 = 16 << 10;
/// SO_SNDBUF that Linux reports for a datagram socket (`net.core.wmem_default`).
const FIRST_BUFFER_OF_DATAGRAMS: i32 = 212_992;

/// Options that were set here, and those that were set at the server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the interface, independent of the others"
)]
pub(super) struct Options {
    /// `None` if off.
    pub(super) linger: Option<Duration>,
    /// Time that was set last while SO_LINGER was on. Switching it off keeps the time.
    linger_seconds: i32,
    /// Whether SO_SNDBUF was set.
    has_send_buffer: bool,
    /// SO_RCVBUF in bytes of data, if it was set.
    pub(super) receive_buffer: Option<u32>,
    pub(super) receive_timeout: Option<Duration>,
    pub(super) send_timeout: Option<Duration>,
    pub(super) receive_low_water: u32,
    pub(super) urgent_inline: bool,
    /// SO_REUSEADDR or SO_REUSEPORT is set, so `listen` may find the address in use.
    pub(super) shares_address: bool,
    /// Option by which the program requests the times at which datagrams arrived at this host,
    /// whose clock the program uses.
    time_stamps: Option<i32>,
    /// UDP_GRO: datagrams that arrive together may be merged. They never are.
    pub(super) puts_together: bool,
    /// TCP_FASTOPEN_CONNECT. Its effect needs a cookie, which this host never has.
    pub(super) opens_fast: bool,
    /// Values that the server returned after setting an option.
    remembered: BTreeMap<(i32, i32), Vec<u8>>,
    /// Options that were sent to the server since its last answer, in this order. If the server
    /// could not create its half, they are sent again to the next one.
    pub(super) told: Vec<((i32, i32), Vec<u8>)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            linger: None,
            linger_seconds: 0,
            has_send_buffer: false,
            receive_buffer: None,
            receive_timeout: None,
            send_timeout: None,
            receive_low_water: 1,
            urgent_inline: false,
            shares_address: false,
            time_stamps: None,
            puts_together: false,
            opens_fast: false,
            remembered: BTreeMap::new(),
            told: Vec::new(),
        }
    }
}

impl Options {
    /// Stores the value that the server has after setting an option, for later reads.
    pub(super) fn remember(&mut self, level: i32, name: i32, value: Vec<u8>) {
        if level == SOL_SOCKET && matches!(name, SO_REUSEADDR | SO_REUSEPORT) {
            self.shares_address |= int(&value) != Ok(0);
        }
        if (level, name) == (SOL_SOCKET, SO_RCVLOWAT) {
            self.receive_low_water = int(&value).map_or(1, i32::cast_unsigned);
        }
        // Only the server knows how a connection changes these values.
        if !matches!((level, name), (SOL_TCP, TCP_MAXSEG | TCP_QUICKACK)) {
            self.remembered.insert((level, name), value);
        }
    }

    /// Forgets a stored value because the server has another one.
    fn forget(&mut self, level: i32, name: i32) {
        self.remembered.remove(&(level, name));
    }
}

/// Reads an `int` from a value that may be longer than four bytes.
fn int(value: &[u8]) -> Result<i32, Errno> {
    value.first_chunk().map(|octets| i32::from_ne_bytes(*octets)).ok_or(Errno::EINVAL)
}

/// Reads a `struct timeval` of a 64-bit system; zero means forever.
fn timeout(value: &[u8]) -> Result<Option<Duration>, Errno> {
    let (seconds, rest) = value.split_first_chunk::<8>().ok_or(Errno::EINVAL)?;
    let micros = rest.first_chunk::<8>().ok_or(Errno::EINVAL)?;
    let (seconds, micros) = (i64::from_ne_bytes(*seconds), i64::from_ne_bytes(*micros));
    if !(0..1_000_000).contains(&micros) {
        return Err(Errno::EDOM);
    }
    let Ok(seconds) = u64::try_from(seconds) else {
        // Linux does not wait at all then, whatever the microseconds are (`sock_set_timeout`).
        return Ok(Some(Duration::ZERO));
    };
    let timeout = Duration::from_secs(seconds) + Duration::from_micros(micros as u64);
    Ok((!timeout.is_zero()).then_some(timeout))
}

fn timeval(timeout: Option<Duration>) -> Vec<u8> {
    let timeout = timeout.unwrap_or_default();
    let mut value = timeout.as_secs().to_ne_bytes().to_vec();
    value.extend(i64::from(timeout.subsec_micros()).to_ne_bytes());
    value
}

impl Lsm {
    pub(super) fn inherit(&mut self, options: &Options, send_buffer: u32) {
        self.options = options.clone();
        self.options.told.clear();
        // A kernel gives a connection values of its own for these, so the server is asked for them.
        self.options.remembered.remove(&(SOL_SOCKET, SO_PRIORITY));
        self.options.remembered.remove(&(SOL_TCP, TCP_FASTOPEN));
        self.options.remembered.remove(&(SOL_TCP, TCP_FASTOPEN_KEY));
        self.sending.buffer_size = send_buffer;
    }

    /// Sets an option. Without a `call`, no program waits for the server's answer. If `may_be_told`
    /// is set and the client knows the option, the call does not wait either.
    pub(super) fn set_option(
        &mut self,
        call: Option<CallId>,
        may_be_told: bool,
        (level, name): (i32, i32),
        value: Vec<u8>,
        out: &mut Vec<Action>,
    ) -> Result<Option<Value>, Errno> {
        if self.is_foreign_tcp(level) {
            return Err(Errno::ENOPROTOOPT);
        }
        // UDP checks the length before the option (`udp_lib_setsockopt`).
        if self.is_udp_level(level) {
            int(&value)?;
        }
        // The server's kernel applies the value. Its window depends on how soon it is told of bytes
        // read, so the client needs the value, too.
        if (level, name) == (SOL_SOCKET, SO_RCVBUF)
            && let Ok(octets) = int(&value)
        {
            self.options.receive_buffer = Some(octets.cast_unsigned().max(LEAST_RECEIVE_BUFFER / 2));
        }
        if let Some(told) = self.told(level, name, &value) {
            let told = told?;
            if may_be_told {
                self.tell_option(told, level, name, value, out);
                return Ok(Some(Value::Done));
            }
        }
        match (level, name) {
            (SOL_SOCKET, SO_LINGER) => {
                let on = int(&value)? != 0;
                let seconds = int(value.get(4..).ok_or(Errno::EINVAL)?)?;
                self.options.linger = on.then(|| Duration::from_secs(seconds.cast_unsigned().into()));
                if on {
                    self.options.linger_seconds = seconds;
                }
            }
            // Linux doubles the value for its own overhead and reports it doubled. It holds as much
            // data as was requested.
            (SOL_SOCKET, SO_SNDBUF) => {
                self.sending.buffer_size =
                    int(&value)?.cast_unsigned().clamp(LEAST_BUFFER / 2, LARGEST_BUFFER);
                self.options.has_send_buffer = true;
            }
            (SOL_SOCKET, SO_RCVTIMEO) => self.options.receive_timeout = timeout(&value)?,
            (SOL_SOCKET, SO_SNDTIMEO) => self.options.send_timeout = timeout(&value)?,
            // The client handles a value for which any stack has enough space. For a larger one,
            // the server's stack makes as much space as it can.
            (SOL_SOCKET, SO_RCVLOWAT)
                if self.create.kind != RsockType::Stream
                    || call.is_none()
                    || self.is_lost()
                    || int(&value)?.cast_unsigned() <= LEAST_RECEIVE_BUFFER / 2 =>
            {
                let wanted = int(&value)?.cast_unsigned().clamp(1, i32::MAX.cast_unsigned());
                self.options.receive_low_water = wanted;
            }
            (SOL_SOCKET, SO_OOBINLINE) => self.options.urgent_inline = int(&value)? != 0,
            // Each of these options replaces the others (`sock_set_timestamp`).
            (SOL_SOCKET, SO_TIMESTAMP | SO_TIMESTAMPNS | SO_TIMESTAMP_NEW | SO_TIMESTAMPNS_NEW) => {
                self.options.time_stamps = (int(&value)? != 0).then_some(name);
            }
            // A stream has no error queue. Its errors are reported as always.
            (SOL_IP, IP_RECVERR) | (SOL_IPV6, IPV6_RECVERR)
                if self.has_level(level) && self.create.kind == RsockType::Stream =>
            {
                let is_on = i32::from(int(&value)? != 0);
                self.options.remember(level, name, is_on.to_ne_bytes().to_vec());
            }
            _ if self.is_of_transport(level, name) => {
                self.set_option_of_transport(name, int(&value)?, out)?;
            }
            // An empty name means no interface, as before. The server refuses names, because they
            // would be of its own interfaces.
            (SOL_SOCKET, SO_BINDTODEVICE) if value.first().is_none_or(|octet| *octet == 0) => {}
            (SOL_TCP, TCP_ULP) => return Err(Errno::ENOENT),
            (SOL_TCP, TCP_REPAIR) => return Err(Errno::EPERM),
            (SOL_SOCKET, SO_SNDLOWAT | SO_TYPE | SO_ERROR | SO_ACCEPTCONN | SO_PROTOCOL | SO_DOMAIN) => {
                return Err(Errno::ENOPROTOOPT);
            }
            // It is off already.
            (SOL_SOCKET, SO_ZEROCOPY) if int(&value)? == 0 => {}
            (SOL_SOCKET, SO_ATTACH_FILTER | SO_ATTACH_BPF | SO_ZEROCOPY) => return Err(Errno::ENOPROTOOPT),
            _ if self.is_lost() => return Err(Errno::ECONNRESET),
            _ => {
                let Some(call) = call else {
                    self.options.forget(level, name);
                    self.say_option((level, name), value, out);
                    return Ok(Some(Value::Done));
                };
                self.request(Some(call), Operation::SetOption { level, name, value }, out);
                return Ok(None);
            }
        }
        Ok(Some(Value::Done))
    }

    fn tell_option(&mut self, told: Told, level: i32, name: i32, value: Vec<u8>, out: &mut Vec<Action>) {
        match told.read_back {
            Some(value) => self.options.remember(level, name, value),
            None => self.options.forget(level, name),
        }
        // A server that is lost gets no message.
        if !self.is_lost() {
            self.say_option((level, name), value, out);
        }
    }

    /// Sends an option to the server. Records it, to be sent again if the server has to create its
    /// half again.
    fn say_option(&mut self, option: (i32, i32), value: Vec<u8>, out: &mut Vec<Action>) {
        self.options.told.retain(|(other, _)| *other != option);
        self.tell(Call::SetOption { level: option.0, name: option.1, value: value.clone() }, out);
        if self.local.is_none() && self.peer.is_none() {
            self.options.told.push((option, value));
        }
    }

    pub(super) fn get_option(
        &mut self,
        call: CallId,
        level: i32,
        name: i32,
        length: u32,
        out: &mut Vec<Action>,
    ) -> Result<Option<Value>, Errno> {
        if self.is_foreign_tcp(level) {
            let is_v4 = self.create.family == Family::V4;
            return Err(if is_v4 { Errno::EOPNOTSUPP } else { Errno::ENOPROTOOPT });
        }
        if let Some(mut value) = self.local_option(level, name) {
            value.truncate(length as usize);
            return Ok(Some(Value::Option(value)));
        }
        if level == SOL_TCP && name == TCP_ULP {
            return Ok(Some(Value::Option(Vec::new())));
        }
        if self.is_lost() {
            return Err(Errno::ECONNRESET);
        }
        self.request(Some(call), Operation::GetOption { level, name, length }, out);
        Ok(None)
    }

    /// Returns whether the level is TCP's and the socket is not. UDP has no options of that level.
    fn is_foreign_tcp(&self, level: i32) -> bool {
        level == SOL_TCP && self.create.kind != RsockType::Stream
    }

    /// Returns whether the level is that of a datagram socket's transport. To Linux, the levels of
    /// UDP and UDP-Lite are interchangeable.
    fn is_udp_level(&self, level: i32) -> bool {
        self.create.kind != RsockType::Stream && matches!(level, SOL_UDP | SOL_UDPLITE)
    }

    /// Returns whether the socket has options of this level: an IPv4 socket has none of IPv6.
    fn has_level(&self, level: i32) -> bool {
        level != SOL_IPV6 || self.create.family == Family::V6
    }

    fn local_option(&mut self, level: i32, name: i32) -> Option<Vec<u8>> {
        let is_stream = self.create.kind == RsockType::Stream;
        let number = match (level, name) {
            (SOL_SOCKET, SO_ERROR) => self.error.take().map_or(0, Errno::linux),
            (SOL_SOCKET, SO_TYPE) => {
                if is_stream {
                    1
                } else {
                    2
                }
            }
            (SOL_SOCKET, SO_DOMAIN) => {
                if self.create.family == Family::V4 {
                    2
                } else {
                    10
                }
            }
            (SOL_SOCKET, SO_PROTOCOL) => match self.create.kind {
                RsockType::Stream => 6,
                RsockType::Datagram => 17,
                RsockType::Lite => 136,
            },
            (SOL_SOCKET, SO_ACCEPTCONN) => i32::from(self.state == State::Listening),
            (SOL_SOCKET, SO_SNDBUF) if !self.options.has_send_buffer => {
                if is_stream {
                    FIRST_BUFFER
                } else {
                    FIRST_BUFFER_OF_DATAGRAMS
                }
            }
            (SOL_SOCKET, SO_SNDBUF) => (self.sending.buffer_size * 2).cast_signed(),
            (SOL_SOCKET, SO_SNDLOWAT) => 1,
            (SOL_SOCKET, SO_ZEROCOPY) => 0,
            (SOL_SOCKET, SO_RCVLOWAT) => self.options.receive_low_water.cast_signed(),
            (SOL_SOCKET, SO_OOBINLINE) => i32::from(self.options.urgent_inline),
            (SOL_SOCKET, SO_TIMESTAMP | SO_TIMESTAMPNS | SO_TIMESTAMP_NEW | SO_TIMESTAMPNS_NEW) => {
                i32::from(self.options.time_stamps == Some(name))
            }
            (SOL_SOCKET, SO_LINGER) => {
                let seconds = self.options.linger_seconds;
                let on = i32::from(self.options.linger.is_some());
                return Some([on.to_ne_bytes(), seconds.to_ne_bytes()].concat());
            }
            (SOL_SOCKET, SO_BINDTODEVICE) => return Some(Vec::new()),
            (SOL_SOCKET, SO_RCVTIMEO) => return Some(timeval(self.options.receive_timeout)),
            (SOL_SOCKET, SO_SNDTIMEO) => return Some(timeval(self.options.send_timeout)),
            _ if self.is_of_transport(level, name) => self.option_of_transport(name),
            // Only a key that was set on this socket is returned. The key of the server's stack for
            // all sockets is not disclosed to clients.
            (SOL_TCP, TCP_FASTOPEN_KEY) if is_stream => {
                return Some(self.options.remembered.get(&(level, name)).cloned().unwrap_or_default());
            }
            (SOL_SOCKET, SO_KEEPALIVE) | (SOL_IP, IP_RECVERR) | (SOL_IPV6, IPV6_RECVERR)
                if self.has_level(level) && !self.options.remembered.contains_key(&(level, name)) =>
            {
                0
            }
            _ => return self.options.remembered.get(&(level, name)).cloned(),
        };
        Some(number.to_ne_bytes().to_vec())
    }

    pub(super) fn ioctl(
        &mut self,
        call: CallId,
        command: u32,
        argument: Vec<u8>,
        out: &mut Vec<Action>,
    ) -> Result<Option<Value>, Errno> {
        let number = match command {
            FIONREAD if self.state == State::Listening => return Err(Errno::EINVAL),
            FIONREAD => self.receiving.inquiry(self.options.urgent_inline) as u32,
            // A datagram is sent when the server has it, and the server reports that only
            // occasionally.
            TIOCOUTQ if self.create.kind != RsockType::Stream => self.sending.waiting_here(),
            TIOCOUTQ => self.sending.unacknowledged(),
            SIOCATMARK => u32::from(self.receiving.is_at_mark()),
            FIONBIO | FIOASYNC => {
                let on = int(&argument)? != 0;
                *if command == FIONBIO { &mut self.nonblocking } else { &mut self.asynchronous } = on;
                return Ok(Some(Value::Done));
            }
            _ if self.is_lost() => return Err(Errno::ECONNRESET),
            _ => {
                self.request(Some(call), Operation::Ioctl { command, argument }, out);
                return Ok(None);
            }
        };
        Ok(Some(Value::Option(number.to_ne_bytes().to_vec())))
    }
}

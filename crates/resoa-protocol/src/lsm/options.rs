//! `setsockopt`, `getsockopt`, `ioctl`: what concerns the client's half is done here, the rest by
//! the server (6.2.2).
//!
//! Numbers and layouts are Linux's (`asm-generic/socket.h`, `tcp.h`, `ioctls.h`), since programs
//! speak those.

use super::told::Told;
use super::{Lsm, State};
use crate::Errno;
use crate::calls::{Action, CallId, Value};
use crate::message::{Call, Family, Kind, Operation};
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
/// Of `linux/tcp.h`.
const TCP_FASTOPEN: i32 = 23;
const TCP_FASTOPEN_KEY: i32 = 33;
const FIONREAD: u32 = 0x541b;
const TIOCOUTQ: u32 = 0x5411;
const FIONBIO: u32 = 0x5421;
const FIOASYNC: u32 = 0x5452;
const SIOCATMARK: u32 = 0x8905;
const TCP_MAXSEG: i32 = 2;
/// Set it says what the stack does next, and not for how long.
const TCP_QUICKACK: i32 = 12;
/// The least that Linux takes for SO_SNDBUF.
const LEAST_BUFFER: u32 = 4608;
/// The same for SO_RCVBUF, which Linux doubles as well.
const LEAST_RECEIVE_BUFFER: u32 = 2304;
/// The most: `net.core.wmem_max` as Linux has it by default. Negative numbers are as large as any.
const LARGEST_BUFFER: u32 = 4 << 20;
/// What Linux says of SO_SNDBUF before it has grown by itself (`net.ipv4.tcp_wmem`); ours need not
/// grow.
const FIRST_BUFFER: i32 = 16 << 10;
/// The same of a datagram socket (`net.core.wmem_default`).
const FIRST_BUFFER_OF_DATAGRAMS: i32 = 212_992;

/// What `setsockopt` has set here, and what it has set at the server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the interface, independent of the others"
)]
pub(super) struct Options {
    /// `None` if off.
    pub(super) linger: Option<Duration>,
    /// As it was set last while it was on: switching it off leaves the time.
    linger_seconds: i32,
    /// SO_SNDBUF was set.
    has_send_buffer: bool,
    /// SO_RCVBUF, if it was set, in octets of data.
    pub(super) receive_buffer: Option<u32>,
    pub(super) receive_timeout: Option<Duration>,
    pub(super) send_timeout: Option<Duration>,
    pub(super) receive_low_water: u32,
    pub(super) urgent_inline: bool,
    /// SO_REUSEADDR or SO_REUSEPORT: `listen` may find the address in use.
    pub(super) shares_address: bool,
    /// The option by which programs want the time at which datagrams have come to this host, whose
    /// clock is theirs.
    time_stamps: Option<i32>,
    /// UDP_GRO: datagrams that come together may be put together. They never are.
    pub(super) puts_together: bool,
    /// TCP_FASTOPEN_CONNECT: what it allows takes a cookie, and this host has never one.
    pub(super) opens_fast: bool,
    /// What the server said after setting.
    remembered: BTreeMap<(i32, i32), Vec<u8>>,
    /// What the server was told and has not answered anything since, in this order: if it could not
    /// make its half, the one that it makes then has to be told again.
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
    /// What the server has after setting an option: asked for it again, the client knows.
    pub(super) fn remember(&mut self, level: i32, name: i32, value: Vec<u8>) {
        if level == SOL_SOCKET && matches!(name, SO_REUSEADDR | SO_REUSEPORT) {
            self.shares_address |= int(&value) != Ok(0);
        }
        if (level, name) == (SOL_SOCKET, SO_RCVLOWAT) {
            self.receive_low_water = int(&value).map_or(1, i32::cast_unsigned);
        }
        // What a connection makes of these is the server's to know.
        if !matches!((level, name), (SOL_TCP, TCP_MAXSEG | TCP_QUICKACK)) {
            self.remembered.insert((level, name), value);
        }
    }

    /// The server has another value than the one that was remembered.
    fn forget(&mut self, level: i32, name: i32) {
        self.remembered.remove(&(level, name));
    }
}

/// An `int`, of which programs may pass more than four octets.
fn int(value: &[u8]) -> Result<i32, Errno> {
    value.first_chunk().map(|octets| i32::from_ne_bytes(*octets)).ok_or(Errno::EINVAL)
}

/// A `struct timeval` of a 64-bit system; zero means for ever.
fn timeout(value: &[u8]) -> Result<Option<Duration>, Errno> {
    let (seconds, rest) = value.split_first_chunk::<8>().ok_or(Errno::EINVAL)?;
    let micros = rest.first_chunk::<8>().ok_or(Errno::EINVAL)?;
    let (seconds, micros) = (i64::from_ne_bytes(*seconds), i64::from_ne_bytes(*micros));
    if !(0..1_000_000).contains(&micros) {
        return Err(Errno::EDOM);
    }
    // Of less than no time Linux makes none at all.
    let timeout = Duration::from_secs(seconds.max(0).cast_unsigned()) + Duration::from_micros(micros as u64);
    Ok((!timeout.is_zero()).then_some(timeout).or((seconds < 0).then_some(Duration::ZERO)))
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
        // What a kernel gives a connection of its own, and the server is asked for.
        self.options.remembered.remove(&(SOL_SOCKET, SO_PRIORITY));
        self.options.remembered.remove(&(SOL_TCP, TCP_FASTOPEN));
        self.options.remembered.remove(&(SOL_TCP, TCP_FASTOPEN_KEY));
        self.sending.buffer_size = send_buffer;
    }

    /// Without a call nobody waits for what the server says of it; one that `may_be_told` does not
    /// either, if the client knows the option.
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
        // UDP looks at the length before the option (`udp_lib_setsockopt`).
        if self.is_udp_level(level) {
            int(&value)?;
        }
        // The server's kernel has it; the window that it shows depends on how soon it hears of what
        // was read.
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
            // Linux doubles it for its own book-keeping and says so; of data it holds what was
            // asked for.
            (SOL_SOCKET, SO_SNDBUF) => {
                self.sending.buffer_size =
                    int(&value)?.cast_unsigned().clamp(LEAST_BUFFER / 2, LARGEST_BUFFER);
                self.options.has_send_buffer = true;
            }
            (SOL_SOCKET, SO_RCVTIMEO) => self.options.receive_timeout = timeout(&value)?,
            (SOL_SOCKET, SO_SNDTIMEO) => self.options.send_timeout = timeout(&value)?,
            // The client's affair, as long as any stack has room for as much. Of more the server's
            // makes as much as it can have room for, and makes that room.
            (SOL_SOCKET, SO_RCVLOWAT)
                if self.create.kind != Kind::Stream
                    || call.is_none()
                    || self.is_lost()
                    || int(&value)?.cast_unsigned() <= LEAST_RECEIVE_BUFFER / 2 =>
            {
                let wanted = int(&value)?.cast_unsigned().clamp(1, i32::MAX.cast_unsigned());
                self.options.receive_low_water = wanted;
            }
            (SOL_SOCKET, SO_OOBINLINE) => self.options.urgent_inline = int(&value)? != 0,
            // Each of them takes the place of the others (`sock_set_timestamp`).
            (SOL_SOCKET, SO_TIMESTAMP | SO_TIMESTAMPNS | SO_TIMESTAMP_NEW | SO_TIMESTAMPNS_NEW) => {
                self.options.time_stamps = (int(&value)? != 0).then_some(name);
            }
            // A stream has no error queue, and its errors are told as ever.
            (SOL_IP, IP_RECVERR) | (SOL_IPV6, IPV6_RECVERR)
                if self.has_level(level) && self.create.kind == Kind::Stream =>
            {
                let is_on = i32::from(int(&value)? != 0);
                self.options.remember(level, name, is_on.to_ne_bytes().to_vec());
            }
            _ if self.is_of_transport(level, name) => {
                self.set_option_of_transport(name, int(&value)?, out)?;
            }
            // No interface, as before; the server refuses any, which would be one of its own.
            (SOL_SOCKET, SO_BINDTODEVICE) if value.first().is_none_or(|octet| *octet == 0) => {}
            (SOL_TCP, TCP_ULP) => return Err(Errno::ENOENT),
            (SOL_TCP, TCP_REPAIR) => return Err(Errno::EPERM),
            (SOL_SOCKET, SO_SNDLOWAT | SO_TYPE | SO_ERROR | SO_ACCEPTCONN | SO_PROTOCOL | SO_DOMAIN) => {
                return Err(Errno::ENOPROTOOPT);
            }
            // Off it is.
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
        // A server that is lost is told nothing.
        if !self.is_lost() {
            self.say_option((level, name), value, out);
        }
    }

    /// Tells the server, and again if it has to make its half again.
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

    /// Options of TCP are none of UDP, whatever they are.
    fn is_foreign_tcp(&self, level: i32) -> bool {
        level == SOL_TCP && self.create.kind != Kind::Stream
    }

    /// The level is the transport's of a datagram socket. To Linux those of UDP and of UDP-Lite are
    /// each other's.
    fn is_udp_level(&self, level: i32) -> bool {
        self.create.kind != Kind::Stream && matches!(level, SOL_UDP | SOL_UDPLITE)
    }

    /// Options of IPv6 are none of a socket of version 4.
    fn has_level(&self, level: i32) -> bool {
        level != SOL_IPV6 || self.create.family == Family::V6
    }

    fn local_option(&mut self, level: i32, name: i32) -> Option<Vec<u8>> {
        let is_stream = self.create.kind == Kind::Stream;
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
                Kind::Stream => 6,
                Kind::Datagram => 17,
                Kind::Lite => 136,
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
            // A socket's own; the one that the server's stack has for all is none of a client's.
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
            // A datagram is gone when the server has it, which tells of it only now and then.
            TIOCOUTQ if self.create.kind != Kind::Stream => self.sending.waiting_here(),
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

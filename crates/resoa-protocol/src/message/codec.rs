//! Encoding and decoding of messages: the header, and errors that name the field and its value.
//!
//! Every message that can be read is written as the same bytes again, so each has one encoding.

use super::call::Call;
use super::control::Control;
use super::field::Reader;
use super::operation::{Operation, Query, Reply};
use super::update::Update;
use super::{Body, Create, Family, MESSAGE_OCTETS, Message, RsockType, VERSION};
use crate::{Errno, Incarnation, RsockId, Target, Xid};
use thiserror::Error;

/// Why bytes are not a message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The message is longer than a Last Hop Protocol carries.
    #[error("message of {octets} octets: at most {MESSAGE_OCTETS} are allowed")]
    TooLong {
        /// Its length.
        octets: usize,
    },
    /// The message has another version.
    #[error("version {found}: this side speaks version {VERSION}; run the same release on both")]
    Version {
        /// Its version.
        found: u8,
    },
    /// The message ends too early.
    #[error("{field}: expected {needed} octets, only {left} are left")]
    Truncated {
        /// The field.
        field: &'static str,
        /// Bytes that the field takes.
        needed: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A field has an undefined value.
    #[error("{field}: {value:#x} is not a defined value")]
    Value {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u32,
    },
    /// A string is not UTF-8.
    #[error("{field}: not UTF-8 from octet {at}")]
    Text {
        /// The field.
        field: &'static str,
        /// Number of valid bytes before the error.
        at: usize,
    },
    /// There are bytes behind the last field.
    #[error("{octets} octets after the last field")]
    Trailing {
        /// Their number.
        octets: usize,
    },
}

impl DecodeError {
    pub(super) fn value(field: &'static str, value: impl Into<u32>) -> Self {
        Self::Value { field, value: value.into() }
    }
}

pub(super) const REPLY: u8 = 1;
const CREATE: u8 = 2;
const CHILD: u8 = 4;
const CONSUMED: u8 = 8;
pub(super) const ABORT: u8 = 0x10;
pub(super) const LINGER: u8 = 0x20;
pub(super) const URGENT: u8 = 0x40;
// The same bit in datagrams and in WRITE.
pub(super) const ANCILLARY: u8 = 0x80;
pub(super) const SCARCE: u8 = 0x80;

const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;
const CALL: u8 = 3;
const UPDATE: u8 = 4;
const CONTROL: u8 = 5;

impl Message {
    /// Encodes the message.
    ///
    /// # Panics
    /// If a payload is longer than [`PAYLOAD_OCTETS`](super::PAYLOAD_OCTETS).
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (kind, op, mut flags) = match &self.body {
            Body::Request { operation, .. } => (REQUEST, operation.op(), 0),
            Body::Resolve { .. } => (REQUEST, Query::OP, 0),
            Body::Response { outcome, .. } => (RESPONSE, outcome.as_ref().map_or(0, Reply::op), 0),
            Body::Call { call, .. } => (CALL, call.op(), call.flags()),
            Body::Update(update) => (UPDATE, update.op(), update.flags()),
            Body::Control(control) => (CONTROL, control.code(), control.flags()),
        };
        let mut fields = Vec::new();
        if let Body::Request { xid, .. } | Body::Resolve { xid, .. } | Body::Response { xid, .. } = &self.body
        {
            fields.extend(xid.0.to_be_bytes());
        }
        let socket = match self.target {
            Target::Socket(socket) => socket,
            Target::Child { listener, incarnation } => {
                flags |= CHILD;
                fields.extend(incarnation.0.to_be_bytes());
                listener
            }
        };
        if let Body::Call { consumed: consumed @ 1.., .. } = &self.body {
            flags |= CONSUMED;
            fields.extend(consumed.to_be_bytes());
        }
        if let Body::Request { create: Some(create), .. } | Body::Call { create: Some(create), .. } =
            &self.body
        {
            flags |= CREATE;
            fields.extend(create.octets());
        }
        match &self.body {
            Body::Request { operation, .. } => operation.write(&mut fields),
            Body::Resolve { query, .. } => query.write(&mut fields),
            Body::Response { outcome: Ok(reply), .. } => reply.write(&mut fields),
            Body::Response { outcome: Err(error), .. } => fields.push(error.code()),
            Body::Call { call, .. } => call.write(&mut fields),
            Body::Update(update) => update.write(&mut fields),
            Body::Control(control) => control.write(&mut fields),
        }
        let mut octets = vec![VERSION << 4 | kind, op, flags];
        octets.extend(socket.0.to_be_bytes());
        octets.append(&mut fields);
        assert!(octets.len() <= MESSAGE_OCTETS, "a message of {} octets", octets.len());
        octets
    }

    /// Decodes a message.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        if octets.len() > MESSAGE_OCTETS {
            return Err(DecodeError::TooLong { octets: octets.len() });
        }
        Self::read(Reader::new(octets))
    }

    pub(super) fn read(mut reader: Reader) -> Result<Self, DecodeError> {
        let (kind, op, mut flags) = (reader.u8("kind")?, reader.u8("op")?, reader.u8("flags")?);
        if kind >> 4 != VERSION {
            return Err(DecodeError::Version { found: kind >> 4 });
        }
        let mut flag = |bit: u8| {
            let is_set = flags & bit != 0;
            flags &= !bit;
            is_set
        };
        let kind = kind & 0xf;
        let socket = RsockId(reader.u32("rsockID")?);
        let xid = if matches!(kind, REQUEST | RESPONSE) { reader.u32("xid")? } else { 0 };
        let mut target = Target::Socket(socket);
        if flag(CHILD) {
            target = Target::Child { listener: socket, incarnation: Incarnation(reader.u32("incarnation")?) };
        }
        let has_consumed = kind == CALL && flag(CONSUMED);
        let consumed = if has_consumed { reader.u32("consumed")? } else { 0 };
        if has_consumed && consumed == 0 {
            return Err(DecodeError::value("consumed", consumed));
        }
        let is_resolve = (kind, op) == (REQUEST, Query::OP);
        let has_create = matches!(kind, REQUEST | CALL) && !is_resolve && flag(CREATE);
        let create = if has_create { Some(Create::read(&mut reader)?) } else { None };
        let body = match kind {
            REQUEST if is_resolve => Body::Resolve { xid: Xid(xid), query: Query::read(&mut reader)? },
            REQUEST => Body::Request { xid: Xid(xid), create, operation: Operation::read(op, &mut reader)? },
            RESPONSE => Body::Response { xid: Xid(xid), outcome: read_outcome(op, &mut reader)? },
            CALL => Body::Call { create, consumed, call: Call::read(op, &mut flags, &mut reader)? },
            UPDATE => Body::Update(Update::read(op, &mut flags, &mut reader)?),
            CONTROL => Body::Control(Control::read(op, &mut flags, &mut reader)?),
            _ => return Err(DecodeError::value("kind", kind)),
        };
        if flags != 0 {
            return Err(DecodeError::value("flags", flags));
        }
        reader.end()?;
        Ok(Self { target, body })
    }
}

fn read_outcome(op: u8, reader: &mut Reader) -> Result<Result<Reply, Errno>, DecodeError> {
    if op == 0 { Ok(Err(read_errno(reader)?)) } else { Reply::read(op, reader).map(Ok) }
}

pub(super) fn read_errno(reader: &mut Reader) -> Result<Errno, DecodeError> {
    let code = reader.u8("error")?;
    Errno::from_code(code).ok_or(DecodeError::value("error", code))
}

impl Create {
    fn octets(self) -> [u8; 3] {
        // Family, type, and IANA's number of the protocol.
        let family = match self.family {
            Family::V4 => 4,
            Family::V6 => 6,
        };
        match self.kind {
            RsockType::Stream => [family, 1, 6],
            RsockType::Datagram => [family, 2, 17],
            RsockType::Lite => [family, 2, 136],
        }
    }

    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        let family = match reader.u8("family")? {
            4 => Family::V4,
            6 => Family::V6,
            value => return Err(DecodeError::value("family", value)),
        };
        let kind = match reader.u8("type")? {
            value @ (1 | 2) => value,
            value => return Err(DecodeError::value("type", value)),
        };
        let kind = match (kind, reader.u8("protocol")?) {
            (1, 6) => RsockType::Stream,
            (2, 17) => RsockType::Datagram,
            (2, 136) => RsockType::Lite,
            (_, value) => return Err(DecodeError::value("protocol", value)),
        };
        Ok(Self { family, kind })
    }
}

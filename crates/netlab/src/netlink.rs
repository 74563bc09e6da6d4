//! Requests and answers over `NETLINK_ROUTE` in a given namespace.
//!
//! A netlink socket belongs to the namespace in which it was opened. So the socket is opened inside
//! the namespace and can be used from anywhere.

use crate::Namespace;
use crate::error::{Error, Result, Trying};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// How a request treats an object that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Creating it is an error.
    Refuse,
    /// The new object replaces it.
    Replace,
    /// The request changes, removes or queries it, and creates nothing.
    Change,
}

/// A netlink socket in a namespace.
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens a socket in `namespace`.
    pub(crate) fn open(namespace: &Namespace) -> Result<Self> {
        namespace.enter(|| {
            let what = || "open a netlink socket".to_owned();
            let mut socket = Socket::new(NETLINK_ROUTE).trying(what)?;
            socket.bind_auto().trying(what)?;
            socket.connect(&SocketAddr::new(0, 0)).trying(what)?;
            Ok(Self { socket, sequence: 0 })
        })
    }

    /// Sends a request that changes something, and waits for the kernel's acknowledgement.
    pub(crate) fn change(&mut self, message: RouteNetlinkMessage, existing: Existing) -> std::io::Result<()> {
        let create = match existing {
            Existing::Refuse => NLM_F_CREATE | NLM_F_EXCL,
            Existing::Replace => NLM_F_CREATE | NLM_F_REPLACE,
            Existing::Change => 0,
        };
        self.talk(message, NLM_F_REQUEST | NLM_F_ACK | create, &mut |_| {})
    }

    /// Requests one object.
    pub(crate) fn get(&mut self, message: RouteNetlinkMessage) -> std::io::Result<Vec<RouteNetlinkMessage>> {
        let mut answers = Vec::new();
        self.talk(message, NLM_F_REQUEST | NLM_F_ACK, &mut |answer| answers.push(answer))?;
        Ok(answers)
    }

    /// Requests all objects of a kind.
    pub(crate) fn dump(&mut self, message: &RouteNetlinkMessage) -> Result<Vec<RouteNetlinkMessage>> {
        // A dump interrupted by a change is incomplete: the kernel marks it, and the request is
        // repeated.
        for _ in 0..10 {
            let mut answers = Vec::new();
            match self.talk(message.clone(), NLM_F_REQUEST | NLM_F_DUMP, &mut |answer| answers.push(answer)) {
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                other => return other.map(|()| answers).trying(|| "read a netlink dump".into()),
            }
        }
        Err(Error::System {
            what: "read a netlink dump".into(),
            source: std::io::ErrorKind::Interrupted.into(),
        })
    }

    fn talk(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        each: &mut dyn FnMut(RouteNetlinkMessage),
    ) -> std::io::Result<()> {
        const NLM_F_DUMP_INTR: u16 = 0x10;
        self.sequence += 1;
        let mut packet = NetlinkMessage::from(message);
        packet.header.flags = flags;
        packet.header.sequence_number = self.sequence;
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut interrupted = false;
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            let mut rest = &datagram[..];
            while !rest.is_empty() {
                let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).map_err(|error| {
                    std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string())
                })?;
                let aligned = (answer.header.length as usize).next_multiple_of(4);
                rest = rest.get(aligned..).unwrap_or(&[]);
                if answer.header.sequence_number != self.sequence {
                    continue;
                }
                interrupted |= answer.header.flags & NLM_F_DUMP_INTR != 0;
                match answer.payload {
                    NetlinkPayload::InnerMessage(inner) => each(inner),
                    NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                    NetlinkPayload::Done(_) if interrupted => {
                        return Err(std::io::Error::from_raw_os_error(libc::EINTR));
                    }
                    NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(()),
                    _ => {}
                }
            }
        }
    }
}

//! The remote socket module: the server's half of one socket (6.1.2, 7.4.5).
//!
//! It translates between messages and a TCP stack and pushes data that arrives. It opens the window
//! only by what the program has read. It holds back the acknowledgement of the far host's FIN until
//! the client has everything before it.
//!
//! ```text
//!  Created ─ LISTEN ─▶ Listening         CLOSE_DATAPENDING           CLOSE            FIN acknowledged
//!     │                            Open ────────────────▶ Finishing ────────▶ Draining ──────────▶ Gone
//!     └─ CONNECT ─▶ Connecting ─────┘ └──────────────────── CLOSE ─────────────┘
//! ```
//!
//! While the far host's FIN is held, our own waits, because a stack like Linux's would acknowledge
//! the far host's FIN with it (8.3 of the specification). The client answers PEER_CLOSE by itself,
//! without a call of the program.

mod closing;
mod listening;
mod receiving;
mod requests;
mod sending;

use crate::lsm::datagram_cost;
use crate::message::{Body, Call, Control, Fault, Half, Message, RsockType, Update};
use crate::server::SocketState;
use crate::tcp::{Endpoint, TcpAction, TcpEvent};
use crate::{Errno, Target};
use listening::Backlog;
use receiving::Receiving;
use requests::Pending;
use sending::Sending;
use std::collections::VecDeque;

/// Sizes that client and server have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Sizes {
    /// Most bytes of data in a message.
    pub(crate) chunk: u32,
    /// Bytes that the server takes, as the client knows.
    pub(crate) send_space: u32,
    /// Bytes that the client takes.
    pub(crate) receive_space: u32,
    #[cfg(test)]
    pub(crate) mutation: Option<crate::settings::Mutation>,
}

/// The server's half of a socket; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Rsm {
    pub(crate) endpoint: Endpoint,
    /// The name that the client uses.
    pub(crate) target: Target,
    kind: RsockType,
    sizes: Sizes,
    state: State,
    pending: VecDeque<Pending>,
    sending: Sending,
    receiving: Receiving,
    backlog: Backlog,
    hold: Hold,
    fin: Fin,
    /// The program waits until everything is acknowledged.
    linger: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    Created,
    Listening,
    Connecting,
    Open,
    /// The client sends its remaining data, and nobody reads any more (CLOSE_DATAPENDING).
    Finishing,
    /// The client has closed it, and everything is handed to TCP.
    Draining,
    /// The connection is lost, and the client was told.
    Dead,
    /// The connection is lost by our own RST, so TCP no longer has it.
    Reset,
    Gone,
}

/// State of the far host's FIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Hold {
    /// It has not arrived.
    None,
    /// It has arrived and is not acknowledged. `told` says whether the client was told.
    Held { told: bool },
    /// It is acknowledged.
    Released,
}

/// State of our FIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Fin {
    /// There may be more to send.
    None,
    /// It waits until the far host's FIN is released.
    Waiting,
    Sent,
    Acknowledged,
}

/// Messages and requests that result from an event.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) messages: Vec<Message>,
    pub(crate) tcp: Vec<TcpAction>,
}

impl Rsm {
    pub(crate) fn new(endpoint: Endpoint, target: Target, kind: RsockType, sizes: Sizes) -> Self {
        Self {
            endpoint,
            target,
            kind,
            sizes,
            // A datagram socket needs no connection.
            state: if kind == RsockType::Stream { State::Created } else { State::Open },
            pending: VecDeque::new(),
            sending: Sending::default(),
            receiving: Receiving::new(sizes.receive_space),
            backlog: Backlog::default(),
            hold: Hold::None,
            fin: Fin::None,
            linger: false,
        }
    }

    /// Processes a call without an answer, and the report of bytes read.
    pub(crate) fn call(&mut self, call: Call, consumed: u32, out: &mut Effects) {
        if consumed > 0 {
            self.consumed(consumed, out);
        }
        match call {
            Call::Consumed => {}
            _ if matches!(self.state, State::Dead | State::Reset) && !matches!(call, Call::Close { .. }) => {}
            // Only for streams: the room of a WRITE would never be freed for a datagram socket.
            Call::Write { bytes, urgent, scarce } if self.kind == RsockType::Stream && self.may_send() => {
                self.write(bytes, urgent, scarce, out);
            }
            Call::Write { bytes, urgent, .. } if self.state == State::Connecting => {
                self.hold_back(bytes, urgent, out);
            }
            // The attempt to connect that it came with has failed already.
            Call::Write { .. } if self.state == State::Created && self.kind == RsockType::Stream => {}
            Call::Datagram { to, ancillary, bytes } if self.kind != RsockType::Stream => {
                self.datagram(to, ancillary, bytes, out);
            }
            Call::Listen { backlog } if matches!(self.state, State::Created | State::Listening) => {
                self.listen(None, backlog, out);
            }
            Call::SetOption { level, name, value } => self.set_option(level, name, value, out),
            Call::Close { state, abort, linger } => self.close(state, abort, linger, out),
            Call::Shutdown { half: Half::Read, .. } if self.state == State::Listening => {
                self.state = State::Created;
                out.tcp.push(TcpAction::StopListening);
            }
            Call::Shutdown { half, state } if half.writes() || self.kind == RsockType::Stream => {
                self.receiving.is_refused |= half.reads();
                if half.writes() {
                    self.shutdown(state, out);
                }
            }
            Call::LingerExpired if self.state == State::Draining || self.state == State::Finishing => {
                self.abort(out);
            }
            Call::FinDelivered => self.fin_delivered(out),
            Call::LocalAddress if matches!(self.state, State::Created | State::Connecting) => {
                out.tcp.push(TcpAction::Locate);
            }
            // The response to CONNECT, which is on its way, contains the local address.
            Call::LingerExpired | Call::LocalAddress => {}
            _ => self.refuse(out),
        }
    }

    /// Processes a datagram of the client that was given up. Its report of bytes read counts, and
    /// its room is free at once.
    pub(crate) fn lost_datagram(&mut self, bytes: &[u8], consumed: u32, out: &mut Effects) {
        if consumed > 0 {
            self.consumed(consumed, out);
        }
        if self.kind != RsockType::Stream && self.state != State::Dead {
            self.datagram_gone(datagram_cost(bytes), out);
        }
    }

    /// Processes an event of TCP.
    pub(crate) fn event(&mut self, event: TcpEvent, out: &mut Effects) {
        match event {
            TcpEvent::NotCreated => self.not_created(out),
            TcpEvent::Done(outcome) => self.done(outcome, out),
            TcpEvent::Received(bytes) => self.received(&bytes, out),
            TcpEvent::Urgent { ahead } => self.urgent(ahead, out),
            TcpEvent::Datagram { from, ancillary, bytes } => {
                self.received_datagram(from, ancillary, bytes, out);
            }
            TcpEvent::Undelivered { to, ancillary, bytes } => {
                if self.kind != RsockType::Stream && self.state == State::Open {
                    self.tell(Update::Undelivered { to, ancillary, bytes }, out);
                }
            }
            TcpEvent::Acknowledged(count) => self.acknowledged(count, out),
            TcpEvent::Located(local) => self.tell(Update::LocalAddress(local), out),
            TcpEvent::FinReceived => self.fin_received(out),
            TcpEvent::FinAcknowledged => self.fin_acknowledged(out),
            TcpEvent::Failed(error) => self.failed(error, out),
        }
    }

    /// Returns whether nothing is left of it.
    pub(crate) fn is_gone(&self) -> bool {
        self.state == State::Gone
    }

    /// Returns whether it is a listener.
    pub(crate) fn is_listening(&self) -> bool {
        self.state == State::Listening
    }

    /// Returns its state for the census.
    pub(crate) fn counted_as(&self) -> SocketState {
        match (self.kind, self.state) {
            (RsockType::Datagram | RsockType::Lite, _) => SocketState::Datagram,
            (_, State::Created) => SocketState::Idle,
            (_, State::Listening) => SocketState::Listening,
            (_, State::Connecting) => SocketState::Connecting,
            (_, State::Open) => SocketState::Open,
            (_, State::Finishing | State::Draining | State::Gone) => SocketState::Closing,
            (_, State::Dead | State::Reset) => SocketState::Lost,
        }
    }

    /// Ends the connection by RST and forgets it.
    pub(crate) fn abort(&mut self, out: &mut Effects) {
        if !matches!(self.state, State::Gone | State::Reset) {
            out.tcp.push(TcpAction::Abort);
        }
        self.state = State::Gone;
    }

    fn tell(&self, update: Update, out: &mut Effects) {
        out.messages.push(Message::update(self.target, update));
    }

    /// Tells the client that the state does not allow a message (E1d).
    fn refuse(&self, out: &mut Effects) {
        let body = Body::Control(Control::Error(Fault::NotAllowed));
        out.messages.push(Message { target: self.target, body });
    }

    fn is_connected(&self) -> bool {
        matches!(self.state, State::Open | State::Finishing | State::Draining)
    }

    fn failed(&mut self, error: Errno, out: &mut Effects) {
        match self.state {
            State::Finishing => self.gone_for_client(out),
            State::Draining if self.linger => self.gone_for_client(out),
            State::Draining => self.finish(out),
            State::Open => {
                // Data that arrived earlier is read before the error is reported (A14).
                self.forward_all(out);
                self.tell(Update::SocketError(error), out);
                if self.kind == RsockType::Stream {
                    self.state = State::Dead;
                }
            }
            _ => {}
        }
    }
}

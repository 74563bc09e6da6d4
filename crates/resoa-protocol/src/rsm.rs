//! The remote socket module: the server's half of one socket (6.1.2, 7.4.5).
//!
//! It translates between messages and a TCP, pushes what arrives, opens the window only by what the
//! program has read, and holds back the acknowledgement of the far host's FIN until the client has
//! everything before it.
//!
//! ```text
//!  Created ─ LISTEN ─▶ Listening         CLOSE_DATAPENDING           CLOSE            FIN acknowledged
//!     │                            Open ────────────────▶ Finishing ────────▶ Draining ──────────▶ Gone
//!     └─ CONNECT ─▶ Connecting ─────┘ └──────────────────── CLOSE ─────────────┘
//! ```
//!
//! While a FIN is held our own waits: a stack like Linux's would acknowledge with it (8.3 of the
//! specification). The client answers PEER_CLOSE by itself, so that this needs nothing of the
//! program.

mod closing;
mod listening;
mod receiving;
mod requests;
mod sending;

use crate::lsm::datagram_cost;
use crate::message::{Body, Call, Control, Fault, Half, Kind, Message, Update};
use crate::server::SocketState;
use crate::tcp::{Endpoint, TcpAction, TcpEvent};
use crate::{Errno, Target};
use listening::Backlog;
use receiving::Receiving;
use requests::Pending;
use sending::Sending;
use std::collections::VecDeque;

/// What a socket needs to know of its client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Sizes {
    /// Octets of data of a message.
    pub(crate) chunk: u32,
    /// Octets that the server takes (the client knows).
    pub(crate) send_space: u32,
    /// Octets that the client takes.
    pub(crate) receive_space: u32,
    #[cfg(test)]
    pub(crate) mutation: Option<crate::settings::Mutation>,
}

/// A server's half of a socket; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Rsm {
    pub(crate) endpoint: Endpoint,
    /// What the client calls it.
    pub(crate) target: Target,
    kind: Kind,
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
    /// The client sends the rest; nobody reads any more (CLOSE_DATAPENDING).
    Finishing,
    /// The client is done with it.
    Draining,
    /// The connection is lost; the client was told.
    Dead,
    /// The same by our own RST: TCP has nothing of it any more.
    Reset,
    Gone,
}

/// The far host's FIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Hold {
    /// Has not come.
    None,
    /// Is not acknowledged. Whether the client was told.
    Held { told: bool },
    /// Is acknowledged.
    Released,
}

/// Our FIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Fin {
    /// There is more to send.
    None,
    /// Waits until the far host's is released.
    Waiting,
    Sent,
    Acknowledged,
}

/// What comes of an event.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) messages: Vec<Message>,
    pub(crate) tcp: Vec<TcpAction>,
}

impl Rsm {
    pub(crate) fn new(endpoint: Endpoint, target: Target, kind: Kind, sizes: Sizes) -> Self {
        Self {
            endpoint,
            target,
            kind,
            sizes,
            // A datagram socket needs no connection.
            state: if kind == Kind::Stream { State::Created } else { State::Open },
            pending: VecDeque::new(),
            sending: Sending::default(),
            receiving: Receiving::new(sizes.receive_space),
            backlog: Backlog::default(),
            hold: Hold::None,
            fin: Fin::None,
            linger: false,
        }
    }

    /// A call without an answer, and what the program has read.
    pub(crate) fn call(&mut self, call: Call, consumed: u32, out: &mut Effects) {
        if consumed > 0 {
            self.consumed(consumed, out);
        }
        match call {
            Call::Consumed => {}
            _ if matches!(self.state, State::Dead | State::Reset) && !matches!(call, Call::Close { .. }) => {}
            // Its room is that of a stream: nothing would ever free it for a socket of datagrams.
            Call::Write { bytes, urgent, scarce } if self.kind == Kind::Stream && self.may_send() => {
                self.write(bytes, urgent, scarce, out);
            }
            Call::Datagram { to, ancillary, bytes } if self.kind != Kind::Stream => {
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
            Call::Shutdown { half, state } if half.writes() || self.kind == Kind::Stream => {
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
            // Where it came from the answer to CONNECT says, which is on its way.
            Call::LingerExpired | Call::LocalAddress => {}
            _ => self.refuse(out),
        }
    }

    /// A datagram that was to be sent will not come: what was read counts, and its room is free at
    /// once.
    pub(crate) fn lost_datagram(&mut self, bytes: &[u8], consumed: u32, out: &mut Effects) {
        if consumed > 0 {
            self.consumed(consumed, out);
        }
        if self.kind != Kind::Stream && self.state != State::Dead {
            self.datagram_gone(datagram_cost(bytes), out);
        }
    }

    /// What TCP says.
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
                if self.kind != Kind::Stream && self.state == State::Open {
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

    /// Whether nothing is left of it.
    pub(crate) fn is_gone(&self) -> bool {
        self.state == State::Gone
    }

    /// Whether there is an accept queue behind it.
    pub(crate) fn is_listening(&self) -> bool {
        self.state == State::Listening
    }

    /// What it is doing, for a census.
    pub(crate) fn counted_as(&self) -> SocketState {
        match (self.kind, self.state) {
            (Kind::Datagram | Kind::Lite, _) => SocketState::Datagram,
            (_, State::Created) => SocketState::Idle,
            (_, State::Listening) => SocketState::Listening,
            (_, State::Connecting) => SocketState::Connecting,
            (_, State::Open) => SocketState::Open,
            (_, State::Finishing | State::Draining | State::Gone) => SocketState::Closing,
            (_, State::Dead | State::Reset) => SocketState::Lost,
        }
    }

    /// RST, and nothing more is known of it.
    pub(crate) fn abort(&mut self, out: &mut Effects) {
        if !matches!(self.state, State::Gone | State::Reset) {
            out.tcp.push(TcpAction::Abort);
        }
        self.state = State::Gone;
    }

    fn tell(&self, update: Update, out: &mut Effects) {
        out.messages.push(Message::update(self.target, update));
    }

    /// The state does not allow it (E1d).
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
                // What came before is read before the error is told (A14).
                self.forward_all(out);
                self.tell(Update::SocketError(error), out);
                if self.kind == Kind::Stream {
                    self.state = State::Dead;
                }
            }
            _ => {}
        }
    }
}

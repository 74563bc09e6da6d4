//! The end of a socket (6.2.3): by FIN if the program has read everything, by RST otherwise; and
//! how a client that waits learns of it.

use super::{Effects, Fin, Rsm, State};
use crate::message::{CloseState, RsockType, Update};
use crate::tcp::TcpAction;

impl Rsm {
    pub(super) fn close(&mut self, state: CloseState, abort: bool, linger: bool, out: &mut Effects) {
        self.linger |= linger;
        match self.state {
            State::Connecting if abort => self.abort(out),
            State::Connecting | State::Created | State::Listening | State::Dead => self.finish(out),
            State::Open if self.kind != RsockType::Stream => {
                if state == CloseState::Close {
                    self.finish(out);
                }
            }
            State::Open | State::Finishing if abort => self.abort(out),
            // Some data may have been on the last hop, where the client could not see it when it
            // closed (A7).
            State::Open | State::Finishing if self.has_unread() => {
                if self.linger || state == CloseState::DataPending {
                    self.reset_for_client(out);
                } else {
                    self.abort(out);
                }
            }
            State::Open | State::Finishing if state == CloseState::DataPending => {
                self.state = State::Finishing;
            }
            State::Open | State::Finishing => self.drain(out),
            State::Reset => self.state = State::Gone,
            State::Draining | State::Gone => {}
        }
    }

    /// Sends FIN behind all data, and releases the far host's FIN.
    fn drain(&mut self, out: &mut Effects) {
        self.state = State::Draining;
        self.release(out);
        if self.fin == Fin::None {
            self.fin = Fin::Waiting;
        }
        self.fin_now(out);
        if self.fin == Fin::Acknowledged {
            self.all_acknowledged(out);
        }
    }

    pub(super) fn all_acknowledged(&mut self, out: &mut Effects) {
        if self.linger {
            self.tell(Update::AllAcknowledged, out);
        }
        self.finish(out);
    }

    /// Closes the end point, because nothing is left to do.
    pub(super) fn finish(&mut self, out: &mut Effects) {
        self.state = State::Gone;
        out.tcp.push(TcpAction::Close);
    }

    /// Ends the socket: the connection was lost while the client sent its remaining data, or
    /// waited.
    pub(super) fn gone_for_client(&mut self, out: &mut Effects) {
        self.tell(Update::StateClosed, out);
        self.finish(out);
    }

    /// Ends the socket in the same way, by our own RST.
    pub(super) fn reset_for_client(&mut self, out: &mut Effects) {
        self.tell(Update::StateClosed, out);
        self.abort(out);
    }
}

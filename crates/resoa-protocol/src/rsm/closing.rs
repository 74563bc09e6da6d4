//! The end of a socket (6.2.3): by FIN if the program has read everything, by RST otherwise; and
//! how the client hears of it if it waits.

use super::{Effects, Fin, Rsm, State};
use crate::message::{CloseState, Kind, Update};
use crate::tcp::TcpAction;

impl Rsm {
    pub(super) fn close(&mut self, state: CloseState, abort: bool, linger: bool, out: &mut Effects) {
        self.linger |= linger;
        match self.state {
            State::Connecting if abort => self.abort(out),
            State::Connecting | State::Created | State::Listening | State::Dead => self.finish(out),
            State::Open if self.kind != Kind::Stream => {
                if state == CloseState::Close {
                    self.finish(out);
                }
            }
            State::Open | State::Finishing if abort => self.abort(out),
            // Some of it may be on the last hop, where the client could not see it when it closed
            // (A7).
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

    /// FIN behind everything; the far host's own needs to wait no longer.
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

    /// Nothing is left to be done.
    pub(super) fn finish(&mut self, out: &mut Effects) {
        self.state = State::Gone;
        out.tcp.push(TcpAction::Close);
    }

    /// The connection is lost while the client only sends the rest, or waits.
    pub(super) fn gone_for_client(&mut self, out: &mut Effects) {
        self.tell(Update::StateClosed, out);
        self.finish(out);
    }

    /// The same, by our own RST.
    pub(super) fn reset_for_client(&mut self, out: &mut Effects) {
        self.tell(Update::StateClosed, out);
        self.abort(out);
    }
}

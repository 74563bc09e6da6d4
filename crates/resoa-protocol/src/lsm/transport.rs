//! Options of TCP and UDP that are handled on this host, because they affect only the interface to
//! the program.
//!
//! Numbers are those of Linux (`linux/udp.h`, `linux/tcp.h`).

use super::Lsm;
use crate::Errno;
use crate::calls::{Action, Stage};
use crate::message::RsockType;

const SOL_TCP: i32 = 6;
const SOL_UDP: i32 = 17;
const SOL_UDPLITE: i32 = 136;
const UDP_CORK: i32 = 1;
const UDP_GRO: i32 = 104;
const TCP_FASTOPEN_CONNECT: i32 = 30;

impl Lsm {
    /// Returns whether an option is one of these, for this socket's protocol.
    pub(super) fn is_of_transport(&self, level: i32, name: i32) -> bool {
        match (self.create.kind, level) {
            (RsockType::Stream, SOL_TCP) => name == TCP_FASTOPEN_CONNECT,
            // Both levels are valid for both protocols.
            (RsockType::Datagram | RsockType::Lite, SOL_UDP | SOL_UDPLITE) => {
                matches!(name, UDP_CORK | UDP_GRO)
            }
            _ => false,
        }
    }

    /// Sets one of these options.
    pub(super) fn set_option_of_transport(
        &mut self,
        name: i32,
        value: i32,
        out: &mut Vec<Action>,
    ) -> Result<(), Errno> {
        match name {
            UDP_CORK => self.set_cork(value != 0, out),
            UDP_GRO => self.options.puts_together = value != 0,
            _ => {
                let is_fresh = matches!(self.state.stage(), Stage::Unconnected | Stage::Failed);
                if !is_fresh || !(0..=1).contains(&value) {
                    return Err(Errno::EINVAL);
                }
                self.options.opens_fast = value != 0;
            }
        }
        Ok(())
    }

    /// Returns the value of one of these options.
    pub(super) fn option_of_transport(&self, name: i32) -> i32 {
        i32::from(match name {
            UDP_CORK => self.sending.is_corked,
            UDP_GRO => self.options.puts_together,
            _ => self.options.opens_fast,
        })
    }
}

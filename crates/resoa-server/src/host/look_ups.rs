//! Name look-ups for clients, as far as each client may know the answer.

use super::Host;
use crate::names::{self, Asked};
use resoa_carrier::Carrier;
use resoa_policy::Refusal;
use resoa_policy::reverse;
use resoa_protocol::lhp::Connection;
use resoa_protocol::message::{Query, Reply, Unresolved};
use resoa_protocol::{ServerAction, Xid};
use std::net::SocketAddr;
use std::time::Duration;

impl<C: Carrier> Host<C> {
    /// Answers queries at once that need no name server or are not permitted. The rest is answered
    /// [later](Self::tell_what_was_found).
    pub(super) fn look_up(
        &mut self,
        connection: Connection,
        xid: Xid,
        query: Query,
        more: &mut Vec<ServerAction>,
    ) {
        let now = self.origin.elapsed();
        let Some(visitor) = self.gate.visitor(connection) else { return };
        visitor.counts.look_ups += 1;
        let rules = &visitor.client.rules;
        let (is_reachable, may_be_asked) = match &query {
            Query::Address(address) => {
                let to = SocketAddr::new(address.ip(), 0);
                let is_reachable = rules.destination(to, |address| self.locals.has(address, now)).is_ok();
                (is_reachable, rules.may_look_up(&reverse(address.ip())))
            }
            // Without a host, the query is for a service in this host's files.
            Query::Host { host, .. } => (true, host.is_empty() || rules.may_look_up(host)),
        };
        let answer = if let Some(found) = names::number(&query) {
            found
        } else if !is_reachable || !may_be_asked {
            if is_reachable {
                self.gate.count(connection, Refusal::Name);
            }
            Reply::Unresolved(Unresolved::NoName)
        } else if self.names.ask(Asked { connection, who: visitor.identity.clone(), xid, query }, now) {
            return;
        } else {
            self.gate.count(connection, Refusal::LookUps);
            Reply::Unresolved(Unresolved::Again)
        };
        self.server.resolved(connection, xid, Ok(answer), more);
    }

    /// Sends the answers that were found, limited to addresses that the client may reach.
    pub(super) fn tell_what_was_found(&mut self, now: Duration) {
        for (Asked { connection, xid, query, .. }, mut reply) in self.names.found(now) {
            let Some(visitor) = self.gate.visitor(connection) else { continue };
            // Without a host, only the service was looked up.
            let is_of_a_host = matches!(&query, Query::Host { host, .. } if !host.is_empty());
            if let Reply::Hosts(addresses) = &mut reply
                && is_of_a_host
            {
                let (rules, locals) = (&visitor.client.rules, &mut self.locals);
                addresses.retain(|&to| rules.destination(to, |address| locals.has(address, now)).is_ok());
                if addresses.is_empty() {
                    reply = Reply::Unresolved(Unresolved::NoName);
                }
            }
            let mut actions = Vec::new();
            self.server.resolved(connection, xid, Ok(reply), &mut actions);
            self.carry_out(actions);
        }
    }
}

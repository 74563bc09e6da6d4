//! Connections that end unseen: what is remembered of them goes when a damaged segment makes the
//! twins look up their socket.

use crate::judge::sockets_of;
use crate::packets::Given;
use crate::world::World;
use netlab::Namespace;
use rand::{Rng, RngExt};
use std::net::TcpListener;

/// Chosen so that in a crowded world, with 33 to 41 connections, some are forgotten and some
/// remain.
const PACKETS: usize = 30;

impl World {
    /// Gives both twins damaged packets in a network namespace without the sockets: the lookup
    /// finds nothing, or a listener at the port.
    pub fn end_unseen(&mut self, elsewhere: &Namespace, random: &mut (impl Rng + Send), case: u64) {
        let packets: Vec<Given> = (0..PACKETS).map(|_| self.damaged(random)).collect();
        let is_listening = random.random::<bool>();
        let work = || {
            let (_, server) = sockets_of(&self.connections[0].tuple);
            let _listener = is_listening.then(|| TcpListener::bind(server).expect("a free port"));
            for given in &packets {
                self.give(&given.packet, case, 0..0);
                for number in 0..self.connections.len() {
                    self.compare_memory(number, case);
                }
            }
            Ok(())
        };
        elsewhere.enter(work).expect("the namespace is there");
    }
}

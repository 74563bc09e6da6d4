//! Remote sockets: input from strangers, clients and programs.
#![no_main]

mod calls;
mod carrier;
mod gate;
mod handshake;
mod llp;
mod notify;
mod policy;
mod records;
mod resoa;
mod server;

fuzz::group!(calls, carrier, gate, handshake, llp, notify, policy, records, resoa, server);

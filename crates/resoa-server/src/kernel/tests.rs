use super::*;
use resoa_protocol::message::{Family, Operation, RsockType};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

const SOCKET: Endpoint = Endpoint(1);
/// More bytes than the buffers of both ends hold.
const OCTETS: usize = 64 << 20;

/// Waits at most 10 ms and returns the events of all sockets.
fn turn(tcp: &mut KernelTcp) -> Vec<TcpEvent> {
    let mut events = Vec::new();
    for endpoint in tcp.wait(Some(Duration::from_millis(10))).expect("epoll waits").endpoints {
        tcp.look(endpoint, &mut events);
    }
    events
}

fn connected() -> (KernelTcp, TcpStream) {
    let source = Ipv4Addr::LOCALHOST.into();
    let listener = TcpListener::bind((source, 0)).expect("loopback");
    let mut tcp = KernelTcp::new().expect("descriptors");
    let create = Create { family: Family::V4, kind: RsockType::Stream };
    tcp.act(SOCKET, TcpAction::Create { create, source, foreign: false }, &mut Vec::new());
    let to = listener.local_addr().expect("is bound");
    tcp.act(SOCKET, TcpAction::Execute(Operation::Connect(to)), &mut Vec::new());
    while !turn(&mut tcp).iter().any(|event| matches!(event, TcpEvent::Done(Ok(_)))) {}
    (tcp, listener.accept().expect("is connected").0)
}

/// C59: FIN is sent behind data that waits for buffer space, even if something arrives whenever
/// there is space. The last arrival uses up the edge, and no other one follows.
#[test]
fn an_end_behind_what_waits_while_something_arrives() {
    let (mut tcp, mut far) = connected();
    far.set_nonblocking(true).expect("is a socket");
    let (mut events, mut left) = (Vec::new(), OCTETS);
    tcp.act(SOCKET, TcpAction::Send { bytes: vec![7; OCTETS], urgent: false }, &mut events);
    tcp.act(SOCKET, TcpAction::ShutdownWrite, &mut events);
    let mut buffer = vec![0; 1 << 20];
    // Reads the available bytes. 0 is the end of the stream.
    let mut read = |far: &mut TcpStream| match far.read(&mut buffer) {
        Ok(count) => Some(count),
        Err(error) => (error.kind() != ErrorKind::WouldBlock).then(|| panic!("{error}")),
    };
    while left > 0 {
        far.write_all(b"x").expect("there is room");
        turn(&mut tcp);
        while left > 0
            && let Some(count) = read(&mut far)
        {
            assert_ne!(count, 0, "{left} octets are missing");
            left -= count;
        }
    }
    // The kernel is idle here, so this takes some seconds at most; usually the first look finds the
    // end.
    let end = (0..500).find_map(|_| {
        turn(&mut tcp);
        read(&mut far)
    });
    assert_eq!(end, Some(0), "FIN");
}

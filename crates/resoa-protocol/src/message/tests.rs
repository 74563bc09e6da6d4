use super::*;
use crate::Incarnation;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

fn ip() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| Ipv4Addr::from(bits).into()),
        any::<u128>().prop_map(|bits| Ipv6Addr::from(bits).into()),
    ]
}

fn address() -> impl Strategy<Value = SocketAddr> {
    (ip(), any::<u16>(), any::<u32>()).prop_map(|(ip, port, scope)| match ip {
        IpAddr::V4(_) => SocketAddr::new(ip, port),
        IpAddr::V6(ip) => SocketAddrV6::new(ip, port, 0, scope).into(),
    })
}

fn octets() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..9)
}

fn ancillary() -> impl Strategy<Value = Ancillary> {
    prop::collection::vec((any::<u8>(), any::<u8>(), octets()), 0..3).prop_map(|records| {
        let mut ancillary = Ancillary::none();
        for (level, kind, value) in records {
            assert!(ancillary.push(level, kind, &value));
        }
        ancillary
    })
}

fn errno() -> impl Strategy<Value = Errno> {
    prop::sample::select(Errno::ALL)
}

fn family() -> impl Strategy<Value = Family> {
    prop::sample::select(&[Family::V4, Family::V6])
}

fn create() -> impl Strategy<Value = Option<Create>> {
    let kind = prop::sample::select(&[RsockType::Stream, RsockType::Datagram, RsockType::Lite]);
    prop::option::of((family(), kind).prop_map(|(family, kind)| Create { family, kind }))
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        address().prop_map(Operation::Bind),
        address().prop_map(Operation::Connect),
        Just(Operation::Disconnect),
        any::<u32>().prop_map(|backlog| Operation::Listen { backlog }),
        (any::<i32>(), any::<i32>(), octets()).prop_map(|(level, name, value)| Operation::SetOption {
            level,
            name,
            value
        }),
        (any::<i32>(), any::<i32>(), any::<u32>()).prop_map(|(level, name, length)| Operation::GetOption {
            level,
            name,
            length
        }),
        (any::<u32>(), octets()).prop_map(|(command, argument)| Operation::Ioctl { command, argument }),
    ]
}

fn query() -> impl Strategy<Value = Query> {
    prop_oneof![
        ("[a-zä.]{0,9}", "[a-z0-9]{0,4}", prop::option::of(family()))
            .prop_map(|(host, service, family)| Query::Host { host, service, family }),
        address().prop_map(Query::Address),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    let unresolved = &[Unresolved::NoName, Unresolved::Again, Unresolved::Fail, Unresolved::NoService];
    prop_oneof![
        Just(Reply::Done),
        address().prop_map(Reply::Local),
        (address(), address()).prop_map(|(local, peer)| Reply::Connected { local, peer }),
        octets().prop_map(Reply::Value),
        prop::collection::vec(address(), 0..4).prop_map(Reply::Hosts),
        ("[a-z.]{0,9}", "[a-z]{0,4}").prop_map(|(host, service)| Reply::Name { host, service }),
        prop::sample::select(unresolved).prop_map(Reply::Unresolved),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let state = || prop::sample::select(&[CloseState::Close, CloseState::DataPending]);
    let half = prop::sample::select(&[Half::Read, Half::Write, Half::Both]);
    prop_oneof![
        any::<u32>().prop_map(|backlog| Call::Listen { backlog }),
        (any::<u32>(), any::<u32>()).prop_map(|(incarnation, socket)| Call::Accepted {
            incarnation: Incarnation(incarnation),
            socket: RsockId(socket)
        }),
        (prop::collection::vec(any::<u8>(), 1..9), any::<bool>(), any::<bool>())
            .prop_map(|(bytes, urgent, scarce)| Call::Write { bytes, urgent, scarce }),
        (prop::option::of(address()), ancillary(), octets())
            .prop_map(|(to, ancillary, bytes)| Call::Datagram { to, ancillary, bytes }),
        Just(Call::Consumed),
        (any::<i32>(), any::<i32>(), octets()).prop_map(|(level, name, value)| Call::SetOption {
            level,
            name,
            value
        }),
        (state(), any::<bool>(), any::<bool>()).prop_map(|(state, abort, linger)| Call::Close {
            state,
            abort,
            linger
        }),
        (half, state()).prop_map(|(half, state)| Call::Shutdown { half, state }),
        Just(Call::LingerExpired),
        Just(Call::FinDelivered),
        Just(Call::LocalAddress),
    ]
}

fn update() -> impl Strategy<Value = Update> {
    prop_oneof![
        (address(), address()).prop_map(|(local, peer)| Update::NewConnection { local, peer }),
        any::<u32>().prop_map(Update::SendFreed),
        prop::collection::vec(any::<u8>(), 1..9).prop_map(Update::Data),
        (address(), ancillary(), octets()).prop_map(|(to, ancillary, bytes)| Update::Undelivered {
            to,
            ancillary,
            bytes
        }),
        (address(), ancillary(), octets()).prop_map(|(from, ancillary, bytes)| Update::Datagram {
            from,
            ancillary,
            bytes
        }),
        any::<u32>().prop_map(|ahead| Update::Urgent { ahead }),
        Just(Update::PeerClosed),
        Just(Update::AllAcknowledged),
        Just(Update::StateClosed),
        errno().prop_map(Update::SocketError),
        address().prop_map(Update::LocalAddress),
    ]
}

fn refusal() -> impl Strategy<Value = Refusal> {
    prop_oneof![
        any::<u8>().prop_map(Refusal::Version),
        any::<[bool; 3]>().prop_map(|[shared, own, brought]| Refusal::Mode(Modes { shared, own, brought })),
        octets().prop_map(|alternative| Refusal::Resources { alternative }),
        any::<u32>()
            .prop_map(|ms| Refusal::StillRegistered { retry_after: Duration::from_millis(ms.into()) }),
        Just(Refusal::NoResumption),
    ]
}

fn control() -> impl Strategy<Value = Control> {
    let mode = prop_oneof![
        Just(AddressMode::Shared),
        Just(AddressMode::Own),
        Just(AddressMode::Any),
        ip().prop_map(AddressMode::Brought),
    ];
    let accepted = (ip(), any::<u32>(), any::<u32>()).prop_map(|(address, sockets, send_space)| Accepted {
        address,
        sockets,
        send_space,
    });
    let fault = prop::sample::select(&[Fault::InvalidRsockId, Fault::NoBuffers, Fault::NotAllowed]);
    prop_oneof![
        (any::<u8>(), mode, any::<u32>(), any::<bool>()).prop_map(
            |(version, mode, receive_space, resume)| Control::Register {
                version,
                mode,
                receive_space,
                resume
            }
        ),
        accepted.prop_map(|accepted| Control::Registered(Ok(accepted))),
        refusal().prop_map(|refusal| Control::Registered(Err(refusal))),
        any::<bool>().prop_map(|graceful| Control::Deregister { graceful }),
        any::<bool>().prop_map(|done| Control::Deregistered { done }),
        any::<bool>().prop_map(|reply| Control::StillAlive { reply }),
        any::<u32>().prop_map(|xid| Control::RequestPending(Xid(xid))),
        (any::<u32>(), any::<bool>()).prop_map(|(xid, pending)| Control::Pending { xid: Xid(xid), pending }),
        fault.prop_map(Control::Error),
    ]
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    let target = prop_oneof![
        any::<u32>().prop_map(|socket| Target::Socket(RsockId(socket))),
        (any::<u32>(), any::<u32>()).prop_map(|(listener, incarnation)| Target::Child {
            listener: RsockId(listener),
            incarnation: Incarnation(incarnation)
        }),
    ];
    let outcome = prop_oneof![reply().prop_map(Ok), errno().prop_map(Err)];
    let body = prop_oneof![
        (any::<u32>(), create(), operation()).prop_map(|(xid, create, operation)| Body::Request {
            xid: Xid(xid),
            create,
            operation
        }),
        (any::<u32>(), query()).prop_map(|(xid, query)| Body::Resolve { xid: Xid(xid), query }),
        (any::<u32>(), outcome).prop_map(|(xid, outcome)| Body::Response { xid: Xid(xid), outcome }),
        (create(), any::<u32>(), call()).prop_map(|(create, consumed, call)| Body::Call {
            create,
            consumed,
            call
        }),
        update().prop_map(Body::Update),
        control().prop_map(Body::Control),
    ];
    (target, body).prop_map(|(target, body)| Message { target, body })
}

proptest! {
    /// C20: every message is read as it was written. It is refused if it is truncated, or if bytes
    /// follow that do not belong to it.
    #[test]
    fn messages_are_read_as_written(message in message()) {
        let octets = message.encode();
        prop_assert_eq!(Message::decode(&octets), Ok(message));
        for cut in 0..HEADER_OCTETS {
            prop_assert!(Message::decode(&octets[..cut]).is_err());
        }
    }

    /// C20: each message has one encoding, and any bytes are read or refused.
    #[test]
    fn octets_are_read_or_refused(
        mut octets in prop::collection::vec(any::<u8>(), 0..60),
        kind in 0x10..0x17_u8,
        op in 0..12_u8,
    ) {
        if octets.len() > 2 {
            octets[..2].copy_from_slice(&[kind, op]);
            octets[2] &= 1 << (octets[2] % 8);
        }
        if let Ok(message) = Message::decode(&octets) {
            prop_assert_eq!(message.encode(), octets);
        }
    }
}

/// C16: the codes of Table 6.1, and the octets of each control message.
#[test]
fn control_codes_are_those_of_the_table() {
    let octets = |control| Message::control(control).encode();
    let header = |code, flags| vec![0x15, code, flags, 0, 0, 0, 0];
    let with = |mut head: Vec<u8>, fields: &[u8]| {
        head.extend(fields);
        head
    };
    let register = Control::Register {
        version: 1,
        mode: AddressMode::Shared,
        receive_space: 0x0102_0304,
        resume: false,
    };
    assert_eq!(octets(register), with(header(1, 0), &[1, 1, 2, 3, 4, 0, 0]));
    let accepted = Accepted { address: Ipv4Addr::new(192, 0, 2, 1).into(), sockets: 7, send_space: 256 };
    let fields = [0, 4, 192, 0, 2, 1, 0, 0, 0, 7, 0, 0, 1, 0];
    assert_eq!(octets(Control::Registered(Ok(accepted))), with(header(1, 1), &fields));
    assert_eq!(octets(Control::Deregister { graceful: true }), with(header(2, 0), &[1]));
    assert_eq!(octets(Control::Deregistered { done: false }), with(header(2, 1), &[0]));
    assert_eq!(octets(Control::StillAlive { reply: false }), header(3, 0));
    assert_eq!(octets(Control::StillAlive { reply: true }), header(3, 1));
    assert_eq!(octets(Control::RequestPending(Xid(9))), with(header(5, 0), &[0, 0, 0, 9]));
    assert_eq!(octets(Control::Pending { xid: Xid(9), pending: true }), with(header(5, 1), &[0, 0, 0, 9, 1]));
    assert_eq!(octets(Control::Error(Fault::NoBuffers)), with(header(8, 0), &[1]));
}

/// C20: the octets of each request.
#[test]
fn octets_of_requests() {
    let octets = |body| Message { target: Target::Socket(RsockId(3)), body }.encode();
    let to = SocketAddr::from(([192, 0, 2, 1], 80));
    let (level, name) = (1, 2);
    for (op, operation, fields) in [
        (1, Operation::Bind(to), &[4, 0, 80, 192, 0, 2, 1][..]),
        (2, Operation::Connect(to), &[4, 0, 80, 192, 0, 2, 1]),
        (3, Operation::Disconnect, &[]),
        (4, Operation::Listen { backlog: u32::MAX }, &[255; 4]),
        (5, Operation::SetOption { level, name, value: vec![7] }, &[0, 0, 0, 1, 0, 0, 0, 2, 7]),
        (6, Operation::GetOption { level, name, length: 4 }, &[0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4]),
        (7, Operation::Ioctl { command: 5, argument: vec![6] }, &[0, 0, 0, 5, 6]),
    ] {
        let header = [0x11, op, 0, 0, 0, 0, 3, 0, 0, 0, 9];
        let expected = [&header[..], fields].concat();
        assert_eq!(octets(Body::Request { xid: Xid(9), create: None, operation }), expected);
    }
    let resolve = Body::Resolve { xid: Xid(9), query: Query::Address(to) };
    assert_eq!(octets(resolve), [0x11, 8, 0, 0, 0, 0, 3, 0, 0, 0, 9, 1, 4, 0, 80, 192, 0, 2, 1]);
}

/// C107: data costs 7 bytes, or 11 with a report of what was read. TCP/IP costs at least 40, and 52
/// with time stamps.
#[test]
fn headers_are_smaller_than_those_of_tcp() {
    let target = Target::Socket(RsockId(70_000));
    let write = |consumed| {
        let call = Call::Write { bytes: vec![0; 1460], urgent: false, scarce: false };
        Message { target, body: Body::Call { create: None, consumed, call } }.encode().len() - 1460
    };
    assert_eq!((write(0), write(9000)), (7, 11));
    let data = Message::update(target, Update::Data(vec![0; 1460])).encode().len() - 1460;
    // A datagram without control messages has no field for them (C91).
    let from = SocketAddr::from(([192, 0, 2, 1], 53));
    let mut ancillary = Ancillary::none();
    let mut datagram = || {
        let update = Update::Datagram { from, ancillary: ancillary.clone(), bytes: vec![0; 1460] };
        let length = Message::update(target, update).encode().len() - 1460;
        (length, ancillary.push(0, 1, &[3]))
    };
    assert_eq!([datagram(), datagram()], [(14, true), (19, true)]);
    // The message that takes the place of an acknowledgement.
    let freed = Message::update(target, Update::SendFreed(9000)).encode().len();
    assert_eq!((data, freed), (7, 11));
}

/// C86: the longest payload, with everything else that a message can contain, fits the length that
/// a Last Hop Protocol must carry.
#[test]
fn the_longest_message_fits() {
    let target = Target::Child { listener: RsockId(1), incarnation: Incarnation(2) };
    let create = Some(Create { family: Family::V6, kind: RsockType::Datagram });
    let to = Some("[2001:db8::1]:53".parse().expect("an address"));
    let ancillary = Ancillary::read(&[&[0, 0, 252][..], &[7; 252]].concat()).expect("a record");
    assert_eq!(ancillary.octets().len(), Ancillary::MOST);
    let call = Call::Datagram { to, ancillary, bytes: vec![7; PAYLOAD_OCTETS] };
    let message = Message { target, body: Body::Call { create, consumed: 1, call } };
    let octets = message.encode();
    assert!(octets.len() <= MESSAGE_OCTETS);
    assert_eq!(Message::decode(&octets), Ok(message));
    let long = vec![0x14; MESSAGE_OCTETS + 1];
    assert_eq!(Message::decode(&long), Err(DecodeError::TooLong { octets: MESSAGE_OCTETS + 1 }));
}

/// C20: errors name the field and its value.
#[test]
fn errors_name_the_field() {
    let error = |octets: &[u8]| Message::decode(octets).expect_err("is no message").to_string();
    assert_eq!(error(&[0x13, 3]), "flags: expected 1 octets, only 0 are left");
    assert_eq!(
        error(&[0x23, 3, 0, 0, 0, 0, 1]),
        "version 2: this side speaks version 1; run the same release on both"
    );
    assert_eq!(error(&[0x13, 77, 0, 0, 0, 0, 1]), "call: 0x4d is not a defined value");
    assert_eq!(error(&[0x13, 3, 0, 0, 0, 0, 1]), "data: expected 1 octets, only 0 are left");
    assert_eq!(error(&[0x14, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 9]), "1 octets after the last field");
    assert_eq!(error(&[0x14, 6, 0x80, 0, 0, 0, 1]), "flags: 0x80 is not a defined value");
    // A look-up creates no socket.
    let resolve = [0x11, 8, 2, 0, 0, 0, 0, 0, 0, 0, 9, 1, 4, 0, 80, 192, 0, 2, 1];
    assert_eq!(error(&resolve), "flags: 0x2 is not a defined value");
    // A flag that announces control messages although there are none, or only half of one.
    let beside = |records: &[u8]| error(&[&[0x13, 4, 0x80, 0, 0, 0, 1, 0][..], records].concat());
    assert_eq!(beside(&[0]), "control messages: 0x0 is not a defined value");
    assert_eq!(beside(&[4, 0, 1, 2, 9]), "control messages: 0x4 is not a defined value");
    assert_eq!(beside(&[5, 0, 1]), "control messages: expected 5 octets, only 2 are left");
}

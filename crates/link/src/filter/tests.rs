use super::*;
use etherparse::PacketBuilder;
use packet::Layer;
use proptest::prelude::*;

fn filter(text: &str) -> Filter {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn frame(build: impl FnOnce(&mut Vec<u8>)) -> Frame {
    let mut bytes = Vec::new();
    build(&mut bytes);
    Frame::owned(Layer::Ip, bytes)
}

fn tcp4() -> Frame {
    let step = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(40_000, 80, 7, 1000).syn();
    frame(|bytes| step.write(bytes, &[0; 60]).expect("a vector"))
}

fn udp6() -> Frame {
    let (from, to) = ([0xfd; 16], [0xfe; 16]);
    let step = PacketBuilder::ipv6(from, to, 64).udp(53, 5353);
    frame(|bytes| step.write(bytes, &[0; 12]).expect("a vector"))
}

fn icmp4() -> Frame {
    let step = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).icmpv4_echo_request(1, 2);
    frame(|bytes| step.write(bytes, &[]).expect("a vector"))
}

fn icmp6() -> Frame {
    let step = PacketBuilder::ipv6([1; 16], [2; 16], 64).icmpv6_echo_request(1, 2);
    frame(|bytes| step.write(bytes, &[]).expect("a vector"))
}

/// An ARP request: Ethernet, but not IP.
fn arp() -> Frame {
    let mut bytes = vec![0xff; 12];
    bytes.extend([0x08, 0x06]);
    bytes.extend([0; 28]);
    Frame::owned(Layer::Ethernet, bytes)
}

#[test]
fn each_primitive_says_yes_to_its_packets_only() {
    let frames = [tcp4(), udp6(), icmp4(), icmp6(), arp()];
    let cases = [
        ("ip", [true, false, true, false, false]),
        ("ip6", [false, true, false, true, false]),
        ("tcp", [true, false, false, false, false]),
        ("udp", [false, true, false, false, false]),
        ("icmp", [false, false, true, false, false]),
        ("icmp6", [false, false, false, true, false]),
        ("port 80", [true, false, false, false, false]),
        ("src port 80", [false; 5]),
        ("src port 53", [false, true, false, false, false]),
        ("dst port 5353", [false, true, false, false, false]),
        ("host 10.0.0.2", [true, false, true, false, false]),
        ("src host 10.0.0.2", [false; 5]),
        ("dst host 202:202:202:202:202:202:202:202", [false, false, false, true, false]),
        // 20 + 20 + 60, 40 + 8 + 12, 20 + 8, 40 + 8, 14 + 28 bytes.
        ("greater 60", [true, true, false, false, false]),
        ("less 42", [false, false, true, false, true]),
        ("syn", [true, false, false, false, false]),
        ("fin", [false; 5]),
        ("rst", [false; 5]),
        ("not tcp", [false, true, true, true, true]),
        ("not (ip or ip6)", [false, false, false, false, true]),
        ("tcp port 80", [true, false, false, false, false]),
        ("udp port 80", [false; 5]),
        ("ip src host 10.0.0.1 && !syn", [false, false, true, false, false]),
        ("(tcp and syn) or udp", [true, true, false, false, false]),
    ];
    for (text, expected) in cases {
        let filter = filter(text);
        let found = frames.each_ref().map(|frame| filter.matches(frame));
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn flags_are_told_apart() {
    let built = |flags: fn(
        etherparse::PacketBuilderStep<etherparse::TcpHeader>,
    ) -> etherparse::PacketBuilderStep<etherparse::TcpHeader>| {
        let step = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(1, 2, 3, 4);
        frame(|bytes| flags(step).write(bytes, &[]).expect("a vector"))
    };
    let frames = [
        built(|step| step.syn().ack(9)),
        built(|step| step.fin().ack(9)),
        built(etherparse::PacketBuilderStep::<etherparse::TcpHeader>::rst),
    ];
    for (text, expected) in
        [("syn", [true, false, false]), ("fin", [false, true, false]), ("rst", [false, false, true])]
    {
        assert_eq!(frames.each_ref().map(|frame| filter(text).matches(frame)), expected, "{text}");
    }
}

#[test]
fn errors_name_the_column_and_what_would_be_right() {
    let cases = [
        ("tcp and prt 80", 9, "prt", "a primitive"),
        ("port 70000", 6, "70000", "a port"),
        ("port +80", 6, "+80", "a port"),
        ("host example.org", 6, "example.org", "an IPv4"),
        ("src 80", 5, "80", "`port` or `host`"),
        ("(tcp", 5, "the end", "`)`"),
        ("", 1, "the end", "a primitive"),
        ("tcp udp", 5, "udp", "`and`"),
        ("tcp and syn or udp", 13, "or", "parentheses"),
        ("tcp & syn", 5, "&", "`and`"),
        ("größer 5", 1, "größer", "a primitive"),
        ("(tcp) ü", 7, "ü", "`and`"),
        ("tcp)", 4, ")", "`and`"),
        ("greater", 8, "the end", "a number"),
    ];
    for (text, column, found, wanted) in cases {
        let error = text.parse::<Filter>().expect_err(text);
        assert_eq!((error.column, error.found.as_str()), (column, found), "{text}");
        assert!(error.wanted.contains(wanted), "{error}");
        assert!(error.to_string().contains(&format!("column {column}")));
    }
    let deep = "(".repeat(100_000) + "tcp";
    assert_eq!(deep.parse::<Filter>().expect_err("too deep").column, 66);
    assert!("!".repeat(100_000).parse::<Filter>().is_err());
    // A filter that can be parsed can also be parsed in its printed form, where `tcp port` is one
    // level deeper.
    let at = |depth: usize| ("!".repeat(depth) + "tcp port 80").parse::<Filter>();
    let deepest = at(63).expect("64 levels");
    assert_eq!(deepest.to_string().parse().as_ref(), Ok(&deepest));
    assert_eq!(at(64).expect_err("too deep").column, 65);
}

#[test]
fn a_filter_prints_in_one_form() {
    for (text, printed) in [
        ("tcp&&(syn||fin)", "tcp and (syn or fin)"),
        ("! ( tcp )", "not tcp"),
        ("!(tcp or udp)", "not (tcp or udp)"),
        ("udp dst port 53", "udp and dst port 53"),
        ("((ip6 host ::1))", "ip6 and host ::1"),
    ] {
        assert_eq!(filter(text).to_string(), printed);
    }
}

fn primitive() -> impl Strategy<Value = Primitive> {
    let end = prop_oneof![Just(End::Either), Just(End::Source), Just(End::Destination)];
    prop_oneof![
        Just(Primitive::Version(Version::Ip)),
        Just(Primitive::Version(Version::Ip6)),
        prop_oneof![Just(Protocol::Tcp), Just(Protocol::Udp), Just(Protocol::Icmp), Just(Protocol::Icmp6)]
            .prop_map(Primitive::Protocol),
        (end.clone(), any::<u16>()).prop_map(|(end, port)| Primitive::Port(end, port)),
        (end, any::<IpAddr>()).prop_map(|(end, host)| Primitive::Host(end, host)),
        any::<usize>().prop_map(Primitive::Greater),
        any::<usize>().prop_map(Primitive::Less),
        prop_oneof![Just(Flag::Syn), Just(Flag::Fin), Just(Flag::Rst)].prop_map(Primitive::Flag),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(tree in primitive().prop_map(Tree::Is).prop_recursive(6, 40, 4, |tree| {
        prop_oneof![
            tree.clone().prop_map(|tree| Tree::Not(Box::new(tree))),
            prop::collection::vec(tree.clone(), 2..4).prop_map(Tree::All),
            prop::collection::vec(tree, 2..4).prop_map(Tree::Any),
        ]
    })) {
        let filter = Filter { tree };
        prop_assert_eq!(filter.to_string().parse::<Filter>(), Ok(filter));
    }

    #[test]
    fn any_text_is_a_filter_or_an_error_within_it(text in "[ ()!&|a-z0-9.:]{0,40}") {
        match text.parse::<Filter>() {
            Ok(filter) => prop_assert_eq!(filter.to_string().parse::<Filter>(), Ok(filter)),
            Err(error) => prop_assert!((1..=text.len() + 1).contains(&error.column)),
        }
    }
}

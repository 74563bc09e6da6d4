//! Bulk transfers, and options of the real socket.

use crate::rig::{LOOPBACKS, Rig, Turns, bytes, reading, sending};
use resoa_protocol::message::Operation;
use resoa_protocol::{Errno, SocketCall, Value};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::thread;

const TOTAL: usize = 50_000_000;

/// The byte at a position. Neighbours differ, and so do positions a buffer apart.
fn octet(place: usize) -> u8 {
    (place.wrapping_mul(0x9E37_79B1) >> 13) as u8
}

/// C21, C23, C42: 50 MB arrive intact each way at the same time. The counts of free buffer space
/// are exact, or the sender would stop.
#[test]
fn fifty_megabytes_each_way() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, far) = rig.connected();
        let [mut reader, mut writer] = [(); 2].map(|()| far.try_clone().expect("a descriptor"));
        thread::scope(|scope| {
            let far_writes = scope.spawn(move || {
                let all: Vec<u8> = (0..TOTAL).map(|place| octet(place + 1)).collect();
                writer.write_all(&all).expect("is read");
                writer.shutdown(Shutdown::Write).expect("is connected");
            });
            let far_reads = scope.spawn(move || {
                let mut all = Vec::new();
                reader.read_to_end(&mut all).expect("FIN, not RST");
                assert_eq!(all.len(), TOTAL);
                all.iter().enumerate().all(|(place, &found)| found == octet(place))
            });
            let (mut handed, mut read, mut ended) = (0, 0, false);
            let (mut send, mut receive) = (None, None);
            while handed < TOTAL || !ended {
                if send.is_none() && handed < TOTAL {
                    let chunk: Vec<u8> = (handed..TOTAL.min(handed + 100_000)).map(octet).collect();
                    let count = chunk.len();
                    handed += count;
                    send = Some((rig.begin(socket, sending(chunk)), count));
                }
                if receive.is_none() && !ended {
                    receive = Some(rig.begin(socket, reading(200_000)));
                }
                rig.until(|rig| {
                    let mut is_one = false;
                    if let Some((call, count)) = send
                        && let Some(returned) = rig.ended(call)
                    {
                        assert_eq!(returned, Ok(Value::Count(count)));
                        (send, is_one) = (None, true);
                    }
                    if let Some(call) = receive
                        && let Some(returned) = rig.ended(call)
                    {
                        let Ok(Value::Bytes(found)) = returned else { panic!("{returned:?}") };
                        let right =
                            found.iter().enumerate().all(|(at, &found)| found == octet(read + at + 1));
                        assert!(right, "after {read} octets");
                        read += found.len();
                        ended = found.is_empty();
                        (receive, is_one) = (None, true);
                    }
                    is_one.then_some(())
                });
            }
            assert_eq!(read, TOTAL);
            if let Some((call, count)) = send {
                assert_eq!(rig.until(|rig| rig.ended(call)), Ok(Value::Count(count)));
            }
            assert_eq!(rig.close(socket), Ok(Value::Done));
            rig.until(|_| (far_reads.is_finished() && far_writes.is_finished()).then_some(()));
            assert!(far_reads.join().expect("reads"), "what was sent arrived");
        });
        drop(far);
        rig.nothing_is_left();
    }
}

/// C39: options are those of the real socket. Linux doubles SO_RCVBUF, and TCP_INFO describes the
/// connection. Options that would harm the server are refused.
#[test]
fn options_of_the_real_socket() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, _far) = rig.connected();
        let set = |name, value: i32| Operation::SetOption {
            level: libc::SOL_SOCKET,
            name,
            value: value.to_ne_bytes().to_vec(),
        };
        assert_eq!(rig.call(socket, set(libc::SO_RCVBUF, 10_000)), Ok(Value::Done));
        assert_eq!(rig.option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF), 20_000_i32.to_ne_bytes());
        let info = rig.option(socket, libc::IPPROTO_TCP, libc::TCP_INFO);
        // TCP_ESTABLISHED.
        assert!(info.len() > 100 && info[0] == 1, "{info:?}");
        for name in [libc::SO_MARK, libc::SO_RCVBUFFORCE] {
            assert_eq!(rig.call(socket, set(name, 1)), Err(Errno::EPERM), "option {name}");
        }
        for name in [libc::SO_PEEK_OFF, libc::SO_ATTACH_REUSEPORT_CBPF] {
            assert_eq!(rig.call(socket, set(name, 1)), Err(Errno::ENOPROTOOPT), "option {name}");
        }
        // Works also if the server cannot open files any more.
        let choose = |name: &[u8]| {
            let (level, value) = (libc::IPPROTO_TCP, name.to_vec());
            Operation::SetOption { level, name: libc::TCP_CONGESTION, value }
        };
        assert_eq!(rig.call(socket, choose(b"reno")), Ok(Value::Done));
        // Padded with zeros, as natively.
        assert_eq!(
            rig.option(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION),
            *b"reno\0\0\0\0\0\0\0\0\0\0\0\0"
        );
        assert_eq!(rig.call(socket, choose(b"none-of-that")), Err(Errno::ENOENT));
    }
}

/// C21, C41: acknowledgements are noticed although the socket has no other event: SIOCOUTQ drops
/// to 0.
#[test]
fn acknowledgements_by_themselves() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, far) = rig.connected();
        // Delay the acknowledgement, so that it arrives after the server's last look at the socket.
        rustix::net::sockopt::set_tcp_quickack(&far, false).expect("is a socket");
        assert_eq!(rig.send(socket, b"abc"), Ok(Value::Count(3)));
        let inquiry = Operation::Ioctl { command: libc::TIOCOUTQ as u32, argument: Vec::new() };
        rig.until(|rig| match rig.call(socket, inquiry.clone()) {
            Ok(Value::Option(left)) => (left == 0_u32.to_ne_bytes()).then_some(()),
            other => panic!("{other:?}"),
        });
    }
}

/// C45: an urgent byte of the program is urgent at the far host, and the data around it arrives.
#[test]
fn urgent_octet_sent() {
    for own in LOOPBACKS {
        let mut rig = Rig::new(own);
        let (socket, mut far) = rig.connected();
        let flags = resoa_protocol::SendFlags { urgent: true, ..Default::default() };
        let send = SocketCall::Send { bytes: b"ab!".to_vec(), to: None, flags };
        assert_eq!(rig.call(socket, send), Ok(Value::Count(3)));
        assert_eq!(rig.send(socket, b"c"), Ok(Value::Count(1)));
        assert_eq!(rig.close(socket), Ok(Value::Done));
        let mut all = Vec::new();
        let urgent = rig.far(|| {
            far.read_to_end(&mut all).expect("FIN, not RST");
            all
        });
        assert_eq!(urgent, b"abc", "the urgent octet is not in line");
    }
}

/// Sends with MSG_OOB: the last byte is urgent.
fn send_urgent(far: &std::net::TcpStream, bytes: &[u8]) {
    let sent = rustix::net::send(far, bytes, rustix::net::SendFlags::OOB).expect("is taken");
    assert_eq!(sent, bytes.len());
}

/// C45: an urgent byte of the far host is urgent to the program, whether the server learns of it
/// with the bytes before it, after them, or after the program has read. It is out of line, and all
/// other data is in order.
#[test]
fn urgent_octet_received() {
    for own in LOOPBACKS {
        for turns in [false, true] {
            let mut rig = Rig::new(own);
            let (socket, mut far) = rig.connected();
            let flags = resoa_protocol::ReceiveFlags { urgent: true, ..Default::default() };
            let urgent = SocketCall::Receive { length: 1, flags };
            for round in [b'0', b'1'] {
                if turns {
                    // The server has seen all bytes in front of it.
                    far.write_all(b"abc").expect("is taken");
                    assert_eq!(rig.read(socket, 1), bytes(b"a"));
                    send_urgent(&far, &[round]);
                } else {
                    far.write_all(b"ab").expect("is taken");
                    send_urgent(&far, &[b'c', round]);
                }
                far.write_all(b"de").expect("is taken");
                let found = rig.until(|rig| match rig.call(socket, urgent.clone()) {
                    Ok(Value::Bytes(found)) => Some(found),
                    Err(Errno::EINVAL | Errno::EAGAIN) => None,
                    other => panic!("{other:?}"),
                });
                assert_eq!(found, [round]);
                // A read stops in front of the mark, as with any stack.
                let front: &[u8] = if turns { b"bc" } else { b"abc" };
                assert_eq!(rig.read(socket, 100), bytes(front));
                assert_eq!(rig.read(socket, 100), bytes(b"de"));
            }
            assert_eq!(rig.close(socket), Ok(Value::Done));
            rig.nothing_is_left();
        }
    }
}

/// C44: MSG_PEEK of the program does not consume data.
#[test]
fn peeking_program() {
    let mut rig = Rig::new(LOOPBACKS[0]);
    let (socket, mut far) = rig.connected();
    far.write_all(b"abc").expect("is taken");
    let flags = resoa_protocol::ReceiveFlags { peek: true, ..Default::default() };
    let peek = rig.call(socket, SocketCall::Receive { length: 2, flags });
    assert_eq!(peek, bytes(b"ab"));
    assert_eq!(rig.read(socket, 3), bytes(b"abc"));
}

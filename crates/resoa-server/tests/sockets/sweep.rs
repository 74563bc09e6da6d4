//! The thesis's scenario under varied conditions (7.4.1, 7.4.5): a request, an answer, and the end,
//! with varied sizes of everything.

use crate::rig::{LOOPBACKS, Rig, Turns, listener, reading, sending};
use resoa_protocol::message::Operation;
use resoa_protocol::{Settings, Value};
use rustix::net::sockopt;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::thread;
use std::time::Duration;

/// Number of sets of conditions: enough for each value to be combined with most others.
const SETS: usize = 24;

/// State of a reproducible random sequence (Knuth's MMIX generator).
struct Draw(u64);

impl Draw {
    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        values[(self.0 >> 33) as usize % values.len()]
    }
}

#[derive(Debug)]
struct Conditions {
    settings: Settings,
    /// SO_RCVBUF, if the program sets it.
    receives: Option<i32>,
    /// Bytes of the request, of the answer, of each write by the far host, and of each read by the
    /// program.
    request: usize,
    answer: usize,
    written: usize,
    read: usize,
}

impl Conditions {
    fn drawn(draw: &mut Draw) -> Self {
        let settings = Settings {
            chunk: draw.of(&[100, 1460, 16 << 10, 60_000]),
            send_buffer: draw.of(&[2304, 50_000, 4 << 20]),
            receive_buffer: draw.of(&[20_000, 200_000, 6 << 20]),
            report_after: draw.of(&[1, 2920, 100_000]),
            ..Settings::default()
        };
        Self {
            settings,
            receives: draw.of(&[None, Some(10_000), Some(50_000)]),
            request: draw.of(&[1, 3000, 200_000]),
            answer: draw.of(&[0, 1, 70_000, 400_000]),
            written: draw.of(&[400, 9000, 400_000]),
            read: draw.of(&[300, 5000, 100_000]),
        }
    }
}

/// Data that depends on its position.
fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|place| (place.wrapping_mul(0x9E37_79B1) >> 13) as u8).collect()
}

fn scenario(own: IpAddr, conditions: &Conditions) {
    let &Conditions { receives, request, answer, written, read, .. } = conditions;
    let mut rig = Rig::with(own, conditions.settings);
    let listener = listener(own);
    let to = listener.local_addr().expect("is bound");
    let far = thread::spawn(move || {
        let mut far = listener.accept().expect("has connected").0;
        sockopt::set_socket_linger(&far, Some(Duration::from_mins(5))).expect("is a socket");
        let mut found = vec![0; request];
        far.read_exact(&mut found).expect("the request");
        assert!(found == pattern(request));
        for part in pattern(answer).chunks(written) {
            far.write_all(part).expect("is read");
        }
    });
    let socket = rig.socket();
    if let Some(octets) = receives {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_RCVBUF);
        let option = Operation::SetOption { level, name, value: octets.to_ne_bytes().to_vec() };
        assert_eq!(rig.call(socket, option), Ok(Value::Done));
    }
    assert_eq!(rig.call(socket, Operation::Connect(to)), Ok(Value::Done));
    assert_eq!(rig.call(socket, sending(pattern(request))), Ok(Value::Count(request)));
    let mut found = Vec::new();
    loop {
        match rig.call(socket, reading(read)) {
            Ok(Value::Bytes(bytes)) if bytes.is_empty() => break,
            Ok(Value::Bytes(bytes)) => {
                assert!(bytes.len() <= read);
                found.extend(bytes);
            }
            other => panic!("{other:?} behind {} octets", found.len()),
        }
    }
    assert!(found == pattern(answer), "{} octets", found.len());
    assert_eq!(rig.close(socket), Ok(Value::Done));
    rig.until(|_| far.is_finished().then_some(()));
    far.join().expect("the far host finds what it should");
    rig.nothing_is_left();
}

/// C103 (V11): for all sizes of buffers, messages, requests, answers, reads and writes, the data
/// arrives as written, the far host's lingering `close` returns, and no state is left.
#[test]
fn under_different_conditions() {
    let mut draw = Draw(2004);
    for (own, _) in LOOPBACKS.into_iter().cycle().zip(0..SETS) {
        let conditions = Conditions::drawn(&mut draw);
        println!("{own}: {conditions:?}");
        scenario(own, &conditions);
    }
}

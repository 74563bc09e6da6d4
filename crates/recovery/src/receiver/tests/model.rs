//! A whole transfer over a lossy link that damages headers: no byte of the stream ever lands at a wrong offset.
//!
//! The sender keeps a window of segments in flight and repeats what is missing; the link loses, repeats and damages them,
//! one bit of the header at a time; the socket takes in what it is handed, sometimes late, and puts it together.
//!
//! The segment sizes are those of real links. With a power of two the rule of discrete places is weak by itself: one wrong
//! bit of the sequence number leads from one place to another.

use super::*;
use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, VecDeque};

/// The sender's window in segments. With more than [`crate::policy::BOLD_POSITIONS`] a bold socket would not compare a hit
/// sequence number with all places that it can have had.
const FLIGHT: usize = 24;

/// What happens to the segments of one transfer.
#[derive(Debug, Clone)]
struct Transfer {
    seed: u64,
    first_seq: u32,
    size: usize,
    len: usize,
    has_stamps: bool,
    policy: Policy,
    loss: f64,
    damage: f64,
    /// Packets that wait on their way into the socket.
    backlog: usize,
}

fn transfer() -> impl Strategy<Value = Transfer> {
    let size = prop::sample::select(vec![524usize, 536, 1000, 1448, 1460]);
    let policy = prop::sample::select(vec![Policy::Strict, Policy::Normal, Policy::Bold]);
    let link = (0.0..0.3f64, 0.0..0.5f64, 0usize..4);
    (any::<u64>(), any::<u32>(), size, 1usize..60_000, any::<bool>(), policy, link).prop_map(
        |(seed, first_seq, size, len, has_stamps, policy, (loss, damage, backlog))| Transfer {
            seed,
            first_seq,
            size,
            len,
            has_stamps,
            policy,
            loss,
            damage,
            backlog,
        },
    )
}

/// The receiving socket: what it holds behind `received`, by offset.
#[derive(Debug, Default)]
struct Socket {
    received: usize,
    behind: BTreeMap<usize, usize>,
}

impl Socket {
    /// Takes in a segment that TCP finds right, and checks that its bytes are those of the stream.
    fn take_in(&mut self, packet: &[u8], transfer: &Transfer, stream: &[u8]) -> Result<(), TestCaseError> {
        let header = TcpHeader::read(&packet[20..]).expect("20 bytes");
        let payload = &packet[20 + header.header_len()..];
        // The socket's own window: what is far off is an old duplicate.
        let offset = i64::from(header.get(Field::Sequence).wrapping_sub(transfer.first_seq).cast_signed());
        let offset = usize::try_from(offset).expect("nothing is before the stream");
        let end = offset + payload.len();
        prop_assert!(end <= stream.len(), "{} bytes at {} are behind the end", payload.len(), offset);
        prop_assert!(payload == &stream[offset..end], "the bytes at {} are others", offset);
        let held = self.behind.entry(offset).or_default();
        *held = end.max(*held);
        while let Some(entry) = self.behind.first_entry().filter(|entry| *entry.key() <= self.received) {
            self.received = self.received.max(entry.remove());
        }
        Ok(())
    }

    fn has(&self, offset: usize) -> bool {
        offset < self.received || self.behind.contains_key(&offset)
    }
}

/// Runs a transfer to its end; the number of damaged segments that were accepted.
fn run(transfer: &Transfer) -> Result<u64, TestCaseError> {
    let mut random = ChaCha8Rng::seed_from_u64(transfer.seed);
    let mut stream = vec![0; transfer.len];
    random.fill_bytes(&mut stream);
    let first = Sample { seq: transfer.first_seq, ..Sample::default() };
    let first =
        if transfer.has_stamps { Sample { options: stamps(0xffff_f000).to_vec(), ..first } } else { first };
    let connection = first.tuple();
    let mut line = Line::new(Parameters::default());
    line.open(&first, transfer.policy);

    let mut socket = Socket::default();
    let mut on_the_way: VecDeque<Vec<u8>> = VecDeque::new();
    let (mut ack, mut clock) = (first.ack, 0xffff_f000u32);
    for _round in 0..4000 {
        if socket.received == stream.len() {
            return Ok(line.receiver.counters().accepted);
        }
        let window = socket.received..stream.len().min(socket.received + FLIGHT * transfer.size);
        let mut due: Vec<usize> =
            window.step_by(transfer.size).filter(|offset| !socket.has(*offset)).collect();
        let is_repeated = random.random_bool(0.2) && socket.received > 0;
        if is_repeated && transfer.policy != Policy::Bold {
            // Sent again though it has arrived. Bold compares a hit sequence number only with places ahead, and so may take
            // an old segment for a new one: that is the risk which the name says.
            due.push(random.random_range(0..socket.received) / transfer.size * transfer.size);
        }
        for offset in due {
            clock = clock.wrapping_add(random.random_range(0..3));
            ack = ack.wrapping_add(if random.random_bool(0.1) { 100 } else { 0 });
            let end = stream.len().min(offset + transfer.size);
            let packet = Sample {
                seq: transfer.first_seq.wrapping_add(offset as u32),
                ack,
                flags: if random.random_bool(0.3) { ACK | PSH } else { ACK },
                options: if transfer.has_stamps { stamps(clock).to_vec() } else { Vec::new() },
                payload: stream[offset..end].to_vec(),
                ..first.clone()
            };
            let header_bits = (20 + packet.options.len()) * 8;
            let mut packet = packet.build();
            if random.random_bool(transfer.loss) {
                continue;
            }
            // Before it knows S, a bold socket compares with a single place.
            let is_ready = transfer.policy != Policy::Bold
                || line.receiver.track(&connection).is_some_and(|track| track.payload > 0);
            if random.random_bool(transfer.damage) && is_ready {
                packet = hit(&packet, 20, random.random_range(0..header_bits));
            }
            match line.take(&mut packet) {
                Verdict::Pass | Verdict::Accept(_) => on_the_way.push_back(packet),
                Verdict::Discard(_) | Verdict::Unverifiable => {}
                verdict => prop_assert!(false, "{:?}", verdict),
            }
            while on_the_way.len() > transfer.backlog {
                let packet = on_the_way.pop_front().expect("some are");
                socket.take_in(&packet, transfer, &stream)?;
                line.received(&connection, socket.received);
            }
        }
        for packet in std::mem::take(&mut on_the_way) {
            socket.take_in(&packet, transfer, &stream)?;
        }
        line.received(&connection, socket.received);
    }
    Err(TestCaseError::fail(format!("only {} of {} bytes arrived", socket.received, stream.len())))
}

proptest! {
    #[test]
    fn no_byte_lands_at_a_wrong_offset(transfer in transfer()) {
        run(&transfer)?;
    }
}

#[test]
fn with_all_headers_damaged_the_transfer_still_arrives() {
    for (policy, has_stamps) in [(Policy::Strict, false), (Policy::Normal, true), (Policy::Bold, true)] {
        let transfer = Transfer {
            seed: 7,
            first_seq: u32::MAX - 50_000,
            size: 1448,
            len: 500 * 1448 + 17,
            has_stamps,
            policy,
            loss: 0.05,
            damage: 1.0,
            backlog: 2,
        };
        let accepted = run(&transfer).expect("it arrives");
        assert!(accepted >= 499, "all but the first of a bold connection are damaged, {accepted} accepted");
    }
}

//! A whole transfer over a link that loses and damages segments. No byte of the stream may be
//! delivered at a wrong offset, no byte that is reported intact may be damaged, and no
//! acknowledgment number or time stamp may be one that TCP would refuse.
//!
//! The sender keeps a window of segments in flight and retransmits what is missing. The link loses,
//! duplicates and damages segments, one bit at a time, mostly in the header. The socket takes in
//! what it is handed, sometimes late, and reassembles it. Time stamps, acknowledgment numbers and
//! windows keep changing, often by one.
//!
//! The segment sizes are those of real links. With a power of two, the rule of discrete places is
//! weak by itself: one wrong bit of the sequence number leads from one place to another. The same
//! can happen behind a segment that is not whole, here the last one. Streams in which it does are
//! left out ([`Transfer::is_weak`]).

use super::*;
use crate::options;
use crate::policy::BOLD_POSITIONS;
use crate::sequence::{is_after, is_before};
use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, VecDeque};

/// Largest window of the sender, in segments: the number of places that a bold socket compares
/// with. With a larger one, a segment could arrive whose place is beyond those, before any other
/// far segment has revealed the hole.
const FLIGHT: usize = BOLD_POSITIONS as usize;

/// Parameters of one transfer.
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
    /// The sender's window in segments.
    flight: usize,
    /// Packets that are queued on their way into the socket.
    backlog: usize,
}

impl Transfer {
    /// Returns whether flipping one bit leads from a whole number of segments to a whole number of
    /// segments behind the end of the stream.
    fn is_weak(&self) -> bool {
        let short = self.len % self.size;
        let mut bits = (0..=Parameters::default().window.ilog2()).map(|bit| (1usize << bit) % self.size);
        short > 0 && bits.any(|weight| weight == short || weight + short == self.size)
    }
}

fn transfer() -> impl Strategy<Value = Transfer> {
    let size = prop::sample::select(vec![524usize, 536, 1000, 1448, 1460]);
    let policy = prop::sample::select(vec![Policy::Strict, Policy::Normal, Policy::Bold]);
    let link = (0.0..0.3f64, 0.0..0.5f64, 1..=FLIGHT, 0usize..4);
    (any::<u64>(), any::<u32>(), size, 1usize..150_000, any::<bool>(), policy, link).prop_map(
        |(seed, first_seq, size, len, has_stamps, policy, (loss, damage, flight, backlog))| Transfer {
            seed,
            first_seq,
            size,
            len,
            has_stamps,
            policy,
            loss,
            damage,
            flight,
            backlog,
        },
    )
}

/// A segment on its way into the socket.
#[derive(Debug)]
struct Delivered {
    packet: Vec<u8>,
    /// Most bits of its payload that may be wrong.
    wrong_bits: u32,
}

/// The receiving socket: what it holds behind `received`, by offset, and its own sent data.
#[derive(Debug)]
struct Socket {
    received: usize,
    behind: BTreeMap<usize, usize>,
    snd_una: u32,
    snd_nxt: u32,
    /// Newest `TSval` taken in; older ones are refused (RFC 7323 section 5.3).
    ts_recent: Option<u32>,
}

impl Socket {
    /// Takes in a segment that TCP finds right, and checks that its bytes are those of the stream.
    fn take_in(
        &mut self,
        Delivered { packet, wrong_bits }: &Delivered,
        transfer: &Transfer,
        stream: &[u8],
    ) -> Result<(), TestCaseError> {
        let header = TcpHeader::read(&packet[20..]).expect("20 bytes");
        let ack = header.get(Field::Acknowledgment);
        prop_assert!(!is_after(ack, self.snd_nxt), "{} was never sent", ack);
        if is_after(ack, self.snd_una) {
            self.snd_una = ack;
        }
        let value = packet[40..20 + header.header_len()].first_chunk().and_then(options::value);
        let is_old = value.zip(self.ts_recent).is_some_and(|(value, recent)| is_before(value, recent));
        prop_assert!(!is_old, "time stamp {:?} after {:?}", value, self.ts_recent);
        self.ts_recent = value;
        let payload = &packet[20 + header.header_len()..];
        // The socket's own window: what is far off is an old duplicate.
        let offset = i64::from(header.get(Field::Sequence).wrapping_sub(transfer.first_seq).cast_signed());
        let offset = usize::try_from(offset).expect("nothing is before the stream");
        let end = offset + payload.len();
        prop_assert!(end <= stream.len(), "{} bytes at {} are behind the end", payload.len(), offset);
        let wrong: u32 = payload.iter().zip(&stream[offset..end]).map(|(a, b)| (a ^ b).count_ones()).sum();
        prop_assert!(wrong <= *wrong_bits, "{} bits of the bytes at {} are wrong", wrong, offset);
        let held = self.behind.entry(offset).or_default();
        *held = end.max(*held);
        while let Some(entry) = self.behind.first_entry().filter(|entry| *entry.key() <= self.received) {
            self.received = self.received.max(entry.remove());
        }
        Ok(())
    }

    /// Copies the socket's state into the view that `line` reads.
    fn update(&self, line: &mut Line, connection: &Tuple) {
        line.received(connection, self.received);
        let view = line.view(connection);
        (view.snd_una, view.snd_nxt) = (self.snd_una, self.snd_nxt);
    }

    fn has(&self, offset: usize) -> bool {
        offset < self.received || self.behind.contains_key(&offset)
    }
}

/// Runs a transfer to its end, and returns the number of damaged segments that were accepted.
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

    let (mut ack, mut clock, mut echo) = (first.ack, 0xffff_f000u32, 0x3039u32);
    let mut socket =
        Socket { received: 0, behind: BTreeMap::new(), snd_una: ack, snd_nxt: ack, ts_recent: None };
    let mut on_the_way: VecDeque<Delivered> = VecDeque::new();
    for _round in 0..4000 {
        if socket.received == stream.len() {
            return Ok(line.receiver.counters().accepted);
        }
        let window = socket.received..stream.len().min(socket.received + transfer.flight * transfer.size);
        let mut due: Vec<usize> =
            window.step_by(transfer.size).filter(|offset| !socket.has(*offset)).collect();
        if random.random_bool(0.2) && socket.received > 0 {
            // A duplicate: sent again although it has arrived.
            due.push(random.random_range(0..socket.received) / transfer.size * transfer.size);
        }
        for offset in due {
            let track = line.receiver.track(&connection).expect("open");
            let contiguous = track.contiguous.wrapping_sub(transfer.first_seq) as usize;
            let behind = contiguous.max(socket.received).saturating_sub(offset);
            // A bold socket compares only with some whole segments behind what it has. It may take
            // an older one, or one from before a segment that was not whole, for a new one. This is
            // the accepted risk of the policy, so such duplicates are left out.
            let is_compared =
                behind.is_multiple_of(transfer.size) && behind <= BOLD_POSITIONS as usize * transfer.size;
            if transfer.policy == Policy::Bold && !is_compared {
                continue;
            }
            clock = clock.wrapping_add(random.random_range(0..3));
            echo = echo.wrapping_add(random.random_range(0..2));
            if random.random_bool(0.2) {
                socket.snd_nxt = socket.snd_nxt.wrapping_add(random.random_range(1..5000));
                socket.update(&mut line, &connection);
            }
            if random.random_bool(0.3) {
                let in_flight = socket.snd_nxt.wrapping_sub(ack);
                ack = ack
                    .wrapping_add([0, 1.min(in_flight), in_flight / 2, in_flight][random.random_range(0..4)]);
            }
            let end = stream.len().min(offset + transfer.size);
            let packet = Sample {
                seq: transfer.first_seq.wrapping_add(offset as u32),
                ack,
                flags: if random.random_bool(0.3) { ACK | PSH } else { ACK },
                // Three bits apart: a window that differs in one bit counts as damaged.
                window: if random.random_bool(0.2) { 504 } else { 502 },
                options: if transfer.has_stamps {
                    [&stamps(clock)[..8], &echo.to_be_bytes()].concat()
                } else {
                    Vec::new()
                },
                payload: stream[offset..end].to_vec(),
                ..first.clone()
            };
            let header_bits = (20 + packet.options.len()) * 8;
            let mut packet = packet.build();
            if random.random_bool(transfer.loss) {
                continue;
            }
            let is_hit = random.random_bool(transfer.damage);
            let all_bits = (packet.len() - 20) * 8;
            let bits = if random.random_bool(0.8) { header_bits } else { all_bits };
            let bit = random.random_range(0..bits);
            if is_hit {
                packet = hit(&packet, 20, bit);
            }
            match line.take(&mut packet) {
                SegmentVerdict::Pass => on_the_way.push_back(Delivered { packet, wrong_bits: 0 }),
                SegmentVerdict::Accept(Acceptance { confirmed, .. }) => {
                    let wrong_bits = u32::from(bit >= header_bits && !confirmed);
                    on_the_way.push_back(Delivered { packet, wrong_bits });
                }
                SegmentVerdict::Discard(_) | SegmentVerdict::Unverifiable => {}
                verdict => prop_assert!(false, "{:?}", verdict),
            }
            while on_the_way.len() > transfer.backlog {
                let delivered = on_the_way.pop_front().expect("some are");
                socket.take_in(&delivered, transfer, &stream)?;
                socket.update(&mut line, &connection);
            }
        }
        for delivered in std::mem::take(&mut on_the_way) {
            socket.take_in(&delivered, transfer, &stream)?;
        }
        socket.update(&mut line, &connection);
    }
    Err(TestCaseError::fail(format!("only {} of {} bytes arrived", socket.received, stream.len())))
}

proptest! {
    #[test]
    fn no_byte_lands_at_a_wrong_offset(transfer in transfer().prop_filter("weak", |transfer| !transfer.is_weak())) {
        run(&transfer)?;
    }
}

#[test]
fn with_all_segments_damaged_the_transfer_still_arrives() {
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
            flight: 24,
            backlog: 2,
        };
        let accepted = run(&transfer).expect("it arrives");
        assert!(accepted >= 499, "all but the first of a bold connection are damaged, {accepted} accepted");
    }
}

//! Measures damage: flipped bits up and spoiled checksums down, as done by the emulator and as
//! detected by the kernel.

use super::super::Bench;
use super::super::bench_link::UdpCounters;
use super::super::flow::{Flow, Flown};
use super::super::row::{Accepted, Row, Unit};
use super::super::statistics::{Estimate, poisson, share};
use super::super::watch::{Damage, Look};
use crate::failure::Failure;
use link::Direction;
use link::spec::StageSpec;
use link::stage::errors::{EffectSpec, ErrorSpec, Flip, ProcessSpec};
use link::units::{BitErrorRatio, Probability};
use packet::Region;

/// Payload of a packet, and the packet with its headers, in bytes.
const PAYLOAD: usize = 1000;
const SIZE: usize = PAYLOAD + 28;

/// Measures one direction after the other, half the time each.
pub fn measure(bench: &mut Bench) -> Result<Vec<Row>, Failure> {
    let ber = BitErrorRatio::new(1e-4).ok_or("no bit error ratio")?;
    let spoiled = Probability::new(0.05).ok_or("no probability")?;
    let flip = Flip { region: Region::Payload, ber: None, bits: None };
    let flips = ErrorSpec { effect: EffectSpec::Flip(flip), ..ErrorSpec::new(ProcessSpec::Bits { ber }) };
    let spoils = ErrorSpec {
        effect: EffectSpec::SpoilChecksum,
        ..ErrorSpec::new(ProcessSpec::Packets { loss: spoiled })
    };
    let flow = Flow::paced(SIZE, 2000, bench.length / 2);
    let stages = [flips, spoils].map(|spec| Some(StageSpec::Errors(spec)));
    let (flown, watch) = bench.with_link(stages, Look::Bytes, |link| {
        let mut flown = Vec::new();
        for direction in Direction::BOTH {
            let sockets = link.sockets(direction)?;
            // The kernel verifies a datagram when it is read, and all have been read when the flow
            // ends.
            flown.push((flow.run(&sockets)?, link.udp_counters(direction)?));
        }
        Ok(flown)
    })?;

    let [up, down] = watch.damage;
    let ratio = up.wrong_payload_bits as f64 / up.payload_bits as f64;
    let ratio = Estimate::new(ratio, |confidence| {
        poisson(up.wrong_payload_bits, confidence).map(|count| count / up.payload_bits as f64)
    });
    let hit = ber.hits(8 * PAYLOAD as u64).get();
    let row = |quantity: &str, unit, configured, estimate| {
        Row::estimated(quantity, unit, configured, estimate, Accepted::ByInterval)
    };
    let mut rows = vec![
        row("flips: bit error ratio in payloads", Unit::BitErrorRatio, ber.get(), ratio),
        row("flips: packets damaged", Unit::Share, hit, share(up.damaged, up.packets)),
        Row::exact("flips: packets damaged outside the payload", 0, up.damaged_headers),
        row(
            "spoiled checksums: packets damaged",
            Unit::Share,
            spoiled.get(),
            share(down.damaged, down.packets),
        ),
        Row::exact("spoiled checksums: payload bits damaged", 0, down.wrong_payload_bits),
    ];
    for ((name, damage), (flown, counters)) in
        [("flips", up), ("spoiled checksums", down)].into_iter().zip(&flown)
    {
        rows.extend(refused(name, &damage, flown, *counters));
    }
    Ok(rows)
}

/// Returns the rows that check that the kernel refuses exactly the damaged packets.
fn refused(name: &str, damage: &Damage, flown: &Flown, counters: UdpCounters) -> [Row; 2] {
    let missing = flown.copies().iter().filter(|copies| **copies == 0).count() as u64;
    [
        Row::exact(
            format!("{name}: refused by the kernel (InCsumErrors)"),
            damage.wrong_checksums,
            counters.wrong_checksum,
        ),
        Row::exact(format!("{name}: packets not delivered"), damage.wrong_checksums, missing),
    ]
}

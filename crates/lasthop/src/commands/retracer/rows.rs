//! Machine-readable output of `lasthop retracer`: JSON and CSV.

use super::replaying::Replayed;
use crate::failure::Failure;
use link::blocks::Origin;
use retracer::{Comparison, Frame, Link, Start};
use serde_json::{Value, json};
use std::io::Write;

/// Prints a JSON object for each trace, each on its own line. Throughputs are in octets per second,
/// of the link's user data or of TCP's.
pub fn json(output: &mut impl Write, all: &[Replayed]) -> Result<(), Failure> {
    for replayed in all {
        let Replayed { name, trace, link, size, start, sweep, packets } = replayed;
        let bursts = trace.bursts();
        let frames: Vec<Value> =
            sweep.frames.iter().map(|(blocks, frame)| frame_object(*blocks, frame.as_ref(), link)).collect();
        let best = sweep.best().map(|best| frame_object(best.transfer.unit.blocks, Some(&best), link));
        let object = json!({
            "trace": name,
            "origin": trace.header.origin.map(Origin::name),
            "category": trace.header.category,
            "signal_strength": trace.header.signal_strength.map(|bars| bars.to_string()),
            "blocks": trace.erased.len(),
            "block_s": trace.period.as_secs_f64(),
            "block_octets": trace.payload.get(),
            "erased": trace.erasures(),
            "block_erasure_rate": trace.block_erasure_rate().get(),
            "bursts": bursts.count,
            "longest_burst": bursts.longest,
            "overhead_octets": link.overhead,
            "size_octets": size,
            "start_block": match start { Start::Block(block) => json!(block), Start::Every => json!("all") },
            "frames": frames,
            "best": best,
            "packets": packets.iter().map(|both| packet_object(both, link)).collect::<Vec<_>>(),
        });
        writeln!(output, "{object}")?;
    }
    Ok(())
}

fn frame_object(blocks: u32, frame: Option<&Frame>, link: &Link) -> Value {
    let transfer = frame.map(|frame| &frame.transfer);
    json!({
        "blocks": blocks,
        "throughput": transfer.map_or(0.0, |transfer| transfer.throughput(link)),
        "needed": transfer.map(|transfer| transfer.needed),
        "sent": transfer.map(|transfer| transfer.sent),
        "retransmissions": transfer.map(retracer::Transfer::retransmissions),
        "gain": frame.and_then(|frame| frame.gain),
    })
}

fn packet_object([single, best]: &[Comparison; 2], link: &Link) -> Value {
    json!({
        "mtu": single.packets.mtu,
        "header_octets": single.packets.headers,
        "blocks": single.packets.mtu.div_ceil(link.octets.get()),
        "throughput": single.end_to_end_throughput(link),
        "retransmissions": single.end_to_end.map(|transfer| transfer.retransmissions()),
        "link_single_throughput": single.link_throughput(link),
        "link_best_throughput": best.link_throughput(link),
        "consumption_against_single": single.consumption(),
        "consumption_against_best": best.consumption(),
    })
}

/// Prints CSV with a row for each size of frames (`recovery` = `link`) and of packets
/// (`end-to-end`).
pub fn csv(output: &mut impl Write, all: &[Replayed]) -> Result<(), Failure> {
    let mut table = csv::Writer::from_writer(output);
    table.write_record([
        "trace",
        "origin",
        "recovery",
        "blocks",
        "mtu",
        "throughput_octets_s",
        "needed",
        "sent",
        "retransmissions",
        "gain",
        "consumption_against_single",
        "consumption_against_best",
    ])?;
    for replayed in all {
        let Replayed { name, trace, link, sweep, packets, .. } = replayed;
        let origin = trace.header.origin.map_or("", Origin::name);
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        for (blocks, frame) in &sweep.frames {
            let transfer = frame.map(|frame| frame.transfer);
            table.write_record([
                name,
                origin,
                "link",
                &blocks.to_string(),
                "",
                &transfer.map_or(0.0, |transfer| transfer.throughput(link)).to_string(),
                &number(transfer.map(|transfer| transfer.needed as f64)),
                &number(transfer.map(|transfer| transfer.sent)),
                &number(transfer.map(|transfer| transfer.retransmissions())),
                &number(frame.and_then(|frame| frame.gain)),
                "",
                "",
            ])?;
        }
        for [single, best] in packets {
            let transfer = single.end_to_end;
            table.write_record([
                name,
                origin,
                "end-to-end",
                &single.packets.mtu.div_ceil(link.octets.get()).to_string(),
                &single.packets.mtu.to_string(),
                &single.end_to_end_throughput(link).to_string(),
                &number(transfer.map(|transfer| transfer.needed as f64)),
                &number(transfer.map(|transfer| transfer.sent)),
                &number(transfer.map(|transfer| transfer.retransmissions())),
                "",
                &number(single.consumption()),
                &number(best.consumption()),
            ])?;
        }
    }
    table.flush()?;
    Ok(())
}

//! Texts of fates, for the comments on packets.

use crate::event::{EndedPacket, Outcome};
use crate::units::{Span, Time};
use std::fmt::{self, Write};
use vocabulary::{ChannelState, Direction, Loss};

/// Begins the comment on a packet: the program, the direction and the number.
pub fn packet(text: &mut String, direction: Direction, number: u64) {
    write(text, format_args!("lasthop: {direction} #{number} "));
}

/// Appends how the packet or copy ended. `stage` is the name of the stage that lost or damaged it.
pub fn fate(text: &mut String, ended: &EndedPacket, stage: Option<&str>) {
    separate(text);
    if ended.copy {
        text.push_str("duplicate ");
    }
    match ended.outcome {
        Outcome::Lost(loss) => lost(text, loss, ended.channel, stage, ended.left),
        Outcome::Delivered => delivered(text, ended, stage),
    }
}

/// Appends that the packet had no fate when the capture was closed.
pub fn in_flight(text: &mut String) {
    separate(text);
    text.push_str("in flight at the end");
}

/// Appends that the packet was written before its fate was known, because too many packets were
/// inside.
pub fn unknown(text: &mut String) {
    separate(text);
    text.push_str("fate not known when this was written: too much is inside the link");
}

/// Appends a semicolon if a fate (of a copy or of the original) precedes.
fn separate(text: &mut String) {
    if !text.is_empty() && !text.ends_with(' ') {
        text.push_str("; ");
    }
}

fn lost(text: &mut String, loss: Loss, channel: Option<ChannelState>, stage: Option<&str>, at: Time) {
    write(text, format_args!("lost: {loss}"));
    if (loss, channel) == (Loss::Error, Some(ChannelState::Bad)) {
        text.push_str(" in a bad state");
    }
    match stage {
        Some(stage) => write(text, format_args!(" (stage {stage}, at {at})")),
        None => write(text, format_args!(" (at {at})")),
    }
}

fn delivered(text: &mut String, ended: &EndedPacket, stage: Option<&str>) {
    write(text, format_args!("delivered after {}", millis(ended.left.since(ended.arrived))));
    match ended.bits_flipped {
        0 => {}
        1 => text.push_str(", damaged: 1 bit flipped"),
        bits => write(text, format_args!(", damaged: {bits} bits flipped")),
    }
    if ended.checksum_spoiled {
        text.push_str(", damaged: checksum spoiled");
    }
    if let Some(stage) = stage.filter(|_| ended.is_damaged()) {
        write(text, format_args!(" (stage {stage})"));
    }
    if ended.congestion_marked {
        text.push_str(", marked: congestion experienced");
    }
    if ended.held.as_nanos() > 0 {
        write(text, format_args!(", held for {}", millis(ended.held)));
    }
    match ended.overtaken {
        0 => {}
        1 => text.push_str(", overtaken by 1 packet"),
        count => write(text, format_args!(", overtaken by {count} packets")),
    }
}

/// Formats milliseconds with up to six decimal places, without trailing zeros: `82.134 ms`,
/// `1500 ms`.
fn millis(span: Span) -> String {
    let (whole, rest) = (span.as_nanos() / 1_000_000, span.as_nanos() % 1_000_000);
    if rest == 0 {
        return format!("{whole} ms");
    }
    let places = format!("{rest:06}");
    format!("{whole}.{} ms", places.trim_end_matches('0'))
}

fn write(text: &mut String, words: fmt::Arguments<'_>) {
    text.write_fmt(words).expect("a String takes everything");
}

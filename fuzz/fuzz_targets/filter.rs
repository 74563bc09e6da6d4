//! Any first line is parsed as a filter or refused. A valid filter can be applied to the bytes of
//! the other lines, and its printed form parses to the same filter.

use link::filter::Filter;
use packet::{Frame, Layer};

/// One input.
pub fn run(input: &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let Ok(text) = std::str::from_utf8(&input[..end]) else { return };
    let Ok(filter) = text.parse::<Filter>() else { return };
    for layer in [Layer::Ip, Layer::Ethernet] {
        let _ = filter.matches(&Frame::owned(layer, input[end..].to_vec()));
    }
    assert_eq!(filter.to_string().parse().as_ref(), Ok(&filter), "{text}");
}

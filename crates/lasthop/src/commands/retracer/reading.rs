//! Reads block erasure traces in any of their formats.

use crate::failure::Failure;
use link::blocks::{BlockTrace, Format, RlpTrace};
use link::units::Span;
use std::io::{self, Read};
use std::path::Path;

/// Reads the text of a file; `-` is standard input.
pub fn text(path: &Path) -> Result<String, Failure> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|error| format!("cannot read {}: {error}", path.display()).into())
}

/// Reads the blocks of a trace. `block` is the requested duration of a block, if any.
pub fn blocks(path: &Path, block: Option<Span>) -> Result<BlockTrace, Failure> {
    of_text(&path.display().to_string(), &text(path)?, block)
}

/// Parses the blocks of a trace from text. `name` is its name in messages.
pub fn of_text(name: &str, text: &str, block: Option<Span>) -> Result<BlockTrace, Failure> {
    match Format::of(text) {
        Some(Format::Rlp) => Ok(RlpTrace::parse(name, text)?.blocks()),
        Some(Format::BitErrors) => Err(format!(
            "{name} is a bit error trace: convert it to blocks first, for example with `lasthop retracer blocks --bits 456 {name}`"
        )
        .into()),
        Some(Format::BlockErasures) | None => {
            let usual = (!BlockTrace::has_period(text)).then_some(BlockTrace::GSM_PERIOD);
            Ok(BlockTrace::parse(name, text, block.or(usual))?)
        }
    }
}

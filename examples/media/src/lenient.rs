//! Decodes a JPEG picture whose scan is damaged: every stretch between two restart markers that
//! still makes sense is shown where it belongs.
//!
//! A wrong bit in Huffman-coded data puts the decoder out of step, and it finds back into step at
//! the next restart marker, where also all prediction begins anew (ITU-T T.81, F.1.1.5 and
//! F.2.2.4). Decoders give up there, or lose count of the blocks. So the scan is taken apart here
//! ([`scan`]), the markers that are left are matched with those that should be there
//! ([`alignment`]), and each stretch is given to a decoder as a picture of its own, one block high.
//! Where there is nothing to decode, the blocks above are shown again.
//!
//! The header must be whole: TCP Lite is switched on after it.

pub mod alignment;
pub mod scan;

use crate::medium::NotThis;
use crate::medium::jpeg::{DRI, EOI, SOS, Segment, is_frame, segments};
use crate::pixels::Pixels;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// What is shown where nothing came.
const GREY: [u8; 3] = [128; 3];

/// Most blocks of a picture: 64 megapixels.
const MOST: usize = 1 << 20;

/// A picture, as far as it could be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// It.
    pub pixels: Pixels,
    /// Stretches between restart markers that a whole picture has.
    pub stretches: usize,
    /// Of these: without data, or with such that no block could be decoded from.
    pub lost: usize,
}

/// What the header says of the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Frame {
    width: usize,
    height: usize,
    /// Pixels of a block, as restart intervals count them (MCU).
    block_width: usize,
    block_height: usize,
    /// Blocks in a row.
    columns: usize,
    rows: usize,
    /// Blocks between two restart markers.
    interval: usize,
}

/// Decodes it.
///
/// # Errors
/// If the header is no sequential JPEG picture's, or says that the picture has more than 2^20
/// blocks or no restart markers and cannot be decoded.
pub fn decode(bytes: &[u8]) -> Result<Decoded, NotThis> {
    let segments = segments(bytes)?;
    let header = match segments.last() {
        Some(Segment { marker: SOS, parameters }) => parameters.end,
        _ => return Err(not_this("its header is cut off")),
    };
    let frame = frame(bytes, &segments)?;
    let data = scan::entropy_coded(&bytes[header..]);
    let blocks = frame.columns * frame.rows;
    if frame.interval >= blocks {
        let whole = [&bytes[..header], &scan::without_markers(data), &[0xff, EOI]].concat();
        let pixels = picture(&whole, frame.width, frame.height).map_err(|reason| not_this(&reason))?;
        return Ok(Decoded { pixels, stretches: 1, lost: 0 });
    }

    let stretches = blocks.div_ceil(frame.interval);
    let markers = scan::restart_markers(data);
    let places = alignment::align(&markers, stretches, data.len())
        .ok_or_else(|| not_this("it has far more or fewer restart markers than it should"))?;
    let mut pixels = Pixels::filled(frame.width, frame.height, GREY);
    let mut lost = 0;
    for (number, place) in places.into_iter().enumerate() {
        let first = number * frame.interval;
        let count = frame.interval.min(blocks - first);
        let strip = place.and_then(|place| {
            let header = strip_header(&bytes[..header], &segments, &frame, count);
            let data = scan::without_markers(&data[place]);
            let file = [&header[..], &data, &[0xff, EOI]].concat();
            picture(&file, count * frame.block_width, frame.block_height).ok()
        });
        lost += usize::from(strip.is_none());
        for block in 0..count {
            show(&mut pixels, &frame, first + block, strip.as_ref().map(|strip| (strip, block)));
        }
    }
    Ok(Decoded { pixels, stretches, lost })
}

fn not_this(reason: &str) -> NotThis {
    NotThis { medium: "JPEG picture that can be decoded", reason: reason.to_owned() }
}

fn frame(bytes: &[u8], segments: &[Segment]) -> Result<Frame, NotThis> {
    let of = |wanted: &dyn Fn(u8) -> bool| {
        let segment = segments.iter().find(|segment| wanted(segment.marker));
        segment.map(|segment| (segment.marker, &bytes[segment.parameters.clone()]))
    };
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
    // B.2.2: precision, lines, samples in a line, components; of each its name, its sampling
    // factors, its table.
    let Some((marker, [_, h1, h2, w1, w2, count, components @ ..])) = of(&is_frame) else {
        return Err(not_this("it has no frame"));
    };
    let components = components.get(..3 * usize::from(*count)).filter(|components| !components.is_empty());
    let components = components.ok_or_else(|| not_this("its frame is cut off"))?;
    if marker > 0xc1 {
        return Err(not_this("it is not sequential"));
    }
    let factors = components.chunks_exact(3).map(|component| (component[1] >> 4, component[1] & 0xf));
    let largest = factors.fold((1, 1), |(h, v), (x, y)| (h.max(x), v.max(y)));
    // A lone component is not interleaved: its block is one, whatever the factors (A.2.2).
    let (h, v) = if *count == 1 { (1, 1) } else { largest };
    let (width, height) = (number(&[*w1, *w2]), number(&[*h1, *h2]));
    let (block_width, block_height) = (8 * usize::from(h), 8 * usize::from(v));
    let (columns, rows) = (width.div_ceil(block_width), height.div_ceil(block_height));
    if columns == 0 || rows == 0 || columns * rows > MOST {
        return Err(not_this(&format!("it has {width} by {height} pixels")));
    }
    let interval = of(&|marker| marker == DRI).map_or(0, |(_, parameters)| number(parameters));
    let strip = interval.saturating_mul(block_width);
    // None, or such that a strip is too wide for a picture: as if there were none.
    let interval = if interval == 0 || strip > usize::from(u16::MAX) { usize::MAX } else { interval };
    Ok(Frame { width, height, block_width, block_height, columns, rows, interval })
}

/// The header of a picture of `count` blocks side by side, with the same tables and no restart
/// markers.
fn strip_header(header: &[u8], segments: &[Segment], frame: &Frame, count: usize) -> Vec<u8> {
    let mut strip = header.to_vec();
    for Segment { marker, parameters } in segments {
        let parameters = &mut strip[parameters.clone()];
        if is_frame(*marker) {
            // Both fit: `frame` saw to the width, and no block is higher than 120 pixels.
            parameters[1..3].copy_from_slice(&(frame.block_height as u16).to_be_bytes());
            parameters[3..5].copy_from_slice(&((count * frame.block_width) as u16).to_be_bytes());
        } else if *marker == DRI {
            parameters.fill(0);
        }
    }
    strip
}

/// Lets the library decode as much as it can.
fn picture(file: &[u8], width: usize, height: usize) -> Result<Pixels, String> {
    let options = DecoderOptions::default().set_strict_mode(false).jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    let rgb = decoder.decode().map_err(|error| error.to_string())?;
    if rgb.len() == 3 * width * height {
        Ok(Pixels { width, height, rgb })
    } else {
        Err(format!("{} bytes came of {width} by {height} pixels", rgb.len()))
    }
}

/// Shows a block of a strip, or what is above again.
fn show(pixels: &mut Pixels, frame: &Frame, block: usize, strip: Option<(&Pixels, usize)>) {
    let left = block % frame.columns * frame.block_width;
    let top = block / frame.columns * frame.block_height;
    for y in top..(top + frame.block_height).min(frame.height) {
        for x in left..(left + frame.block_width).min(frame.width) {
            let colour = match strip {
                Some((strip, place)) => strip.at(place * frame.block_width + x - left, y - top),
                None if top > 0 => pixels.at(x, top - 1),
                None => GREY,
            };
            pixels.set(x, y, colour);
        }
    }
}

#[cfg(test)]
mod tests;

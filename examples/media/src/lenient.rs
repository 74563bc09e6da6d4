//! Decodes a JPEG picture with a damaged scan: every decodable stretch between two restart markers
//! is shown at its place.
//!
//! A wrong bit in Huffman-coded data puts the decoder out of step. It resynchronises at the next
//! restart marker, where all prediction starts anew as well (ITU-T T.81, F.1.1.5 and F.2.2.4).
//! Ordinary decoders give up or lose count of the blocks. So the scan is split here ([`scan`]), the
//! remaining markers are matched with the expected ones ([`alignment`]), and each stretch is
//! decoded as a picture of its own, one block high. Where nothing can be decoded, the pixels above
//! are repeated.
//!
//! The header must be undamaged: TCP Lite is switched on after it.

pub mod alignment;
pub mod scan;

use crate::medium::NotThis;
use crate::medium::jpeg::{DRI, EOI, SOS, Segment, is_frame, segments};
use crate::pixels::Pixels;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Colour where there are no data.
const GREY: [u8; 3] = [128; 3];

/// Most blocks of a picture, for 64 megapixels.
const MOST: usize = 1 << 20;

/// A picture, as far as it could be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The pixels.
    pub pixels: Pixels,
    /// Number of stretches between restart markers in the whole picture.
    pub stretches: usize,
    /// Number of stretches without data, or from which no block could be decoded.
    pub lost: usize,
}

/// Properties of the scan, from the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Frame {
    width: usize,
    height: usize,
    /// Size of a block in pixels, as restart intervals count them (MCU).
    block_width: usize,
    block_height: usize,
    /// Number of blocks per row.
    columns: usize,
    rows: usize,
    /// Number of blocks between two restart markers.
    interval: usize,
}

/// Decodes a damaged picture.
///
/// # Errors
/// If the header is not that of a sequential JPEG picture or states more than 2^20 blocks, if the
/// restart markers cannot be matched, or if a picture without them cannot be decoded.
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
        .ok_or_else(|| not_this("it has far more or fewer restart markers than expected"))?;
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
    // B.2.2: precision, lines, samples per line, components; for each component its identifier, its
    // sampling factors and its table.
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
    // A single component is not interleaved: a block is one data unit, whatever the factors
    // (A.2.2).
    let (h, v) = if *count == 1 { (1, 1) } else { largest };
    let (width, height) = (number(&[*w1, *w2]), number(&[*h1, *h2]));
    let (block_width, block_height) = (8 * usize::from(h), 8 * usize::from(v));
    let (columns, rows) = (width.div_ceil(block_width), height.div_ceil(block_height));
    if columns == 0 || rows == 0 || columns * rows > MOST {
        return Err(not_this(&format!("its size of {width} by {height} pixels is not supported")));
    }
    let interval = of(&|marker| marker == DRI).map_or(0, |(_, parameters)| number(parameters));
    let strip = interval.saturating_mul(block_width);
    // Without an interval, or with one whose strip is too wide for a picture, treat it as one
    // stretch.
    let interval = if interval == 0 || strip > usize::from(u16::MAX) { usize::MAX } else { interval };
    Ok(Frame { width, height, block_width, block_height, columns, rows, interval })
}

/// Returns the header of a picture of `count` blocks side by side, with the same tables and no
/// restart markers.
fn strip_header(header: &[u8], segments: &[Segment], frame: &Frame, count: usize) -> Vec<u8> {
    let mut strip = header.to_vec();
    for Segment { marker, parameters } in segments {
        let parameters = &mut strip[parameters.clone()];
        if is_frame(*marker) {
            // Both fit into 16 bits: `frame` checks the width, and no block is higher than 120
            // pixels.
            parameters[1..3].copy_from_slice(&(frame.block_height as u16).to_be_bytes());
            parameters[3..5].copy_from_slice(&((count * frame.block_width) as u16).to_be_bytes());
        } else if *marker == DRI {
            parameters.fill(0);
        }
    }
    strip
}

/// Decodes as much as the library can.
fn picture(file: &[u8], width: usize, height: usize) -> Result<Pixels, String> {
    let options = DecoderOptions::default().set_strict_mode(false).jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    let rgb = decoder.decode().map_err(|error| error.to_string())?;
    if rgb.len() == 3 * width * height {
        Ok(Pixels { width, height, rgb })
    } else {
        Err(format!("the decoder returned {} bytes for {width} by {height} pixels", rgb.len()))
    }
}

/// Draws a block of a strip; without a strip, repeats the pixels above.
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

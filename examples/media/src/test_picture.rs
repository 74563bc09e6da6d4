//! The test picture, in which damage is visible: gradients, edges like those of letters, texture,
//! and rings up to the finest that pixels can show.

use crate::pixels::Pixels;
use jpeg_encoder::{ColorType, Encoder, EncodingError, SamplingFactor};

/// Width in pixels.
pub const WIDTH: usize = 640;
/// Height in pixels.
pub const HEIGHT: usize = 480;

/// Number of blocks between restart markers, which gives eight intervals per row of blocks. Restart
/// markers limit the damage of one wrong bit.
const RESTART_INTERVAL: u16 = 10;

/// Draws the picture, always with the same pixels.
#[must_use]
pub fn draw() -> Pixels {
    let mut picture = Pixels::filled(WIDTH, HEIGHT, [0; 3]);
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let colour = match (x < WIDTH / 2, y < HEIGHT / 2) {
                (true, true) => sky(x, y),
                (false, true) => rings(x - WIDTH / 2, y),
                (true, false) => page(),
                (false, false) => meadow(x, y),
            };
            picture.set(x, y, colour);
        }
    }
    let lines: [(&str, usize, [u8; 3]); 6] = [
        ("TCP LITE", 6, [0x16, 0x18, 0x1b]),
        ("A WRONG BIT IS", 3, [0x00, 0x52, 0x8c]),
        ("NO CONGESTION", 3, [0xb3, 0x47, 0x00]),
        ("0123456789 ACK SACK", 2, [0x1b, 0x1b, 0x1b]),
        ("THE NEXT RESTART MARKER ENDS IT", 1, [0x1b, 0x1b, 0x1b]),
        ("OR THE END OF THE PICTURE DOES", 1, [0x5c, 0x5c, 0x5c]),
    ];
    let mut top = HEIGHT / 2 + 18;
    for (text, scale, colour) in lines {
        write(&mut picture, text, (18, top), scale, colour);
        top += 8 * scale + 12;
    }
    picture
}

/// A clear evening: blue at the top, orange at the bottom, and a sun.
fn sky(x: usize, y: usize) -> [u8; 3] {
    let down = y as f64 / (HEIGHT / 2) as f64;
    let aside = x as f64 / (WIDTH / 2) as f64;
    let distance = (x as f64 - 230.0).hypot(y as f64 - 150.0);
    let sun = (1.2 - distance / 40.0).clamp(0.0, 1.0);
    let mixed = |top: f64, bottom: f64, light: f64| {
        let ground = top + (bottom - top) * down + 20.0 * aside;
        (ground + (light - ground) * sun).round() as u8
    };
    [mixed(30.0, 230.0, 255.0), mixed(80.0, 150.0, 240.0), mixed(160.0, 90.0, 200.0)]
}

/// A zone plate: rings that become finer outwards.
fn rings(x: usize, y: usize) -> [u8; 3] {
    let (x, y) = (x as f64 - 160.0, y as f64 - 120.0);
    let phase = (x * x + y * y) / 130.0;
    let wave = |shift: f64| (128.0 + 110.0 * (phase + shift).cos()).round() as u8;
    [wave(0.0), wave(0.2), wave(0.5)]
}

/// Plain paper.
fn page() -> [u8; 3] {
    [0xf8, 0xf6, 0xee]
}

/// Grass: noise of two scales.
fn meadow(x: usize, y: usize) -> [u8; 3] {
    let fine = f64::from(noise(x, y)) - 128.0;
    let coarse = smooth_noise(x as f64 / 14.0, y as f64 / 9.0) - 128.0;
    let shade = 0.18 * fine + 0.7 * coarse;
    let tone = |base: f64, weight: f64| (base + weight * shade).clamp(0.0, 255.0).round() as u8;
    [tone(90.0, 0.8), tone(135.0, 1.0), tone(55.0, 0.6)]
}

/// Returns a pseudo-random byte for a place: the finalizer of SplitMix64 (G. Steele and others,
/// 2014).
fn noise(x: usize, y: usize) -> u8 {
    let mut bits = (x as u64) << 32 | y as u64;
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits >> 56) as u8
}

/// Noise, interpolated bilinearly between integer places.
fn smooth_noise(x: f64, y: f64) -> f64 {
    let (left, top) = (x.floor(), y.floor());
    let (aside, down) = (x - left, y - top);
    let at = |dx: usize, dy: usize| f64::from(noise(1000 + left as usize + dx, 2000 + top as usize + dy));
    let upper = at(0, 0) * (1.0 - aside) + at(1, 0) * aside;
    let lower = at(0, 1) * (1.0 - aside) + at(1, 1) * aside;
    upper * (1.0 - down) + lower * down
}

/// Writes text in letters of 5 by 7 dots.
fn write(picture: &mut Pixels, text: &str, (left, top): (usize, usize), scale: usize, colour: [u8; 3]) {
    for (place, character) in text.chars().enumerate() {
        for (row, dots) in glyph(character).into_iter().enumerate() {
            for column in 0..5 {
                if dots & (0b1_0000 >> column) == 0 {
                    continue;
                }
                let (x, y) = (left + (6 * place + column) * scale, top + row * scale);
                for dot in 0..scale * scale {
                    picture.set(x + dot % scale, y + dot / scale, colour);
                }
            }
        }
    }
}

/// Returns the rows of a letter, five bits each; blank for characters that the texts do not use.
#[rustfmt::skip]
fn glyph(character: char) -> [u8; 7] {
    match character {
        'A' => [0x0e, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11],
        'B' => [0x1e, 0x11, 0x11, 0x1e, 0x11, 0x11, 0x1e],
        'C' => [0x0e, 0x11, 0x10, 0x10, 0x10, 0x11, 0x0e],
        'D' => [0x1e, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1e],
        'E' => [0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x1f],
        'F' => [0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x10],
        'G' => [0x0e, 0x11, 0x10, 0x17, 0x11, 0x11, 0x0f],
        'H' => [0x11, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11],
        'I' => [0x0e, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e],
        'K' => [0x11, 0x12, 0x14, 0x18, 0x14, 0x12, 0x11],
        'L' => [0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x1f],
        'M' => [0x11, 0x1b, 0x15, 0x15, 0x11, 0x11, 0x11],
        'N' => [0x11, 0x19, 0x15, 0x13, 0x11, 0x11, 0x11],
        'O' => [0x0e, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0e],
        'P' => [0x1e, 0x11, 0x11, 0x1e, 0x10, 0x10, 0x10],
        'R' => [0x1e, 0x11, 0x11, 0x1e, 0x14, 0x12, 0x11],
        'S' => [0x0f, 0x10, 0x10, 0x0e, 0x01, 0x01, 0x1e],
        'T' => [0x1f, 0x04, 0x04, 0x04, 0x04, 0x04, 0x04],
        'U' => [0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0e],
        'W' => [0x11, 0x11, 0x11, 0x15, 0x15, 0x15, 0x0a],
        'X' => [0x11, 0x11, 0x0a, 0x04, 0x0a, 0x11, 0x11],
        '0' => [0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e],
        '1' => [0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e],
        '2' => [0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f],
        '3' => [0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e],
        '4' => [0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02],
        '5' => [0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e],
        '6' => [0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e],
        '7' => [0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08],
        '8' => [0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e],
        '9' => [0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c],
        _ => [0; 7],
    }
}

/// Encodes the picture as it is sent: sequential, with restart markers, and without chroma
/// subsampling.
///
/// # Errors
/// If the picture is too large for a JPEG, or empty.
pub fn jpeg(picture: &Pixels) -> Result<Vec<u8>, EncodingError> {
    const QUALITY: u8 = 92;
    encode(picture, QUALITY, Some(RESTART_INTERVAL))
}

/// Encodes a picture for display, without restart markers.
///
/// # Errors
/// If the picture is too large for a JPEG, or empty.
pub fn jpeg_to_show(picture: &Pixels) -> Result<Vec<u8>, EncodingError> {
    const QUALITY: u8 = 85;
    encode(picture, QUALITY, None)
}

fn encode(picture: &Pixels, quality: u8, restart_interval: Option<u16>) -> Result<Vec<u8>, EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, quality);
    encoder.set_sampling_factor(SamplingFactor::F_1_1);
    if let Some(interval) = restart_interval {
        encoder.set_restart_interval(interval);
    }
    // A size that does not fit becomes 0, which the encoder refuses.
    let [width, height] = [picture.width, picture.height].map(|side| u16::try_from(side).unwrap_or(0));
    encoder.encode(&picture.rgb, width, height, ColorType::Rgb)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::HeaderEnd;
    use crate::medium::jpeg::header_end;

    #[test]
    fn it_is_as_large_as_a_picture_of_a_page() {
        let bytes = jpeg(&draw()).expect("encoded");
        assert!((100_000..300_000).contains(&bytes.len()), "{} bytes", bytes.len());
        let markers =
            bytes.windows(2).filter(|pair| pair[0] == 0xff && (0xd0..=0xd7).contains(&pair[1])).count();
        assert_eq!(markers, WIDTH / 8 * (HEIGHT / 8) / usize::from(RESTART_INTERVAL) - 1);
        let Ok(HeaderEnd::At(header)) = header_end(&bytes) else { panic!("a header") };
        assert!(header < 700, "{header} bytes: there is room for it in the first 1024");
    }

    #[test]
    fn a_picture_that_is_none_is_an_error() {
        assert!(jpeg(&Pixels::filled(0, 3, [0; 3])).is_err());
        assert!(jpeg(&Pixels::filled(70_000, 1, [0; 3])).is_err());
    }
}

//! The test sound: ten seconds of a chirp over two tones, in which clicks are well audible.

use std::f64::consts::TAU;
use std::ops::Range;

/// Samples per second.
pub const RATE: u32 = 22_050;

/// Duration in seconds.
const SECONDS: u32 = 10;

/// Returns the samples: a sine that rises linearly from 200 to 4000 Hz, and tones of 440 and 659 Hz
/// that fade in and out.
#[must_use]
pub fn samples() -> Vec<i16> {
    const FROM: f64 = 200.0;
    const TO: f64 = 4000.0;
    let sample = |number: u32| {
        let time = f64::from(number) / f64::from(RATE);
        // The phase is the integral of the frequency.
        let chirp = (TAU * (FROM + (TO - FROM) * time / (2.0 * f64::from(SECONDS))) * time).sin();
        let first = (TAU * 440.0 * time).sin() * (TAU * 0.4 * time).sin().powi(2);
        let second = (TAU * 659.0 * time).sin() * (TAU * 0.4 * time).cos().powi(2);
        let level = 0.35 * chirp + 0.25 * first + 0.25 * second;
        (level * f64::from(i16::MAX)).round() as i16
    };
    (0..RATE * SECONDS).map(sample).collect()
}

/// Returns a WAV file with one channel of 16-bit samples.
#[must_use]
pub fn wav(samples: &[i16]) -> Vec<u8> {
    const PCM: u16 = 1;
    const CHANNELS: u16 = 1;
    const SAMPLE: u16 = 2;
    let data = 2 * samples.len() as u32;
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((36 + data).to_le_bytes());
    bytes.extend(b"WAVEfmt ");
    bytes.extend(16_u32.to_le_bytes());
    bytes.extend(PCM.to_le_bytes());
    bytes.extend(CHANNELS.to_le_bytes());
    bytes.extend(RATE.to_le_bytes());
    bytes.extend((RATE * u32::from(SAMPLE)).to_le_bytes());
    bytes.extend((CHANNELS * SAMPLE).to_le_bytes());
    bytes.extend((8 * SAMPLE).to_le_bytes());
    bytes.extend(b"data");
    bytes.extend(data.to_le_bytes());
    bytes.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    bytes
}

/// Returns the samples in these bytes of a file; ignores half a sample at the end.
#[must_use]
pub fn samples_of(file: &[u8], data: Range<usize>) -> Vec<i16> {
    let bytes = &file[data.start.min(file.len())..data.end.min(file.len()).max(data.start.min(file.len()))];
    bytes.chunks_exact(2).map(|sample| i16::from_le_bytes([sample[0], sample[1]])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::wav::data;

    #[test]
    fn a_file_gives_its_samples_back() {
        let samples = samples();
        assert_eq!(samples.len(), 220_500);
        let file = wav(&samples);
        let data = data(&file).expect("a WAV file").expect("samples");
        assert_eq!(data, 44..file.len());
        assert_eq!(samples_of(&file, data), samples);
        assert_eq!(samples_of(&file[..47], 44..file.len()), samples[..1]);
        assert!(samples_of(&file[..40], 44..file.len()).is_empty());
    }

    #[test]
    fn it_is_loud_and_does_not_clip() {
        let loudest = samples().into_iter().map(i16::unsigned_abs).max().expect("samples");
        assert!((15_000..32_767).contains(&loudest), "{loudest}");
    }
}

//! Objective quality of damaged pictures and sound.
//!
//! * PSNR: peak signal-to-noise ratio over all three colours.
//! * SSIM: Z. Wang, A. C. Bovik, H. R. Sheikh, E. P. Simoncelli, *Image Quality Assessment: From
//!   Error Visibility to Structural Similarity*, IEEE Transactions on Image Processing 13(4), 2004,
//!   with the windows and constants of its section III-C, of the brightness.
//! * SNR: signal-to-noise ratio of samples.

use crate::pixels::Pixels;

/// Largest value of a pixel.
const PEAK: f64 = 255.0;

/// Error of two media that cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot compare the two: they differ in size, or are too small")]
pub struct Incomparable;

/// Returns the PSNR in dB; infinite for equal pictures.
///
/// # Errors
/// If the sizes differ, or the pictures are empty.
pub fn psnr(original: &Pixels, other: &Pixels) -> Result<f64, Incomparable> {
    if (original.width, original.height) != (other.width, other.height) || original.rgb.is_empty() {
        return Err(Incomparable);
    }
    let squares: f64 =
        original.rgb.iter().zip(&other.rgb).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum();
    let mean = squares / original.rgb.len() as f64;
    Ok(10.0 * (PEAK * PEAK / mean).log10())
}

/// Width of SSIM's window in pixels.
const WINDOW: usize = 11;

/// Returns the mean SSIM; 1 for equal pictures.
///
/// # Errors
/// If the sizes differ, or are below the window's 11 by 11 pixels.
pub fn ssim(original: &Pixels, other: &Pixels) -> Result<f64, Incomparable> {
    let (width, height) = (original.width, original.height);
    if (width, height) != (other.width, other.height) || width < WINDOW || height < WINDOW {
        return Err(Incomparable);
    }
    let (x, y) = (original.luma(), other.luma());
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).collect::<Vec<_>>();
    let blurred = |plane: &[f64]| blurred(plane, width);
    let (mean_x, mean_y) = (blurred(&x), blurred(&y));
    let (xx, yy, xy) = (blurred(&product(&x, &x)), blurred(&product(&y, &y)), blurred(&product(&x, &y)));
    // K1 = 0.01 and K2 = 0.03 (section III-C).
    let (c1, c2) = ((0.01 * PEAK).powi(2), (0.03 * PEAK).powi(2));
    let similarity = |at: usize| {
        let (mx, my) = (mean_x[at], mean_y[at]);
        let (vx, vy, covariance) = (xx[at] - mx * mx, yy[at] - my * my, xy[at] - mx * my);
        // Equation 13.
        (2.0 * mx * my + c1) * (2.0 * covariance + c2) / ((mx * mx + my * my + c1) * (vx + vy + c2))
    };
    Ok((0..mean_x.len()).map(similarity).sum::<f64>() / mean_x.len() as f64)
}

/// Returns the weighted means of all windows inside the plane. The weights are a Gaussian of 1.5
/// pixels, which is separable.
fn blurred(plane: &[f64], width: usize) -> Vec<f64> {
    const DEVIATION: f64 = 1.5;
    let middle = (WINDOW / 2) as f64;
    let mut weights: [f64; WINDOW] =
        std::array::from_fn(|place| (-(place as f64 - middle).powi(2) / (2.0 * DEVIATION * DEVIATION)).exp());
    let sum: f64 = weights.iter().sum();
    for weight in &mut weights {
        *weight /= sum;
    }

    let narrow = width + 1 - WINDOW;
    let weighted = |values: &mut dyn Iterator<Item = &f64>| {
        weights.iter().zip(values).map(|(weight, value)| weight * value).sum::<f64>()
    };
    let rows: Vec<f64> = plane
        .chunks_exact(width)
        .flat_map(|row| row.windows(WINDOW).map(|window| weighted(&mut window.iter())))
        .collect();
    let height = rows.len() / narrow;
    (0..(height + 1 - WINDOW) * narrow)
        .map(|first| weighted(&mut rows[first..].iter().step_by(narrow)))
        .collect()
}

/// Returns the SNR in dB; infinite for equal samples.
///
/// # Errors
/// If the numbers of samples differ, or there are none.
pub fn snr(original: &[i16], other: &[i16]) -> Result<f64, Incomparable> {
    if original.len() != other.len() || original.is_empty() {
        return Err(Incomparable);
    }
    let signal: f64 = original.iter().map(|&sample| f64::from(sample).powi(2)).sum();
    let noise: f64 = original.iter().zip(other).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum();
    Ok(10.0 * (signal / noise).log10())
}

#[cfg(test)]
mod tests;

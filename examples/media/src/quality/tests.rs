//! Comparison with values computed by hand.

use super::*;

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

#[test]
fn psnr_of_a_known_error() {
    let black = Pixels::filled(4, 2, [0; 3]);
    // Each value is wrong by 5: the mean square is 25, and 255² / 25 = 2601 = 51².
    close(psnr(&black, &Pixels::filled(4, 2, [5; 3])).expect("alike"), 20.0 * 51_f64.log10());
    // The worst possible value is 0 dB.
    close(psnr(&black, &Pixels::filled(4, 2, [255; 3])).expect("alike"), 0.0);
    // One value of 24 is wrong by 12: the mean square is 6.
    let mut one = black.clone();
    one.rgb[7] = 12;
    close(psnr(&black, &one).expect("alike"), 10.0 * (65_025.0_f64 / 6.0).log10());
    assert!(psnr(&black, &black).expect("alike").is_infinite());
    assert_eq!(psnr(&black, &Pixels::filled(2, 4, [0; 3])), Err(Incomparable));
}

#[test]
fn ssim_of_even_pictures_is_that_of_their_brightness() {
    let even = |value: u8| Pixels::filled(16, 12, [value; 3]);
    close(ssim(&even(77), &even(77)).expect("alike"), 1.0);
    // There is no variance, so (2 * 100 * 50 + C1) / (100² + 50² + C1) remains of equation 13, with
    // C1 = 2.55² = 6.5025.
    let expected = (10_000.0 + 6.5025) / (12_500.0 + 6.5025);
    assert!((ssim(&even(100), &even(50)).expect("alike") - expected).abs() < 1e-6);
    assert_eq!(ssim(&even(1), &Pixels::filled(16, 13, [1; 3])), Err(Incomparable));
    let narrow = Pixels::filled(10, 40, [1; 3]);
    assert_eq!(ssim(&narrow, &narrow), Err(Incomparable), "there is no window in it");
}

#[test]
fn ssim_of_a_negative_follows_its_definition() {
    // One window of stripes of 28 and 228, and its negative: 128 + d and 128 - d. The weights of
    // the light columns sum to p.
    let stripes = |light: u8, dark: u8| {
        let mut picture = Pixels::filled(11, 11, [dark; 3]);
        for y in 0..11 {
            for x in (0..11).step_by(2) {
                picture.set(x, y, [light; 3]);
            }
        }
        picture
    };
    let weight = |x: f64| (-(x - 5.0_f64).powi(2) / 4.5).exp();
    let all: f64 = (0..11).map(|x| weight(f64::from(x))).sum();
    let p: f64 = (0..11).step_by(2).map(|x| weight(f64::from(x))).sum::<f64>() / all;
    let mean = |light: f64, dark: f64| p * light + (1.0 - p) * dark;
    let (mx, my) = (mean(228.0, 28.0), mean(28.0, 228.0));
    // The variance of two values 200 apart; the covariance with the negative is its opposite.
    let variance = p * (1.0 - p) * 200.0 * 200.0;
    let (c1, c2) = (6.5025, 58.5225);
    let expected =
        (2.0 * mx * my + c1) * (-2.0 * variance + c2) / ((mx * mx + my * my + c1) * (2.0 * variance + c2));
    assert!(expected < -0.9, "{expected}");
    let found = ssim(&stripes(228, 28), &stripes(28, 228)).expect("alike");
    assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
}

#[test]
fn snr_of_a_known_error() {
    // 3² + 4² = 25 against 1² + 2² = 5: a factor of 5.
    close(snr(&[3, 4], &[2, 6]).expect("alike"), 10.0 * 5_f64.log10());
    close(snr(&[100, -100], &[0, 0]).expect("alike"), 0.0);
    // One flipped sign bit.
    close(snr(&[1, 0], &[1 - 0x7fff - 1, 0]).expect("alike"), -20.0 * 32_768_f64.log10());
    assert!(snr(&[1, 2], &[1, 2]).expect("alike").is_infinite());
    assert_eq!(snr(&[1], &[1, 2]), Err(Incomparable));
    assert_eq!(snr(&[], &[]), Err(Incomparable));
}

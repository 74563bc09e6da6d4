//! Tests with the test picture, damaged.

use super::*;
use crate::medium::HeaderEnd;
use crate::medium::jpeg::header_end;
use crate::quality::psnr;
use crate::test_picture;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::LazyLock;

struct Case {
    drawn: Pixels,
    bytes: Vec<u8>,
    header: usize,
}

static CASE: LazyLock<Case> = LazyLock::new(|| {
    let drawn = test_picture::draw();
    let bytes = test_picture::jpeg(&drawn).expect("encoded");
    let Ok(HeaderEnd::At(header)) = header_end(&bytes) else { panic!("a header") };
    Case { drawn, bytes, header }
});

/// Returns the rows of blocks in which pixels differ.
fn rows_that_differ(a: &Pixels, b: &Pixels) -> Vec<usize> {
    let row = 3 * a.width * 8;
    let rows = a.rgb.chunks(row).zip(b.rgb.chunks(row)).enumerate();
    rows.filter(|(_, (a, b))| a != b).map(|(number, _)| number).collect()
}

#[test]
fn an_undamaged_picture_is_what_the_library_makes_of_it() {
    let Case { drawn, bytes, .. } = &*CASE;
    let decoded = decode(bytes).expect("decoded");
    assert_eq!((decoded.stretches, decoded.lost), (480, 0));
    let whole = picture(bytes, drawn.width, drawn.height).expect("decoded");
    assert!(decoded.pixels == whole, "pixel by pixel");
    assert!(psnr(drawn, &whole).expect("alike") > 30.0);
}

#[test]
fn a_wrong_bit_spoils_its_stretch_alone() {
    let Case { bytes, header, .. } = &*CASE;
    let whole = decode(bytes).expect("decoded").pixels;
    for place in [header + 5, header + (bytes.len() - header) / 2, bytes.len() - 9] {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x10;
        let decoded = decode(&damaged).expect("decoded").pixels;
        let rows = rows_that_differ(&decoded, &whole);
        // The pixels that replace a lost stretch could be repeated in the stretch below if that
        // were lost too; here it is not.
        assert!(rows.len() <= 1, "byte {place}: rows {rows:?}");
        assert!(psnr(&whole, &decoded).expect("alike") > 25.0, "byte {place}");
    }
}

#[test]
fn a_lost_restart_marker_spoils_two_stretches_at_most() {
    let Case { bytes, header, .. } = &*CASE;
    let whole = decode(bytes).expect("decoded").pixels;
    let markers = scan::restart_markers(&bytes[*header..]);
    let mut damaged = bytes.clone();
    damaged[header + markers[100].at] = 0x7f;
    let decoded = decode(&damaged).expect("decoded");
    assert_eq!(decoded.lost, 1);
    // Stretch 101 is the sixth in row 13, which has index 12.
    assert_eq!(rows_that_differ(&decoded.pixels, &whole), [12]);
}

#[test]
fn data_that_end_early_leave_the_rest_as_it_was_above() {
    let Case { drawn, bytes, .. } = &*CASE;
    let whole = decode(bytes).expect("decoded").pixels;
    let decoded = decode(&bytes[..bytes.len() / 2]).expect("decoded");
    assert!(decoded.lost > 100, "{}", decoded.lost);
    let first = rows_that_differ(&decoded.pixels, &whole)[0];
    assert!((10..50).contains(&first), "{first} rows of {} are whole", drawn.height / 8);
}

/// As in the report: each bit behind the header is wrong with this probability.
#[test]
fn the_more_bits_are_wrong_the_worse_it_looks() {
    let Case { drawn, bytes, header } = &*CASE;
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut at_ratio = |ratio: f64| {
        let mut damaged = bytes.clone();
        for byte in &mut damaged[*header..] {
            for bit in 0..8 {
                *byte ^= u8::from(random.random_bool(ratio)) << bit;
            }
        }
        psnr(drawn, &decode(&damaged).expect("decoded").pixels).expect("alike")
    };
    let found = [0.0, 1e-5, 1e-4, 1e-3].map(&mut at_ratio);
    assert!(found.is_sorted_by(|a, b| a > b), "{found:?}");
    assert!(found[2] > 15.0, "{found:?}");
}

#[test]
fn other_shapes() {
    // A width and a height that blocks do not fill exactly, and stretches that do not fill rows.
    let picture = CASE.drawn.part(100, 100, 203, 77);
    let bytes = test_picture::jpeg(&picture).expect("encoded");
    let decoded = decode(&bytes).expect("decoded");
    assert!(psnr(&picture, &decoded.pixels).expect("alike") > 30.0);
    // No restart markers.
    let bytes = test_picture::jpeg_to_show(&picture).expect("encoded");
    let decoded = decode(&bytes).expect("decoded");
    assert_eq!((decoded.stretches, decoded.lost), (1, 0));
    assert!(psnr(&picture, &decoded.pixels).expect("alike") > 28.0);
}

#[test]
fn headers_that_are_none() {
    let Case { bytes, header, .. } = &*CASE;
    assert!(decode(&[]).is_err());
    let said = decode(&bytes[..header - 1]).expect_err("refused").to_string();
    assert_eq!(said, "not a JPEG picture that can be decoded: its header is cut off");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_damage_is_too_much(seed in any::<u64>(), spoilt in 0_usize..200) {
        // A small picture, damaged anywhere, including its header.
        let mut bytes = test_picture::jpeg(&CASE.drawn.part(0, 200, 160, 80)).expect("encoded");
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..spoilt {
            let place = random.random_range(0..bytes.len());
            bytes[place] = random.random();
        }
        let _ = decode(&bytes);
    }
}

//! The 24-bit frame check sequence (GSM 04.22, 5.2.2.5).
//!
//! The generator is x^24+x^23+x^21+x^20+x^19+x^17+x^16+x^15+x^13+x^8+x^7+x^5+x^4+x^2+1. The
//! register starts with all ones, the least significant bit of each octet goes in first, and the
//! result is inverted.

use crc::{Algorithm, Crc, Table};

const FCS_24: Algorithm<u32> = Algorithm {
    width: 24,
    poly: 0xbb_a1b5,
    init: 0xff_ffff,
    refin: true,
    refout: true,
    xorout: 0xff_ffff,
    check: 0x4e_86cb,
    residue: 0,
};

static CRC: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&FCS_24);

/// Returns the frame check sequence of these octets; its low octet is sent first.
#[must_use]
pub fn compute(octets: &[u8]) -> u32 {
    CRC.checksum(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LL-02: the test vectors of the specification, section 2.2.
    #[test]
    fn vectors() {
        assert_eq!(compute(b"123456789"), 0x4e_86cb);
        assert_eq!(compute(&[0; 27]), 0xc9_5719);
        assert_eq!(compute(&std::array::from_fn::<u8, 27, _>(|at| at as u8)), 0xae_6c82);
    }

    /// LL-02: the register over a whole intact frame, including its check sequence, always ends
    /// with the same value. `compute` inverts it.
    #[test]
    fn a_good_frame_leaves_the_same_register() {
        for seed in 0..=255u8 {
            let mut frame: Vec<u8> = (0..27).map(|at| seed.wrapping_mul(31).wrapping_add(at)).collect();
            let check = compute(&frame).to_le_bytes();
            frame.extend_from_slice(&check[..3]);
            assert_eq!(compute(&frame) ^ 0xff_ffff, 0x0c_91b6);
        }
    }
}

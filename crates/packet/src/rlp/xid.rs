//! Parameters that both ends negotiate by XID frames (GSM 04.22, 5.2.2.6).
//!
//! Each parameter is an octet with its type in the high four bits and the length of its value in
//! the low four, followed by the value. Type 0 ends the list. Parameters of unknown type are
//! ignored. T1 and T2 are in units of 10 ms.

use thiserror::Error;

/// Connection parameters that an XID frame can carry; absent ones stay unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Parameters {
    /// Version of the protocol.
    pub version: Option<u8>,
    /// Window from the network to the mobile, 0 to 61 frames.
    pub window_down: Option<u8>,
    /// Window from the mobile to the network, 0 to 61 frames.
    pub window_up: Option<u8>,
    /// Acknowledgement timer T1, in 10 ms.
    pub t1: Option<u8>,
    /// Number of retransmission attempts N2.
    pub n2: Option<u8>,
    /// Reply delay T2, in 10 ms.
    pub t2: Option<u8>,
}

/// An error of decoding a list of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Malformed {
    /// The value of a parameter extends beyond the frame.
    #[error("XID parameter {kind} has {length} octets, but the frame ends before")]
    Cut {
        /// Type of the parameter.
        kind: u8,
        /// Length of its value in octets.
        length: u8,
    },
    /// The value of a known parameter is not one octet long.
    #[error("XID parameter {kind} has {length} octets, expected 1")]
    Length {
        /// Type of the parameter.
        kind: u8,
        /// Length of its value in octets.
        length: u8,
    },
}

impl Parameters {
    /// Decodes the information field of an XID frame.
    pub fn parse(mut information: &[u8]) -> Result<Self, Malformed> {
        let mut parameters = Self::default();
        while let Some((&head, rest)) = information.split_first() {
            let (kind, length) = (head >> 4, head & 0xf);
            if kind == 0 {
                break;
            }
            let value = rest.get(..usize::from(length)).ok_or(Malformed::Cut { kind, length })?;
            information = &rest[usize::from(length)..];
            if let Some(field) = parameters.field(kind) {
                let &[octet] = value else { return Err(Malformed::Length { kind, length }) };
                *field = Some(octet);
            }
        }
        Ok(parameters)
    }

    /// Encodes the information field of an XID frame with the end of the list; at most 13 octets.
    #[must_use]
    pub fn to_octets(mut self) -> Vec<u8> {
        let mut octets = Vec::new();
        for kind in 1..=6 {
            if let Some(value) = self.field(kind).and_then(|field| *field) {
                octets.extend([kind << 4 | 1, value]);
            }
        }
        octets.push(0);
        octets
    }

    fn field(&mut self, kind: u8) -> Option<&mut Option<u8>> {
        match kind {
            1 => Some(&mut self.version),
            2 => Some(&mut self.window_down),
            3 => Some(&mut self.window_up),
            4 => Some(&mut self.t1),
            5 => Some(&mut self.n2),
            6 => Some(&mut self.t2),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// LL-02: parameters survive a round trip and fit into a short frame.
        #[test]
        fn round_trip(version: Option<u8>, window_down: Option<u8>, window_up: Option<u8>, t1: Option<u8>,
                      n2: Option<u8>, t2: Option<u8>) {
            let parameters = Parameters { version, window_down, window_up, t1, n2, t2 };
            let octets = parameters.to_octets();
            prop_assert!(octets.len() <= 25);
            prop_assert_eq!(Parameters::parse(&octets), Ok(parameters));
        }
    }

    #[test]
    fn octets_as_the_standard_has_them() {
        let defaults = Parameters { window_up: Some(61), t1: Some(48), n2: Some(6), ..Parameters::default() };
        assert_eq!(defaults.to_octets(), [0x31, 61, 0x41, 48, 0x51, 6, 0]);
    }

    #[test]
    fn unknown_ones_are_passed_over_and_broken_ones_refused() {
        assert_eq!(
            Parameters::parse(&[0x72, 1, 2, 0x51, 9, 0, 0x51]),
            Ok(Parameters { n2: Some(9), ..Parameters::default() })
        );
        assert_eq!(Parameters::parse(&[0x52, 1, 2]), Err(Malformed::Length { kind: 5, length: 2 }));
        assert_eq!(Parameters::parse(&[0x73, 1, 2]), Err(Malformed::Cut { kind: 7, length: 3 }));
        assert_eq!(Parameters::parse(&[0x51]), Err(Malformed::Cut { kind: 5, length: 1 }));
    }
}

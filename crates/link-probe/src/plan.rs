//! Plan of a measurement: packet sizes, lengths and phases.

use crate::SECOND;
use crate::message::LEAST_DATA;
use borsh::{BorshDeserialize, BorshSerialize};

/// Plan of a measurement, which the client sends to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Plan {
    /// UDP payload of a large packet in bytes.
    pub size: u16,
    /// Bytes of the headers of IP and UDP: 28 for IPv4, 48 for IPv6.
    pub overhead: u8,
    /// Packets in a train.
    pub train: u16,
    /// Least time between two trains in nanoseconds.
    pub interval: u64,
    /// Length of the light phase in nanoseconds.
    pub light: u64,
    /// Length of each heavy phase in nanoseconds.
    pub heavy: u64,
    /// Most that an end sends, in bit/s of IP packets.
    pub max_rate: u64,
    /// Whether both directions are saturated together.
    pub together: bool,
}

/// Error of a plan that cannot be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}: must be {wanted}")]
pub struct PlanError {
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub value: u64,
    /// The valid values.
    pub wanted: &'static str,
}

/// Longest phase: ten minutes.
const LONGEST: u64 = 600 * SECOND;

/// A part of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Trains on the idle link.
    Light,
    /// A saturating flow.
    Heavy {
        /// From the client to the server.
        up: bool,
        /// From the server to the client.
        down: bool,
    },
}

impl Plan {
    /// Checks the plan.
    ///
    /// # Errors
    /// If a value is out of its range.
    pub fn check(&self) -> Result<(), PlanError> {
        let within = |field, value: u64, least: u64, most: u64, wanted| {
            if (least..=most).contains(&value) { Ok(()) } else { Err(PlanError { field, value, wanted }) }
        };
        within("size", self.size.into(), LEAST_DATA.into(), 9000, "64 to 9000 bytes of UDP payload")?;
        within("overhead", self.overhead.into(), 28, 48, "28 to 48 bytes")?;
        within("train", self.train.into(), 2, 1000, "2 to 1000 packets")?;
        within("interval", self.interval, SECOND / 1000, 60 * SECOND, "1 ms to 60 s, in nanoseconds")?;
        within("light", self.light, SECOND / 10, LONGEST, "100 ms to 600 s, in nanoseconds")?;
        within("heavy", self.heavy, SECOND / 10, LONGEST, "100 ms to 600 s, in nanoseconds")?;
        within("max-rate", self.max_rate, 1000, 100_000_000_000, "1 kbit/s to 100 Gbit/s, in bit/s")
    }

    /// Returns the phases in their order.
    #[must_use]
    pub fn phases(&self) -> Vec<Phase> {
        if self.together {
            vec![Phase::Light, Phase::Heavy { up: true, down: true }]
        } else {
            vec![Phase::Light, Phase::Heavy { up: true, down: false }, Phase::Heavy { up: false, down: true }]
        }
    }

    /// Returns the length of a phase in nanoseconds.
    #[must_use]
    pub fn length(&self, phase: Phase) -> u64 {
        if phase == Phase::Light { self.light } else { self.heavy }
    }

    /// Returns the length of an IP packet with `payload` bytes of UDP payload.
    #[must_use]
    pub fn ip_bytes(&self, payload: u16) -> u64 {
        u64::from(payload) + u64::from(self.overhead)
    }

    /// Returns an upper bound on the bytes that each end sends, with the headers of IP.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        let trains = self.light / self.interval + 1;
        let light = trains.saturating_mul(u64::from(self.train) * self.ip_bytes(self.size));
        let heavy = u128::from(self.max_rate) * u128::from(self.heavy) / (8 * u128::from(SECOND));
        light.saturating_add(u64::try_from(heavy).unwrap_or(u64::MAX))
    }
}

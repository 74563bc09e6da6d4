//! Queue parameters as written in a profile: the names of all queue disciplines.

use super::codel::CoDelSpec;
use super::discipline::{Discipline, Parameters, Site};
use super::drop_head::DropHeadSpec;
use super::drop_tail::DropTailSpec;
use super::dualpi2::DualPi2Spec;
use super::fq_codel::FqCoDelSpec;
use super::limit::Limit;
use super::pie::PieSpec;
use super::red::RedSpec;
use super::sfq::SfqSpec;
use super::trace::TraceQueueSpec;
use crate::stage::spec::{SpecError, text_or_table};
use crate::units::UnitError;
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Declares [`QueueSpec`]. Each discipline has documentation, its parameters, and its name in
/// profiles. A name followed by `alone` also selects the discipline with its default parameters,
/// without a table. A new discipline is one entry.
macro_rules! disciplines {
    ($($(#[$doc:meta])+ $kind:ident($spec:ty) = $name:literal $($alone:ident)?;)+) => {
        /// Queue discipline: the treatment of packets that arrive faster than they are sent.
        ///
        /// In a profile, a [`Limit`] such as `"50p"` alone means drop-tail. The name of a
        /// discipline whose parameters all have defaults selects it: `"codel"`, `"red"`, and so
        /// on. Every discipline can be written as a table with its name as `kind`.
        #[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
        pub enum QueueSpec {
            $($(#[$doc])+ $kind($spec),)+
        }

        #[derive(Serialize, Deserialize)]
        #[serde(tag = "kind", deny_unknown_fields)]
        enum Table {
            $(#[serde(rename = $name)] $kind($spec),)+
        }

        impl From<Table> for QueueSpec {
            fn from(table: Table) -> Self {
                match table {
                    $(Table::$kind(spec) => Self::$kind(spec),)+
                }
            }
        }

        impl From<QueueSpec> for Table {
            fn from(spec: QueueSpec) -> Self {
                match spec {
                    $(QueueSpec::$kind(spec) => Self::$kind(spec),)+
                }
            }
        }

        impl QueueSpec {
            /// Names that select a discipline with its default parameters.
            pub const NAMES: &'static [&'static str] = &[$($(disciplines!(@name $alone $name),)?)+];

            /// Returns the discipline with this name and its default parameters.
            fn named(name: &str) -> Option<Self> {
                match name {
                    $($(disciplines!(@name $alone $name) => Some(Self::$kind(<$spec>::default())),)?)+
                    _ => None,
                }
            }

            /// Returns whether the treatment of packets depends on random numbers.
            #[must_use]
            pub fn is_random(&self) -> bool {
                match self {
                    $(Self::$kind(spec) => spec.is_random(),)+
                }
            }

            /// Creates an empty queue.
            pub(super) fn build(&self, site: &Site<'_>) -> Result<Box<dyn Discipline>, SpecError> {
                match self {
                    $(Self::$kind(spec) => spec.build(site),)+
                }
            }
        }

        impl fmt::Display for QueueSpec {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$kind(spec) => spec.fmt(f),)+
                }
            }
        }
    };
    (@name alone $name:literal) => { $name };
}

disciplines! {
    /// A packet that finds no room is lost. With a limit in time, this is a packet that would wait
    /// longer for the start of its transmission, at the rate at its arrival. The wait is exact for
    /// a constant rate and for a mahimahi trace.
    DropTail(DropTailSpec) = "drop-tail";
    /// The oldest packets make room for an arriving packet. With a limit in time, a packet is lost
    /// when the limit has passed since its arrival and its transmission has not begun.
    DropHead(DropHeadSpec) = "drop-head";
    /// Controlled delay; see [`super::codel`].
    CoDel(CoDelSpec) = "codel" alone;
    /// Random early detection; see [`super::red`].
    Red(RedSpec) = "red" alone;
    /// Flows in turns, each under CoDel; see [`super::fq_codel`].
    FqCoDel(FqCoDelSpec) = "fq-codel" alone;
    /// Losses by a controller of the waiting time; see [`super::pie`].
    Pie(PieSpec) = "pie" alone;
    /// A queue for L4S beside a classic one; see [`super::dualpi2`].
    DualPi2(DualPi2Spec) = "dualpi2" alone;
    /// Flows in turns; see [`super::sfq`].
    Sfq(SfqSpec) = "sfq" alone;
    /// Drop-tail with the room and the virtual queue of the rate's TheaterQ trace.
    Trace(TraceQueueSpec) = "trace";
}

impl QueueSpec {
    /// Drop-tail with this limit.
    #[must_use]
    pub const fn drop_tail(limit: Limit) -> Self {
        Self::DropTail(DropTailSpec { limit })
    }

    /// Drop-head with this limit.
    #[must_use]
    pub const fn drop_head(limit: Limit) -> Self {
        Self::DropHead(DropHeadSpec { limit })
    }
}

impl Default for QueueSpec {
    fn default() -> Self {
        Self::drop_tail(Limit::Unlimited)
    }
}

impl FromStr for QueueSpec {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        match Self::named(text.trim()) {
            Some(spec) => Ok(spec),
            None => text.parse().map(Self::drop_tail),
        }
    }
}

impl<'de> Deserialize<'de> for QueueSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_table::<D, Self, Table>(deserializer, "a limit like \"50p\", or a table with a `kind`")
    }
}

impl Serialize for QueueSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.clone() {
            Self::DropTail(DropTailSpec { limit }) => Serialize::serialize(&limit, serializer),
            other => Serialize::serialize(&Table::from(other), serializer),
        }
    }
}

//! Captures and the event log: the schema, writers, tolerant readers. No analysis.
//!
//! # Writing, on the emulator's thread
//!
//! ```
//! use capture::*;
//! # let dir = tempfile::tempdir()?;
//! # let (capture_path, events_path) = (dir.path().join("x.pcapng"), dir.path().join("x.parquet"));
//! # let way = || WayInfo { profile: "umts".into(), bits_per_second: Some(384_000), stages: vec!["errors".into()], ..WayInfo::default() };
//! # let links = vec![LinkInfo { id: LinkId(0), name: "wlan".into(), layer: Layer::Ip, mtu: 1500, up: way(), down: way() }];
//! let header = Header::new("0.1.0", WallTime::from_nanos(1_700_000_000_000_000_000), 7, links);
//! let mut recorder = Recorder::start(header, Options {
//!     capture: Some(CaptureTo::Path(capture_path)), // None: no capture
//!     events: Some(events_path),                    // None: no event log
//!     ..Options::default()                          // snap_length, memory, age
//! })?;
//!
//! // A packet comes to a link, before the pipeline sees it.
//! let (link, direction, number, arrived) = (LinkId(0), Direction::Down, 0, Time::from_nanos(1_000));
//! # let bytes = [0; 40];
//! recorder.entered(link, direction, number, arrived, 40, &bytes);
//!
//! // The pipeline's sink, delivered or lost: once for each packet, and once for each copy.
//! let left = Time::from_nanos(82_000_000);
//! recorder.ended(&Ended {
//!     outcome: Outcome::Lost(Loss::Error), stage: Some(0), channel: Some(ChannelState::Bad),
//!     ..Ended::untouched(link, direction, number, 40, arrived, left)
//! }, &bytes);
//!
//! // Once a turn of the event loop: everything due until now has been recorded, nothing earlier will come.
//! recorder.settled(left);
//! // To the loop's timers: when to call that again at the latest. `Time::NEVER` when nothing waits.
//! let wake_at = recorder.due();
//!
//! // At the end: waits for the disk; says what was written, or what went wrong and what was written nevertheless.
//! let recorded = recorder.close(left)?;
//! assert_eq!(recorded.summary.way(link, direction).lost, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `entered` and `ended` copy into a chunk of memory and return; a thread of the recorder writes.
//! `bytes` may be longer than what is kept: the recorder cuts. Only a packet that was changed
//! ([`Ended::is_unchanged`] is false) and a copy are copied again when they end. If the disk is
//! slower than the link for longer than [`Options::memory`] lasts, the calls block;
//! [`Recorder::stalls`] counts that, and the run is overloaded. [`Recorder::note`] records that a
//! parameter was changed, [`Recorder::describe`] that a link has other stages or is new.
//! [`Recorder::live`] is for another thread that shows the counters. Where nothing is to be written
//! at all, count with a [`Summary`] alone.
//!
//! # Files that a user asks for
//!
//! [`output`]: where they can be written, whole or not at all, and not through somebody else's
//! link.
//!
//! # Reading
//!
//! There are three event logs, each with rows of its own: [`fates`] of packets, states of TCP
//! [`senders`], and what the ends of link layers with retransmissions noted ([`link_layer`]). A
//! [`Schema`] says what the rows are.
//!
//! * [`log::Reader`]: the log of a run that goes on or was killed. [`table::recover`] makes the
//!   Parquet file of it.
//! * [`table::Reader`]: the table of a run that was closed.
//! * [`packets::Reader`]: captures, pcapng and pcap, ours and others'.
//! * [`columnar::Table`]: any other table, whole in memory, written and read as Parquet.
//!
//! Files that end in the middle of a record are read up to there; the readers then say so in a
//! note.
#![forbid(unsafe_code)]

pub mod column;
pub mod columnar;
pub mod event;
#[cfg(test)]
mod example;
pub mod fates;
pub mod fuzz;
mod input;
pub mod link_layer;
pub mod log;
pub mod output;
pub mod packets;
pub mod pcapng;
pub mod recorder;
mod rows;
mod schema;
pub mod senders;
pub mod summary;
pub mod table;

pub use event::{Capacity, Ended, Fate, Flow, Header, LinkInfo, Outcome, Reason, WayInfo};
pub use input::Tail;
pub use log::LogError;
pub use packet::Layer;
pub use recorder::{CaptureTo, CloseError, Live, Options, RecordError, Recorded, Recorder, Stalls};
pub use schema::{Contents, RunHeader, Schema};
pub use summary::Summary;
pub use table::{Converted, TableError};
pub use units::{Span, Time, WallTime};
pub use vocabulary::{Cause, ChannelState, Direction, LinkId, Loss, Sending, units};

//! Captures and event logs: schema, writers, and readers that tolerate damage. No analysis.
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
//! let mut recorder = Recorder::start(header, RecorderOptions {
//!     capture: Some(CaptureTo::Path(capture_path)), // None: no capture
//!     events: Some(events_path),                    // None: no event log
//!     ..RecorderOptions::default()                  // snap_length, memory, age
//! })?;
//!
//! // A packet comes to a link, before the pipeline sees it.
//! let (link, direction, number, arrived) = (LinkId(0), Direction::Down, 0, Time::from_nanos(1_000));
//! # let bytes = [0; 40];
//! recorder.entered(link, direction, number, arrived, 40, &bytes);
//!
//! // The pipeline's sink, delivered or lost: once for each packet, and once for each copy.
//! let left = Time::from_nanos(82_000_000);
//! recorder.ended(&EndedPacket {
//!     outcome: Outcome::Lost(Loss::Error), stage: Some(0), channel: Some(ChannelState::Bad),
//!     ..EndedPacket::untouched(link, direction, number, 40, arrived, left)
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
//! `bytes` may be longer than needed: the recorder cuts it. The bytes of a packet are copied again
//! at its end only if it was changed ([`EndedPacket::is_unchanged`] is false) or is a copy.
//!
//! If the disk is slower than the link for longer than [`RecorderOptions::memory`] lasts, the calls
//! block. [`Recorder::stalls`] counts such waits, and the run is overloaded.
//!
//! [`Recorder::note`] records events such as a changed parameter. [`Recorder::describe`] records a
//! new link or changed stages. [`Recorder::live`] is for another thread that shows the counters. To
//! count without writing anything, use a [`Summary`] alone.
//!
//! # Files that a user asks for
//!
//! [`output`] checks where they can be written. It writes them whole or not at all, and not through
//! a symbolic link of another user.
//!
//! # Reading
//!
//! There are three event logs, each with its own rows: [`fates`] of packets, states of TCP
//! [`senders`], and records of link layers with retransmissions ([`link_layer`]). A [`Schema`]
//! describes the rows.
//!
//! * [`log::Reader`]: the log of a run that is still going on, or was killed. [`table::recover`]
//!   converts it to a Parquet file.
//! * [`table::Reader`]: the table of a run that was closed.
//! * [`packets::Reader`]: captures, pcapng and pcap, of lasthop and of other programs.
//! * [`columnar::Table`]: any other table, entirely in memory, written and read as Parquet.
//!
//! The readers of logs and captures read a file that ends in the middle of a record up to there,
//! and then report it ([`Tail`]).
#![forbid(unsafe_code)]

pub mod column;
pub mod columnar;
pub mod event;
#[cfg(test)]
mod example;
pub mod fates;
pub mod flows;
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

pub use event::{Capacity, EndedPacket, Fate, Flow, Header, LinkInfo, Outcome, Reason, WayInfo};
pub use input::Tail;
pub use log::LogError;
pub use packet::Layer;
pub use recorder::{CaptureTo, CloseError, Live, RecordError, Recorded, Recorder, RecorderOptions, Stalls};
pub use schema::{Contents, RunHeader, Schema};
pub use summary::Summary;
pub use table::{Converted, TableError};
pub use units::{Span, Time, WallTime};
pub use vocabulary::{Cause, ChannelState, Direction, LinkId, Loss, Sending, units};

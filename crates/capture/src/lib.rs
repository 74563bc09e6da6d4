//! Captures and the event log: the schema, writers, tolerant readers. No analysis.
//!
//! # Writing, on the emulator's thread
//!
//! ```text
//! let mut recorder = Recorder::start(header, Options { capture: .., events: .., ..Options::default() })?;
//! loop {
//!     // A packet comes to a link, before the pipeline sees it:
//!     recorder.entered(link, direction, number, at, length, bytes);
//!     // The pipeline's sink, delivered or lost, once for each packet and each copy:
//!     recorder.ended(&Ended { .. }, bytes);
//!     // Once per turn of the event loop, behind everything that was due until `now`: nothing earlier will come.
//!     recorder.settled(now);
//!     // To the next timer of the loop: when records that wait in memory should go to the disk.
//!     recorder.due();
//! }
//! let recorded = recorder.close(end)?;    // says what was written, or what went wrong with the disk
//! ```
//!
//! `entered` and `ended` copy into a chunk of memory and return; a thread of the recorder writes. `bytes` may be longer
//! than what is kept: the recorder cuts. Only a packet that was changed ([`Ended::is_unchanged`] is false) is copied
//! when it ends. If the disk is slower than the link for longer than [`Options::memory`] lasts, the calls block;
//! [`Recorder::stalls`] counts that, and the run is overloaded. Where nothing is to be written at all, count with a
//! [`Summary`] alone.
//!
//! ```text
//! pub struct Options {
//!     pub capture: Option<CaptureTo>,     // CaptureTo::Path(PathBuf) | CaptureTo::Writer(Box<dyn Write + Send>)
//!     pub snap_length: u32,               // bytes kept of a packet; default 65 535
//!     pub events: Option<PathBuf>,        // FILE.parquet; FILE.parquet.log during the run
//!     pub memory: usize,                  // bytes; default 256 MiB
//!     pub age: Span,                      // records wait in memory at most this long; default 200 ms
//! }
//! impl Recorder {                         // Send
//!     pub fn start(header: Header, options: Options) -> Result<Self, RecordError>;
//!     pub fn entered(&mut self, link: LinkId, direction: Direction, number: u64, at: Time, length: u32, bytes: &[u8]);
//!     pub fn ended(&mut self, ended: &Ended, bytes: &[u8]);
//!     pub fn note(&mut self, at: Time, text: &str);              // a parameter was changed live, ...
//!     pub fn describe(&mut self, link: &LinkInfo);               // a link was added or has other stages from here on
//!     pub fn settled(&mut self, now: Time);
//!     pub fn due(&self) -> Time;                                 // Time::NEVER if nothing waits
//!     pub fn live(&self) -> Live;                                // Clone + Send; Live::summary(&self) -> Summary
//!     pub fn stalls(&self) -> Stalls;                            // { count: u64, waited: Duration }
//!     pub fn close(self, end: Time) -> Result<Recorded, RecordError>;
//! }
//! ```
//!
//! # Reading
//!
//! * [`log::Reader`]: the event log of a run that goes on or was killed. [`table::recover`] makes the Parquet file of it.
//! * [`table::Reader`]: the event log of a run that was closed, as [`Fate`]s.
//! * [`packets::Reader`]: captures, pcapng and pcap, ours and others'.
//!
//! Files that end in the middle of a record are read up to there; the readers then say so in a note.
#![forbid(unsafe_code)]

pub mod event;
#[cfg(test)]
mod example;
pub mod fuzz;
mod input;
pub mod log;
pub mod packets;
pub mod pcapng;
pub mod recorder;
pub mod summary;
pub mod table;
mod time;

pub use event::{
    Channel, Direction, Ended, Fate, Flow, Header, Layer, LinkId, LinkInfo, Loss, Outcome, Reason, Sending,
    WayInfo,
};
pub use input::Tail;
pub use recorder::{CaptureTo, CloseError, Live, Options, RecordError, Recorded, Recorder, Stalls};
pub use summary::Summary;
pub use time::{Span, Time, WallTime};

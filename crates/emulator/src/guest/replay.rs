//! Events from the guest's kernel, shown to an observer as the loop would show them.

use super::message::{Event, Totals};
use crate::control::LinkChange;
use crate::event_loop::{Ending, Observer};
use crate::host::Unusable;
use link::Link;
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::Sender;

/// An observer at the end of a stream of events.
pub struct Replay<O> {
    observer: O,
    /// The links again, without packets. They show the observer what a change does to a link.
    mirrors: Vec<Link>,
    /// Bytes of an event that is not complete.
    rest: Vec<u8>,
    /// Changes that wait for their answer.
    changes: VecDeque<Asked>,
    totals: Option<Totals>,
}

/// A change that the kernel was told.
struct Asked {
    change: Box<LinkChange>,
    answer: Sender<Result<(), String>>,
}

impl<O: Observer> Replay<O> {
    /// Creates the end of a stream without links.
    pub fn new(observer: O) -> Self {
        let (mirrors, rest, changes) = Default::default();
        Self { observer, mirrors, rest, changes, totals: None }
    }

    /// Returns the observer.
    pub fn observer(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Adds a link, as it was built in the kernel.
    pub fn add(&mut self, link: Link) {
        self.mirrors.push(link);
    }

    /// Expects the answer to a change, behind those to earlier ones.
    pub fn expect(&mut self, change: Box<LinkChange>, answer: Sender<Result<(), String>>) {
        self.changes.push_back(Asked { change, answer });
    }

    /// Takes the next bytes of the stream, cut anywhere.
    ///
    /// # Errors
    /// If they are no events, or the kernel could not do what it was told.
    pub fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.rest.is_empty() {
            let rest = self.show_all(bytes)?;
            self.rest.extend_from_slice(&bytes[bytes.len() - rest..]);
            return Ok(());
        }
        let mut stream = std::mem::take(&mut self.rest);
        stream.extend_from_slice(bytes);
        let rest = self.show_all(&stream)?;
        stream.drain(..stream.len() - rest);
        self.rest = stream;
        Ok(())
    }

    /// Shows all complete events, and returns how many bytes are left.
    fn show_all(&mut self, mut stream: &[u8]) -> io::Result<usize> {
        while let Some(event) = Event::take(&mut stream)? {
            self.show(event)?;
        }
        Ok(stream.len())
    }

    fn show(&mut self, event: Event<'_>) -> io::Result<()> {
        match event {
            Event::Entered { way, number, now, body } => {
                self.observer.entered(way, number, &body.into_frame(), now);
            }
            Event::Ended { way, fate, body } => {
                self.observer.ended(way, &fate.with(body.into_frame()));
            }
            Event::Noted { way, record } => self.observer.noted(way, &record),
            Event::Block { way, block } => self.observer.block(way, &block),
            Event::Changed { way, now, mut made } => {
                let Some(Asked { change, answer }) = self.changes.pop_front() else { return Ok(()) };
                if let Some(mirror) = self.mirrors.get_mut(way.link()) {
                    made = made.and_then(|()| change.make(way, mirror, now));
                    self.observer.visited(way, mirror, now);
                }
                // An error means that nobody waits for the result any more.
                let _ = answer.send(made);
            }
            Event::Settled { now } => self.observer.settled(now),
            Event::Finished(totals) => self.totals = Some(*totals),
            Event::Failed(why) => return Err(io::Error::other(why)),
        }
        Ok(())
    }

    /// Returns whether the run has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.totals.is_some()
    }

    /// Returns the result of the run.
    ///
    /// # Errors
    /// If it has not ended.
    pub fn ending(mut self) -> io::Result<Ending<Unusable, O>> {
        let Some(totals) = self.totals else { return Err(io::Error::other("the run has not ended")) };
        let Totals { at, punctuality, pauses, counted, unusable, refused } = totals;
        self.observer.settled(at);
        let refused = refused.map(|(count, errno)| (count, io::Error::from_raw_os_error(errno)));
        let (driver, observer) = (Unusable(unusable), self.observer);
        Ok(Ending { driver, observer, punctuality, pauses, refused, counted, at })
    }
}

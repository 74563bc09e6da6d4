//! The thread that made a notified call: its descriptors and its memory.

use crate::caller::of_host;
use crate::kernel::{most_descriptors, read_memory, write_memory};
use crate::status::field;
use resoa_calls::interposer::{Detour, Piece, Stop};
use rustix::fd::{OwnedFd, RawFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, Signal, pidfd_getfd, pidfd_open, pidfd_send_signal};
use std::collections::HashMap;
use std::rc::Rc;

/// Maximum number of remembered threads. Only threads whose pidfd becomes invalid when they end are
/// remembered, because thread numbers are reused.
const REMEMBERED: usize = 64;

/// The pidfds of threads that have called before.
#[derive(Debug, Default)]
pub(crate) struct Threads(HashMap<i32, Rc<OwnedFd>>);

/// A thread. Data found by its number is valid only if the notification is still valid afterwards.
#[derive(Debug)]
pub(crate) struct Target {
    number: i32,
    descriptor: Rc<OwnedFd>,
}

/// A pidfd that gives access to a thread's files.
#[derive(Debug)]
struct Opened {
    descriptor: OwnedFd,
    /// Whether it becomes invalid when the thread ends. A pidfd of the whole process stays valid as
    /// long as the process lives, and by then the thread's number may belong to another process.
    ends_with_thread: bool,
}

/// Opens a pidfd of the thread itself, which Linux has since 6.9. Before, opens that of its
/// process, which has the same files unless the thread has unshared them.
fn open(number: i32) -> Result<Opened, Errno> {
    let flags = PidfdFlags::from_bits_retain(libc::PIDFD_THREAD);
    match pidfd_open(pid(number)?, flags) {
        Ok(descriptor) => Ok(Opened { descriptor, ends_with_thread: true }),
        Err(Errno::INVAL) => open_process(number),
        Err(error) => Err(error),
    }
}

/// Opens a pidfd of the process that a thread belongs to.
fn open_process(number: i32) -> Result<Opened, Errno> {
    let leader = || field(&status(number)?, "Tgid")?.parse().ok();
    let leader = leader().ok_or(Errno::SRCH)?;
    let descriptor = pidfd_open(pid(leader)?, PidfdFlags::empty())?;
    Ok(Opened { descriptor, ends_with_thread: leader == number })
}

fn pid(number: i32) -> Result<Pid, Errno> {
    Pid::from_raw(number).ok_or(Errno::SRCH)
}

fn status(number: i32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{number}/status")).ok()
}

/// A descriptor that does not exist, or that this process may not copy. The kernel continues the
/// call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unseen;

impl Threads {
    /// Returns the thread with this number and a copy of its descriptor `wanted`, or [`Unseen`] if
    /// a call on that descriptor cannot be answered here.
    ///
    /// # Errors
    /// If the thread has ended, or this process has no descriptors left.
    pub(crate) fn descriptor(
        &mut self,
        number: i32,
        wanted: RawFd,
    ) -> Detour<Result<(Target, OwnedFd), Unseen>> {
        // Negative numbers are no descriptors.
        if wanted < 0 {
            return Ok(Err(Unseen));
        }
        let get = |target: Target| match pidfd_getfd(&*target.descriptor, wanted, PidfdGetfdFlags::empty()) {
            Ok(copy) => Ok(Ok((target, copy))),
            Err(Errno::BADF | Errno::PERM) => Ok(Err(Unseen)),
            Err(error) => Err(lack(error)),
        };
        if let Some(descriptor) = self.0.get(&number).cloned() {
            match get(Target { number, descriptor }) {
                Err(Stop::Gone) => drop(self.0.remove(&number)),
                found => return found,
            }
        }
        get(self.target(number)?)
    }

    /// Returns the thread with this number.
    ///
    /// # Errors
    /// As [`Threads::descriptor`].
    pub(crate) fn target(&mut self, number: i32) -> Detour<Target> {
        Ok(self.opened(number, open(number).map_err(lack)?))
    }

    fn opened(&mut self, number: i32, opened: Opened) -> Target {
        let descriptor = Rc::new(opened.descriptor);
        if opened.ends_with_thread {
            if self.0.len() >= REMEMBERED {
                self.0.clear();
            }
            self.0.insert(number, Rc::clone(&descriptor));
        }
        Target { number, descriptor }
    }
}

/// Returns the result of a call whose thread cannot be accessed. If the thread exists it needs an
/// answer, or it would wait forever.
fn lack(error: Errno) -> Stop {
    match error {
        Errno::SRCH => Stop::Gone,
        error => Stop::Errno(of_host(error.raw_os_error())),
    }
}

impl Target {
    /// Returns a descriptor that is readable when the thread has ended.
    pub(crate) fn end(&self) -> &OwnedFd {
        &self.descriptor
    }

    /// Returns the contents of its `status`.
    pub(crate) fn status(&self) -> String {
        status(self.number).unwrap_or_default()
    }

    /// Returns whether it can have one more descriptor. `true` if that cannot be determined (before
    /// Linux 6.2).
    pub(crate) fn has_number_left(&self) -> bool {
        let Ok(most) = most_descriptors(self.number) else { return true };
        let folder = format!("/proc/{}/fd", self.number);
        // The kernel reports the count as the size of the folder, without a listing.
        let is_below = std::fs::metadata(&folder).is_ok_and(|folder| folder.len() < most);
        is_below || {
            // After the limit was lowered, there may be descriptors above it, which do not count.
            let numbers = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let below = numbers.filter(|entry| {
                let number = entry.file_name().to_str().and_then(|name| name.parse::<u64>().ok());
                number.is_some_and(|number| number < most)
            });
            below.count() as u64 != most
        }
    }

    /// Sends a signal to the thread, as the kernel does with SIGPIPE.
    pub(crate) fn signal(&self, signal: Signal) {
        // If the thread has ended, the signal is lost.
        let _ = pidfd_send_signal(&*self.descriptor, signal);
    }

    /// Reads its memory into `place`.
    ///
    /// # Errors
    /// EFAULT.
    pub(crate) fn read_in(&self, address: usize, place: &mut [u8]) -> Result<(), i32> {
        let length = place.len();
        if length > 0 && read_memory(self.number, address, place) != length {
            return Err(libc::EFAULT);
        }
        Ok(())
    }

    /// Returns bytes of its memory.
    ///
    /// # Errors
    /// EFAULT.
    pub(crate) fn read(&self, address: usize, length: usize) -> Result<Vec<u8>, i32> {
        let mut octets = vec![0; length];
        self.read_in(address, &mut octets)?;
        Ok(octets)
    }

    /// Writes bytes to its memory.
    ///
    /// # Errors
    /// EFAULT.
    pub(crate) fn write(&self, address: usize, octets: &[u8]) -> Result<(), i32> {
        self.scatter(&[Piece { address, length: octets.len() }], octets)
    }

    /// Returns the bytes in pieces of its memory.
    ///
    /// # Errors
    /// EFAULT.
    pub(crate) fn gather(&self, pieces: &[Piece]) -> Result<Vec<u8>, i32> {
        let mut octets = Vec::new();
        for piece in pieces {
            octets.extend(self.read(piece.address, piece.length)?);
        }
        Ok(octets)
    }

    /// Writes bytes to pieces of its memory, in order, as far as they reach.
    ///
    /// # Errors
    /// EFAULT.
    pub(crate) fn scatter(&self, pieces: &[Piece], mut octets: &[u8]) -> Result<(), i32> {
        for piece in pieces {
            let (here, rest) = octets.split_at(piece.length.min(octets.len()));
            octets = rest;
            if !here.is_empty() && write_memory(self.number, piece.address, here) != here.len() {
                return Err(libc::EFAULT);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn sleeper() -> (Child, i32) {
        let child = Command::new("sleep").arg("99").spawn().expect("it is everywhere");
        let number = child.id().cast_signed();
        (child, number)
    }

    fn end(mut child: Child) {
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
    }

    /// A number that is reused refers to the thread that has it now.
    #[test]
    fn numbers_come_again() {
        let (first, number) = sleeper();
        let gone = Rc::new(open(number).expect("it runs").descriptor);
        end(first);
        let (second, number) = sleeper();
        let mut threads = Threads(HashMap::from([(number, gone)]));
        assert!(threads.descriptor(number, 0).expect("it is there").is_ok());
        assert_eq!(threads.descriptor(number, 99).expect("it is there").err(), Some(Unseen));
        end(second);
        assert_eq!(threads.descriptor(number, 0).err(), Some(Stop::Gone));
        assert_eq!(threads.target(number).err(), Some(Stop::Gone));
    }

    /// Before Linux 6.9 a thread is accessed by its process's pidfd. That pidfd is remembered only
    /// for the thread with the process's number: another thread's number may be reused while the
    /// process lives.
    #[test]
    fn threads_before_they_had_descriptors() {
        let (told, number) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            told.send(rustix::thread::gettid().as_raw_pid()).expect("it waits");
            let _ = ended.recv();
        });
        let (number, process) = (number.recv().expect("it says so"), std::process::id().cast_signed());
        let mut threads = Threads::default();
        for (number, is_remembered) in [(number, false), (process, true)] {
            let target = threads.opened(number, open_process(number).expect("it runs"));
            assert!(pidfd_getfd(target.end(), 0, PidfdGetfdFlags::empty()).is_ok());
            assert_eq!(threads.0.contains_key(&number), is_remembered);
        }
        assert!(threads.target(number).is_ok());
        assert!(threads.0.contains_key(&number) || open(number).is_ok_and(|opened| !opened.ends_with_thread));
        drop(end);
        thread.join().expect("it ends");
    }

    /// A waiting thread needs an answer.
    #[test]
    fn what_is_missing() {
        assert_eq!(lack(Errno::SRCH), Stop::Gone);
        assert_eq!(lack(Errno::MFILE), Stop::Errno(libc::ENFILE));
        assert_eq!(lack(Errno::NOMEM), Stop::Errno(libc::ENOMEM));
    }

    /// Mapped memory is read and written; unmapped memory is EFAULT.
    #[test]
    fn memory() {
        let number = std::process::id().cast_signed();
        let target = Threads::default().target(number).expect("it is this one");
        let here = std::ptr::from_ref(b"abcdef").expose_provenance();
        let pieces = [Piece { address: here, length: 2 }, Piece { address: here + 4, length: 1 }];
        assert_eq!(target.gather(&pieces), Ok(b"abe".to_vec()));
        assert_eq!(target.read(8, 1), Err(libc::EFAULT));
        assert_eq!(target.read(8, 0), Ok(Vec::new()));
        assert_eq!(target.write(8, b"x"), Err(libc::EFAULT));
        assert_eq!(target.write(8, b""), Ok(()));
    }
}

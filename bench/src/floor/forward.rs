//! The bare forwarder: one thread that only moves packets between two TUN devices.
//!
//! It blocks in one epoll, reads until no packet is left, and allocates nothing once it runs. With
//! a delay, it keeps packets in one FIFO per direction. The timeout of the epoll (`epoll_pwait2`,
//! in nanoseconds) ends its sleep when the first packet is due. With a timerfd in the epoll
//! instead, packets left 8 us later here.

use nix::sys::eventfd::EventFd;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::{Errno, read, write};
use rustix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Most packets read from one device before the other is served.
const IN_A_ROW: usize = 64;

/// Buffer size of a packet in bytes: MTU 1500, with room to spare.
const ROOM: usize = 2048;

/// Epoll data of the event that ends the forwarder; devices have their numbers.
const ENDED: u64 = 2;

/// A packet that is delayed.
struct Waiting {
    due: Duration,
    bytes: Vec<u8>,
}

/// Moves packets between the two devices, each `delay` after its arrival, until `ended` is
/// readable.
pub fn forward(devices: [&OwnedFd; 2], delay: Duration, ended: &EventFd) -> io::Result<()> {
    // 1 ns: by default the kernel may add 50 us to every sleep.
    nix::sys::prctl::set_timerslack(1)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (number, device) in devices.iter().enumerate() {
        epoll::add(&epoll, device, epoll::EventData::new_u64(number as u64), epoll::EventFlags::IN)?;
    }
    epoll::add(&epoll, ended, epoll::EventData::new_u64(ENDED), epoll::EventFlags::IN)?;
    let mut events = Vec::with_capacity(devices.len() + 1);
    let mut leaving = [VecDeque::new(), VecDeque::new()];
    let mut free = Vec::new();
    loop {
        events.clear();
        match epoll::wait(&epoll, spare_capacity(&mut events), sleep(&leaving).as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let from = match event.data.u64() {
                ENDED => return Ok(()),
                device => device as usize,
            };
            let to = 1 - from;
            for _ in 0..IN_A_ROW {
                let mut bytes: Vec<u8> = free.pop().unwrap_or_default();
                bytes.clear();
                bytes.reserve(ROOM);
                if read(devices[from], spare_capacity(&mut bytes)).is_err() {
                    free.push(bytes);
                    break;
                }
                if delay.is_zero() {
                    send(devices[to], bytes, &mut free);
                } else {
                    leaving[to].push_back(Waiting { due: now() + delay, bytes });
                }
            }
        }
        for (to, leaving) in leaving.iter_mut().enumerate() {
            let now = now();
            while let Some(packet) = leaving.pop_front_if(|packet| packet.due <= now) {
                send(devices[to], packet.bytes, &mut free);
            }
        }
    }
}

/// Writes a packet; if the device refuses it, it is lost.
fn send(device: &OwnedFd, bytes: Vec<u8>, free: &mut Vec<Vec<u8>>) {
    let _ = write(device, &bytes);
    free.push(bytes);
}

/// Returns the time until the next packet must leave; `None` if there is none.
fn sleep(leaving: &[VecDeque<Waiting>; 2]) -> Option<Timespec> {
    let next = leaving.iter().filter_map(VecDeque::front).map(|packet| packet.due).min()?;
    let left = next.saturating_sub(now());
    Some(Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) })
}

fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

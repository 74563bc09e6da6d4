//! The library that the kernel of a guest opens at boot: [`emulator::guest::KernelLoop`] behind a C
//! interface (`kernel/src/arch/um/drivers/lasthop.h` declares the same).
//!
//! * The kernel calls one function at a time, with interrupts off.
//! * A stack of the kernel has 16 KiB, and building a link alone needs more. So what calls the loop
//!   runs on a stack of this library ([`stack`]); functions that only look do not.
//! * Slices that come in are copied before a function returns. Slices that go out stay valid until
//!   the call that is named there.
//! * A panic cannot unwind into the kernel: it prints its message on the console and aborts, which
//!   ends the guest.

mod stack;

use emulator::guest::{KernelLoop, Outgoing};
use stack::on_own_stack;
use std::slice;

/// Version of this interface. The kernel refuses a library with another one.
const INTERFACE: u64 = 1;

/// Returns the version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_link_interface() -> u64 {
    INTERFACE
}

/// Creates a loop.
#[unsafe(no_mangle)]
pub extern "C" fn lasthop_link_new() -> *mut KernelLoop {
    on_own_stack(|| Box::into_raw(Box::default()))
}

/// Frees a loop.
///
/// # Safety
/// `its` is from [`lasthop_link_new`] and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_link_free(its: *mut KernelLoop) {
    // SAFETY: by the contract of this function.
    on_own_stack(|| drop(unsafe { Box::from_raw(its) }));
}

/// Carries out the order in these bytes.
///
/// # Safety
/// `its` is a loop, and `bytes` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_link_order(its: *mut KernelLoop, now: u64, bytes: *const u8, length: u64) {
    // SAFETY: by the contract of this function.
    let (its, bytes) = unsafe { (&mut *its, slice::from_raw_parts(bytes, length as usize)) };
    on_own_stack(|| its.order(now, bytes));
}

/// Takes a packet that the device with this number sends.
///
/// # Safety
/// `its` is a loop, and `bytes` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_link_packet(
    its: *mut KernelLoop,
    port: u32,
    now: u64,
    bytes: *const u8,
    length: u64,
) {
    // SAFETY: by the contract of this function.
    let (its, bytes) = unsafe { (&mut *its, slice::from_raw_parts(bytes, length as usize)) };
    on_own_stack(|| its.packet(port, now, bytes));
}

/// Does everything that is due.
///
/// # Safety
/// `its` is a loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_link_turn(its: *mut KernelLoop, now: u64) {
    // SAFETY: by the contract of this function.
    let its = unsafe { &mut *its };
    on_own_stack(|| its.turn(now));
}

/// What the kernel does after a call.
#[repr(C)]
pub struct ToDo {
    /// When to call [`lasthop_link_turn`]; the largest number for never.
    due: u64,
    /// Number of packets that leave now ([`lasthop_link_outgoing`]).
    outgoing: u64,
    /// Whether to wake the process that reads events: 0 or 1.
    readable: u64,
}

/// Returns what the kernel does now.
///
/// # Safety
/// `its` is a loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_link_to_do(its: *mut KernelLoop) -> ToDo {
    // SAFETY: by the contract of this function.
    let its = unsafe { &mut *its };
    ToDo { due: its.due(), outgoing: its.outgoing().len() as u64, readable: its.is_readable().into() }
}

/// A packet that leaves.
#[repr(C)]
pub struct Leaving {
    port: u64,
    bytes: *const u8,
    length: u64,
}

/// Returns the packet at this place among those that leave. Its bytes stay valid until
/// [`lasthop_link_sent`].
///
/// # Safety
/// `its` is a loop, and `place` is less than the number of packets that leave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_link_outgoing(its: *mut KernelLoop, place: u64) -> Leaving {
    // SAFETY: by the contract of this function.
    let Outgoing { port, bytes } = &unsafe { &mut *its }.outgoing()[place as usize];
    Leaving { port: (*port).into(), bytes: bytes.as_ptr(), length: bytes.len() as u64 }
}

/// Says that the devices have been handed all packets, and that they refused `refused` of them, the
/// last with this errno.
///
/// # Safety
/// `its` is a loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_link_sent(its: *mut KernelLoop, refused: u64, errno: i32) {
    // SAFETY: by the contract of this function.
    let its = unsafe { &mut *its };
    on_own_stack(|| its.sent(refused, errno));
}

/// Returns the events until now and writes their length. They stay valid until the next call of
/// this function.
///
/// # Safety
/// `its` is a loop, and `length` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lasthop_link_events(its: *mut KernelLoop, length: *mut u64) -> *const u8 {
    // SAFETY: by the contract of this function.
    let events = unsafe { &mut *its }.events();
    // SAFETY: by the contract of this function.
    unsafe { *length = events.len() as u64 };
    events.as_ptr()
}

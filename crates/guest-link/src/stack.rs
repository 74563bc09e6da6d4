//! A stack for what the kernel calls.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of the stack. The host gives memory only to the pages that are used.
const SIZE: usize = 8 << 20;

/// Address of the end of the stack; 0 before the first call.
static END: AtomicUsize = AtomicUsize::new(0);

std::arch::global_asm!(
    // lasthop_on_stack(function, argument, end): calls function(argument) with the stack pointer at
    // `end`. The frame pointer, which a function must preserve, keeps the old stack pointer.
    ".globl lasthop_on_stack",
    ".hidden lasthop_on_stack",
    "lasthop_on_stack:",
    "push rbp",
    "mov rbp, rsp",
    "mov rsp, rdx",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "mov rsp, rbp",
    "pop rbp",
    "ret",
);

unsafe extern "C" {
    fn lasthop_on_stack(function: extern "C" fn(*mut u8), argument: *mut u8, end: usize);
}

/// A function that has not been called yet, or its result.
struct Call<F, T> {
    function: Option<F>,
    result: Option<T>,
}

extern "C" fn call<F: FnOnce() -> T, T>(argument: *mut u8) {
    // SAFETY: `on_own_stack` passes a `Call` of these types, which outlives this function.
    let call = unsafe { &mut *argument.cast::<Call<F, T>>() };
    call.result = call.function.take().map(|function| function());
}

/// Calls `function` on this library's stack. Calls must not be nested or come from two threads: the
/// kernel makes one at a time.
pub fn on_own_stack<F: FnOnce() -> T, T>(function: F) -> T {
    let mut end = END.load(Ordering::Relaxed);
    if end == 0 {
        end = new_stack();
        END.store(end, Ordering::Relaxed);
    }
    let mut its = Call { function: Some(function), result: None };
    // SAFETY: `end` is the aligned end of a stack that nothing else uses now; `call` gets the
    // argument that it expects, and does not unwind: a panic in an `extern "C"` function aborts.
    unsafe { lasthop_on_stack(call::<F, T>, (&raw mut its).cast(), end) };
    its.result.expect("the function was called")
}

/// Maps a stack whose lowest page cannot be used, so that an overflow ends the guest.
fn new_stack() -> usize {
    let (access, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: a new mapping at an address of the host's choice.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), SIZE, access, flags, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED, "no memory for a stack");
    // SAFETY: the first page of this mapping.
    unsafe { libc::mprotect(start, 4096, libc::PROT_NONE) };
    start as usize + SIZE
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    /// Set in the process that panics.
    const CHILD: &str = "LASTHOP_PANICS_ON_ITS_STACK";

    /// Uses at least `depth` KiB of stack, and returns `depth`.
    fn deep(depth: usize) -> usize {
        let room = black_box([0_u8; 1024]);
        if depth == 0 { room[0].into() } else { 1 + deep(depth - 1) + usize::from(room[1]) }
    }

    /// One test, because calls from two threads must not meet. A thread has 2 MiB of stack, and
    /// half of the 8 MiB is more than that.
    #[test]
    fn the_stack_is_large_and_a_panic_on_it_ends_the_process_with_its_message() {
        if std::env::var_os(CHILD).is_some() {
            on_own_stack(|| panic!("link broken"));
        }
        assert_eq!(on_own_stack(|| deep(4096)), 4096);
        let name = "stack::tests::the_stack_is_large_and_a_panic_on_it_ends_the_process_with_its_message";
        let this = std::env::current_exe().expect("this program");
        let child = Command::new(this).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output();
        let child = child.expect("it starts");
        assert_eq!(child.status.signal(), Some(libc::SIGABRT));
        let said = String::from_utf8_lossy(&child.stderr).into_owned();
        assert!(said.contains("link broken"), "{said}");
    }
}

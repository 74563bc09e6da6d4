//! `libresoa_preload.so`: a library for `LD_PRELOAD` that forwards the socket calls of an
//! unmodified program to the resoa agent.
//!
//! The variable `LASTHOP_RESOA` names the agent. Without that variable the program behaves as if
//! the library were not loaded.
//!
//! The program holds AF_UNIX descriptors; `resoa_calls` describes their states. The kernel handles
//! data, `poll`, `fork`, `exec` and the last `close`. This library replaces the calls that mean
//! something else on such a descriptor than on TCP or UDP:
//!
//! | calls | module |
//! |---|---|
//! | `socket`, `accept` | `creating` |
//! | `bind`, `connect`, `listen`, `shutdown`, names, options, `ioctl` | `control` |
//! | `write`, `send` and their variants | `sending`; differences of streams in `stream` |
//! | `read`, `recv` and their variants | `receiving`; differences of streams in `stream` |
//! | `close`, `dup`, `fcntl` | `numbers`: hints about numbers, and the wait of SO_LINGER |
//! | `prctl` | `confined`: whether the program may still make system calls other than its own |
//! | `getaddrinfo`, `gethostbyname`, `getnameinfo` | `names` |
//!
//! [`resoa_calls::interposer`] implements the rules of the calls. `program` gives it access to this
//! process.
//!
//! Guarantees:
//!
//! * A call waits for the agent only if it needs the agent. Data transfer costs one look-up in a
//!   table of descriptor numbers.
//! * Entries of that table are hints. A number may have become another socket or a file unnoticed
//!   (`fclose`, `exec`, a child after `vfork`). So before a call departs from what the C library
//!   does, it reads the descriptor's name (`SocketName::of`).
//! * There is no lock, and no memory is shared with the C library's own state. Calls may come from
//!   any thread, after `fork`, in a signal handler, and before any constructor has run.
//! * Calls do not allocate, because a signal handler may have interrupted the allocator.
//!   Exceptions: `setsockopt`; `getsockopt` of more than 512 bytes; `ioctl`; name look-ups; calls
//!   on datagrams with more than eight pieces; and `sendto` from a connected socket to another
//!   address.
//! * If the agent does not answer, calls fail with ENETDOWN, and look-ups with EAI_AGAIN. They
//!   never fall back to the host's own network.
//!
//! The library does not see calls that bypass the C library (static programs, Go, `io_uring`). Nor
//! does it see calls that the C library makes itself: stdio's reads and writes on a socket, which
//! need no repair before an error, and the resolver behind `res_query`.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "each block passes a caller's arguments on to the function of that name, or reads them as that function would; a block that does more says why it may"
)]
#![expect(
    clippy::cast_possible_wrap,
    reason = "lengths and counts that the kernel bounds far below become the `int` in which C gives them back"
)]
#![expect(
    clippy::cast_ptr_alignment,
    reason = "C's addresses and messages are octets that lie where their type may, or are read unaligned"
)]

mod agent;
mod confined;
mod control;
mod creating;
mod errno;
mod names;
mod numbers;
mod program;
mod real;
mod receiving;
mod sending;
mod sockets;
mod stream;
mod table;
mod values;

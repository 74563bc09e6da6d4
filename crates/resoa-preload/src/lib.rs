//! `libresoa_preload.so`, loaded by `LD_PRELOAD` before the C library: socket calls of an
//! unmodified program are asked of the agent of remote sockets that `LASTHOP_RESOA` names. Without
//! that variable everything is as if the library were not there.
//!
//! What a program holds is a descriptor of AF_UNIX (`resoa_calls` says in which state). Data,
//! `poll`, `fork`, `exec` and the last `close` are the kernel's business; here are the calls that
//! mean something else on such a descriptor than on TCP or UDP:
//!
//! | calls | where |
//! |---|---|
//! | `socket`, `accept` | `creating` |
//! | `bind`, `connect`, `listen`, `shutdown`, names, `getsockopt`, `setsockopt`, `ioctl` | `control` |
//! | `write`, `send` and their like | `sending`; what differs of streams in `stream` |
//! | `read`, `recv` and their like | `receiving`; likewise |
//! | `close`, `dup`, `fcntl` | `numbers`: what is remembered of a number, and the wait of SO_LINGER |
//! | `prctl` | `confined`: whether the program may still make calls beside its own |
//! | `getaddrinfo`, `gethostbyname`, `getnameinfo` | `names` |
//!
//! The rules of the calls are those of [`resoa_calls::interposer`]; `program` lets it reach this
//! process.
//!
//! What is promised:
//!
//! * No call waits for the agent that does not need it: data that flows costs one look at a table
//!   of numbers.
//! * That table is a hint. A number may have become another socket or a file behind our back
//!   (`fclose`, `exec`, a child after `vfork`), so that before anything is done differently than by
//!   the C library, the descriptor's name is read (`SocketName::of`).
//! * There is no lock, and no memory is shared with the C library's own state: calls may come from
//!   any thread, after `fork`, in a handler of a signal and before any constructor has run.
//! * No memory is asked of the allocator either, which a handler may have interrupted, but by
//!   `setsockopt`, by `getsockopt` of more than 512 octets, `ioctl`, look-ups of names, and of
//!   datagrams by those of more than eight pieces, and by `sendto` of a connected socket to
//!   elsewhere.
//! * Where the agent does not answer, calls fail (ENETDOWN; names: EAI_AGAIN). Nothing goes to the
//!   host's own network instead.
//!
//! Not seen are calls that pass the C library by (static programs, Go, `io_uring`) and those that
//! the C library makes itself (stdio's reads and writes on a socket, which need no repair before an
//! error, and the resolver behind `res_query`).

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

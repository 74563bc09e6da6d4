//! A Linux kernel whose clock jumps over idle time: User-Mode Linux in time-travel mode (design,
//! "One binary, two clocks").
//!
//! What runs in it cannot tell it from a host, but hours of waiting take seconds, and the same job
//! gives the same bytes again.
//!
//! ```text
//! caller ─ Boot::start ─ outer process (netlab::isolation) ─ boot: private file system, then exec of ─ linux
//!                                                                                                      │ init
//!                                 folder that both can write: order.json, … ── ended.json ◄── guest ───┘
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`kernel`] | the kernel: its source, how it is built, and where it is kept |
//! | [`order`] | what a guest is to do, and how it ended: the files between both sides |
//! | [`instance`] | a guest from outside: boot it, see how far it is, tell a dead one |
//! | `pace` | whether its clock moves, moves slowly, or stands still |
//! | [`boot`], [`root`], `filter` | from a process of the host to the kernel: what of the host it may see and ask for, and what may differ |
//! | [`guest`] | the first process of the guest |

pub mod boot;
mod filter;
pub mod guest;
pub mod instance;
pub mod kernel;
pub mod order;
mod pace;
pub mod root;

pub use instance::{Advance, Boot, Ended, Error, Instance};
pub use order::Order;
pub use pace::Slow;

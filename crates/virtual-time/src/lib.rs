//! A Linux kernel whose clock jumps over idle time: User-Mode Linux in time-travel mode (design,
//! "One binary, two clocks").
//!
//! To programs in it, it looks like a host. But hours of waiting take seconds, and the same job
//! gives byte-identical results.
//!
//! ```text
//! caller ─ Boot::start ─ outer process (netlab::isolation) ─ boot: private file system, then exec of ─ linux
//!                                                                                                      │ init
//!                                 folder that both can write: order.json, … ── ended.json ◄── guest ───┘
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`kernel`] | the kernel: its source, its build and its cache |
//! | [`order`] | the order to a guest, and how the guest ended: the files shared by both sides |
//! | [`instance`] | a guest as seen from the host: booting it, watching its clock |
//! | `pace` | whether the guest's clock moves, moves slowly, or stands still |
//! | [`boot`], [`root`], `filter` | starting the kernel: what it may see and request of the host |
//! | [`guest`] | the first process of the guest |

pub mod boot;
mod filter;
pub mod guest;
pub mod instance;
pub mod kernel;
pub mod order;
mod pace;
pub mod root;

pub use instance::{Advance, Boot, EndedGuest, Error, Instance};
pub use order::Order;
pub use pace::Slow;

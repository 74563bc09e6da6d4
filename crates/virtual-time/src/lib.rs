//! A Linux kernel whose clock jumps over idle time: User-Mode Linux in time-travel mode.
//!
//! [`kernel`] builds it and keeps it in a cache. What runs in it cannot tell it from a host, but hours of waiting take seconds,
//! and the same job gives the same bytes again.

pub mod kernel;

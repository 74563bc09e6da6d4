//! The kernel: its source, how it is built, and where it is kept.

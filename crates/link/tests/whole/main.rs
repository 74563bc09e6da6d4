//! Whole pipelines through the public interface: what holds of a row of stages, whichever they are.

mod drive;
mod live;
mod properties;
mod seeds;
mod tcp_lite;

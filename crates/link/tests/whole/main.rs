//! Tests of whole pipelines through the public interface: properties of any row of stages.

mod drive;
mod live;
mod properties;
mod seeds;
mod tcp_lite;

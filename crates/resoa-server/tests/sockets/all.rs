//! Tests that run over each carrier, under confinement and with FINs held. The root of each test
//! crate provides the carrier as `carried`.

mod closing;
pub mod guest;
mod listening;
pub mod rig;
mod sweep;
mod transfer;
mod window;

//! What is tested over each carrier, under confinement and with FINs held; the crate's root has the
//! carrier as `carried`.

mod closing;
pub mod guest;
mod listening;
pub mod rig;
mod sweep;
mod transfer;
mod window;

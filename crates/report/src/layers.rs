//! The multi-layer view as a page: sender, receiver and link layer on one time axis (LL-17, LL-18;
//! Ludwig 3.2.1), with any number of points.
//!
//! ```text
//! capture_analysis::layers::graph::View ─► levels and tiles ─► one HTML file ─► web/src/layers draws the tiles that a window needs
//! ```
//!
//! No browser draws ten million points in the time of a frame, and it does not have to: a screen
//! has a thousand columns. So each graph is divided into levels ([`pyramid`]) of tiles ([`tile`]),
//! and the page reads the tiles that the window needs. In the file, the coarsest tiles come before
//! the script and all others after it. So the page draws before it has been read to its end. It
//! opens from a disk, without a network.

mod grid;
mod page;
mod pyramid;
mod thin;
mod tile;
mod whole;

pub use page::{WriteError, write};

//! Pictures and sound over TCP Lite (S. Alfredsson, *TCP Lite*, 2001, sections 3.2 and 5.1):
//! transfer time against quality.
//!
//! * [`receive`] is an HTTP client that receives headers undamaged and accepts damage after them.
//!   Each [`medium`] defines its header.
//! * [`lenient`] decodes as much of a damaged JPEG picture as possible.
//! * [`quality`] measures the effect of damage: PSNR, SSIM, SNR.
//! * [`test_picture`] and [`test_sound`] are the media that are sent.
//! * [`report`] shows the results on one page.

pub mod http;
pub mod lenient;
pub mod medium;
pub mod pixels;
pub mod quality;
pub mod receive;
pub mod report;
pub mod test_picture;
pub mod test_sound;

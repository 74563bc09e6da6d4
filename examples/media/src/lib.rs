//! Pictures and sound over TCP Lite (S. Alfredsson, *TCP Lite*, 2001, sections 3.2 and 5.1):
//! transfer time against quality.
//!
//! * [`receive`] is an HTTP client that keeps headers whole and welcomes damage after them; what a
//!   header is, each [`medium`] says.
//! * [`lenient`] decodes a JPEG picture that was damaged, as far as it goes.
//! * [`quality`] says what the damage costs: PSNR, SSIM, SNR.
//! * [`test_picture`] and [`test_sound`] are what is sent.
//! * [`report`] draws all of that as one page.

pub mod http;
pub mod lenient;
pub mod medium;
pub mod pixels;
pub mod quality;
pub mod receive;
pub mod report;
pub mod test_picture;
pub mod test_sound;

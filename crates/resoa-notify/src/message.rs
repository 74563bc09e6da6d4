//! `struct msghdr` and `struct mmsghdr` in a program's memory, of all 64-bit architectures.

use crate::target::{Piece, Target};

/// Octets of a `struct msghdr`.
const HEADER: usize = 56;
/// Octets of a `struct mmsghdr`: the same, and what its call came to.
pub(crate) const WITH_LENGTH: u64 = 64;
/// Where in a `struct mmsghdr` that is.
pub(crate) const LENGTH: u64 = 56;
/// Octets of a `struct iovec`.
const VECTOR: usize = 16;
/// Pieces at most (`UIO_MAXIOV`).
const PIECES: u64 = 1024;
/// Where the length of the address is.
const NAME_LENGTH: u64 = 8;
/// Where what comes beside the data is.
const CONTROL: usize = 32;
/// Where the length of what comes beside the data is.
const CONTROL_LENGTH: u64 = 40;
/// Where the flags are.
const FLAGS: u64 = 48;

/// A message of `sendmsg` or `recvmsg`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    at: u64,
    /// Where its address is, or is wanted; 0 if nowhere.
    pub(crate) name: u64,
    /// Octets there.
    pub(crate) name_length: i32,
    /// Its data.
    pub(crate) data: Vec<Piece>,
    /// Its control messages, or where they are wanted: nowhere is no room.
    pub(crate) control: Piece,
}

fn word(octets: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(*octets[at..].first_chunk().expect("it has been read"))
}

/// The address, its length, and the vector with its length.
fn parts(header: &[u8]) -> (u64, i32, u64, u64) {
    (word(header, 0), word(header, 8) as i32, word(header, 16), word(header, 24))
}

/// Where its control messages are.
fn control(header: &[u8]) -> Piece {
    let (address, length) = (word(header, CONTROL), word(header, CONTROL_LENGTH as usize) as usize);
    Piece { address, length: if address == 0 { 0 } else { length } }
}

fn pieces(vector: &[u8]) -> Vec<Piece> {
    let piece = |octets: &[u8]| Piece { address: word(octets, 0), length: word(octets, 8) as usize };
    vector.chunks_exact(VECTOR).map(piece).collect()
}

/// The pieces from octet `skip` on, `most` octets at most.
pub(crate) fn window(pieces: &[Piece], mut skip: usize, mut most: usize) -> Vec<Piece> {
    let mut window = Vec::new();
    for piece in pieces {
        let skipped = skip.min(piece.length);
        let length = (piece.length - skipped).min(most);
        if length > 0 {
            window.push(Piece { address: piece.address.wrapping_add(skipped as u64), length });
        }
        skip -= skipped;
        most -= length;
    }
    window
}

/// Octets of all pieces.
pub(crate) fn total(pieces: &[Piece]) -> usize {
    pieces.iter().fold(0, |total, piece| total.saturating_add(piece.length))
}

impl Message {
    /// Reads it.
    ///
    /// # Errors
    /// EFAULT; EMSGSIZE if it has too many pieces; EINVAL if it says of one, or of its address,
    /// that there are less than no octets.
    pub(crate) fn read(target: &Target, at: u64) -> Result<Self, i32> {
        let header = target.read(at, HEADER)?;
        let (name, name_length, vector, count) = parts(&header);
        if name != 0 && name_length < 0 {
            return Err(libc::EINVAL);
        }
        if count > PIECES {
            return Err(libc::EMSGSIZE);
        }
        let data = pieces(&target.read(vector, count as usize * VECTOR)?);
        if data.iter().any(|piece| isize::try_from(piece.length).is_err()) {
            return Err(libc::EINVAL);
        }
        Ok(Self { at, name, name_length, data, control: control(&header) })
    }

    /// Says what was received: the length of the address, what comes beside the data (there is room
    /// for it), and the flags.
    ///
    /// # Errors
    /// EFAULT.
    pub(crate) fn tell(
        &self,
        target: &Target,
        name_length: usize,
        control: &[u8],
        flags: i32,
    ) -> Result<(), i32> {
        target.write(self.control.address, control)?;
        target.write(self.at + NAME_LENGTH, &(name_length as u32).to_ne_bytes())?;
        target.write(self.at + CONTROL_LENGTH, &(control.len() as u64).to_ne_bytes())?;
        target.write(self.at + FLAGS, &flags.to_ne_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The layout is the one of the C library.
    #[test]
    fn layout() {
        use std::mem::{offset_of, size_of};
        assert_eq!(size_of::<libc::msghdr>(), HEADER);
        assert_eq!(size_of::<libc::mmsghdr>() as u64, WITH_LENGTH);
        assert_eq!(offset_of!(libc::mmsghdr, msg_len) as u64, LENGTH);
        assert_eq!(offset_of!(libc::msghdr, msg_namelen) as u64, NAME_LENGTH);
        assert_eq!(offset_of!(libc::msghdr, msg_iov), 16);
        assert_eq!(offset_of!(libc::msghdr, msg_iovlen), 24);
        assert_eq!(offset_of!(libc::msghdr, msg_control), CONTROL);
        assert_eq!(offset_of!(libc::msghdr, msg_controllen) as u64, CONTROL_LENGTH);
        assert_eq!(offset_of!(libc::msghdr, msg_flags) as u64, FLAGS);
        assert_eq!(size_of::<libc::iovec>(), VECTOR);
        let header: Vec<u8> = [7_u64, 0xffff_ffff_0000_0010, 9, 2].map(u64::to_ne_bytes).concat();
        assert_eq!(parts(&header), (7, 16, 9, 2));
        let vector: Vec<u8> = [100_u64, 3, 200, 5].map(u64::to_ne_bytes).concat();
        let read = [Piece { address: 100, length: 3 }, Piece { address: 200, length: 5 }];
        assert_eq!(pieces(&vector), read);
    }

    /// A part of a message goes on where the last one ended.
    #[test]
    fn windows_follow_each_other() {
        let piece = |address, length| Piece { address, length };
        let all = [piece(100, 3), piece(300, 0), piece(200, 5)];
        assert_eq!(total(&all), 8);
        assert_eq!(window(&all, 0, 2), [piece(100, 2)]);
        assert_eq!(window(&all, 2, 2), [piece(102, 1), piece(200, 1)]);
        assert_eq!(window(&all, 4, 99), [piece(201, 4)]);
        assert_eq!(window(&all, 8, 99), []);
    }
}

//! `struct msghdr` and `struct mmsghdr` in a program's memory, as on all 64-bit architectures.

use crate::target::Target;
use resoa_calls::interposer::messages::MOST;
use resoa_calls::interposer::{Given, Message, Piece};

/// Size of a `struct msghdr`, in bytes.
const HEADER: usize = 56;
/// Offset of the result in a `struct mmsghdr`.
pub(crate) const LENGTH: usize = 56;
/// Size of a `struct iovec`, in bytes.
const VECTOR: usize = 16;
/// Offset of the address's length.
const NAME_LENGTH: usize = 8;
/// Offset of the pointer to the control messages.
const CONTROL: usize = 32;
/// Offset of the control messages' length.
const CONTROL_LENGTH: usize = 40;
/// Offset of the flags.
const FLAGS: usize = 48;

fn word(octets: &[u8], at: usize) -> usize {
    usize::from_ne_bytes(*octets[at..].first_chunk().expect("it has been read"))
}

/// Returns the address, and the vector's place and length.
fn parts(header: &[u8]) -> (Given, usize, usize) {
    (
        Given { at: word(header, 0), length: (word(header, 8) as u32).cast_signed() },
        word(header, 16),
        word(header, 24),
    )
}

/// Returns the place of the control messages.
fn control(header: &[u8]) -> Piece {
    Piece { address: word(header, CONTROL), length: word(header, CONTROL_LENGTH) }
}

fn pieces(vector: &[u8]) -> Vec<Piece> {
    let piece = |octets: &[u8]| Piece { address: word(octets, 0), length: word(octets, 8) };
    vector.chunks_exact(VECTOR).map(piece).collect()
}

/// Returns the pieces from byte `skip` on, at most `most` bytes.
pub(crate) fn window(pieces: &[Piece], mut skip: usize, mut most: usize) -> Vec<Piece> {
    let mut window = Vec::new();
    for piece in pieces {
        let skipped = skip.min(piece.length);
        let length = (piece.length - skipped).min(most);
        if length > 0 {
            window.push(Piece { address: piece.address.wrapping_add(skipped), length });
        }
        skip -= skipped;
        most -= length;
    }
    window
}

/// Reads a message of `sendmsg` or `recvmsg`.
///
/// # Errors
/// EFAULT; EMSGSIZE if it has too many pieces; EINVAL if the length of a piece or of the address is
/// negative.
pub(crate) fn read(target: &Target, at: usize) -> Result<Message<Vec<Piece>>, i32> {
    let mut header = [0; HEADER];
    target.read_in(at, &mut header)?;
    let (name, vector, count) = parts(&header);
    if name.at != 0 && name.length < 0 {
        return Err(libc::EINVAL);
    }
    if count > MOST {
        return Err(libc::EMSGSIZE);
    }
    let pieces = pieces(&target.read(vector, count * VECTOR)?);
    if pieces.iter().any(|piece| isize::try_from(piece.length).is_err()) {
        return Err(libc::EINVAL);
    }
    Ok(Message { name, pieces, control: control(&header) })
}

/// Writes the results of a receiving call: the lengths of the address and of the control messages,
/// and the flags.
///
/// # Errors
/// EFAULT.
pub(crate) fn tell(
    target: &Target,
    at: usize,
    name_length: usize,
    control_length: usize,
    flags: i32,
) -> Result<(), i32> {
    target.write(at + NAME_LENGTH, &(name_length as u32).to_ne_bytes())?;
    target.write(at + CONTROL_LENGTH, &control_length.to_ne_bytes())?;
    target.write(at + FLAGS, &flags.to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use resoa_calls::interposer::total;

    /// The layout is that of the C library.
    #[test]
    fn layout() {
        use std::mem::{offset_of, size_of};
        assert_eq!(size_of::<libc::msghdr>(), HEADER);
        assert_eq!(offset_of!(libc::mmsghdr, msg_len), LENGTH);
        assert_eq!(offset_of!(libc::msghdr, msg_namelen), NAME_LENGTH);
        assert_eq!(offset_of!(libc::msghdr, msg_iov), 16);
        assert_eq!(offset_of!(libc::msghdr, msg_iovlen), 24);
        assert_eq!(offset_of!(libc::msghdr, msg_control), CONTROL);
        assert_eq!(offset_of!(libc::msghdr, msg_controllen), CONTROL_LENGTH);
        assert_eq!(offset_of!(libc::msghdr, msg_flags), FLAGS);
        assert_eq!(size_of::<libc::iovec>(), VECTOR);
        let header: Vec<u8> = [7_u64, 0xffff_ffff_0000_0010, 9, 2].map(u64::to_ne_bytes).concat();
        assert_eq!(parts(&header), (Given { at: 7, length: 16 }, 9, 2));
        let vector: Vec<u8> = [100_u64, 3, 200, 5].map(u64::to_ne_bytes).concat();
        let read = [Piece { address: 100, length: 3 }, Piece { address: 200, length: 5 }];
        assert_eq!(pieces(&vector), read);
    }

    /// Successive windows of a message follow each other without gap.
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

//! Taking bytes from the front of a queue in one piece.

use std::collections::VecDeque;

/// Takes the first `count` bytes. Panics if there are fewer.
///
/// An iterator over the bytes takes about ten times as long, and would be the main cost of bulk
/// transfers.
pub(crate) fn take_front(queue: &mut VecDeque<u8>, count: usize) -> Vec<u8> {
    let (front, back) = queue.as_slices();
    let in_front = count.min(front.len());
    let bytes = [&front[..in_front], &back[..count - in_front]].concat();
    queue.drain(..count);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also where the queue wraps around.
    #[test]
    fn octets_keep_their_order() {
        let mut queue = VecDeque::with_capacity(8);
        let mut taken = Vec::new();
        for octet in 0..100_u8 {
            queue.extend([octet, octet]);
            let count = usize::from(octet % 5).min(queue.len());
            taken.extend(take_front(&mut queue, count));
        }
        let rest = queue.len();
        taken.extend(take_front(&mut queue, rest));
        assert_eq!(taken, (0..100_u8).flat_map(|octet| [octet, octet]).collect::<Vec<_>>());
        assert!(queue.is_empty());
    }
}

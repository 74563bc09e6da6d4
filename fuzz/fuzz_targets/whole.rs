//! For any packet with a virtio header from a device, its parts can be written, marked, changed and
//! joined, and their properties hold for the resulting bytes.

use packet::{Frame, Headers, Layer, Run, ecn, virtio, whole};

/// Parts examined in each input: enough for a first, a middle and a last.
const LOOKED_AT: usize = 8;

/// One input.
pub fn run(bytes: &[u8]) {
    let Some((layer, bytes)) = bytes.split_first() else { return };
    let Some((header, bytes)) = bytes.split_first_chunk::<{ virtio::LEN }>() else { return };
    let layer = if layer & 1 == 0 { Layer::Ip } else { Layer::Ethernet };
    let Ok(virtio) = virtio::Header::decode(header) else { return };
    let Ok(frames) = whole::frames(layer, &virtio, bytes.to_vec()) else { return };
    let count = frames.len();
    let mut run: Option<Run> = None;
    let mut scratch = Vec::new();
    for (index, mut frame) in frames.enumerate() {
        if index >= LOOKED_AT && index + 1 != count {
            continue;
        }
        if index % 3 == 2 {
            let _ = frame.mark_ce();
        }
        assert_eq!(frame.to_bytes().len(), frame.len());
        // A packet that is not split may have its checksum field in the middle of its IP header;
        // then the two differ.
        if virtio.segmentation.is_some() {
            agree(&frame);
        }
        let refused = match &mut run {
            Some(run) => run.push(frame.clone()).err(),
            None => Some(frame.clone()),
        };
        if let Some(first) = refused {
            run = Some(Run::new(first));
        }
        let pieces = run.as_ref().map(|run| run.pieces(&mut scratch)).expect("just filled");
        assert!(pieces.header.len() + pieces.payload.len() >= frame.len());
        let written = frame.to_bytes().into_owned();
        assert_eq!(frame.bytes_mut(), &written[..]);
    }
}

fn agree(frame: &Frame) {
    let bytes = frame.to_bytes();
    assert_eq!(Headers::parse(frame.layer(), &bytes), frame.headers());
    assert_eq!(ecn::read(frame.layer(), &bytes), frame.ecn());
}

//! End-to-end TCP over both hops.

use crate::rounds::offsets;
use crate::{Hop, Path, TcpSizes, Timeline, Transfer};

/// Returns the times of a transfer by TCP between client and server (Eq. 8.4 and 10.2).
#[must_use]
pub fn end_to_end(path: &Path, sizes: &TcpSizes, transfer: Transfer) -> Timeline {
    let (wireless, internet) = (path.wireless, path.internet);
    let established = path.round_trip(sizes.syn, sizes.syn_acknowledgement);
    let acknowledgement = |hop: Hop| hop.sending(sizes.acknowledgement);
    // The request follows the acknowledgement of the handshake on both hops: it waits for the
    // Internet if that takes longer for the acknowledgement than the wireless hop for the request.
    let request = wireless.sending(sizes.request).max(acknowledgement(internet));
    let requested =
        established + acknowledgement(wireless) + request + internet.sending(sizes.request) + path.delay();
    // The response follows the acknowledgement of the request, likewise.
    let (of_wireless, of_internet) = (wireless.sending(sizes.segment), internet.sending(sizes.segment));
    let behind = of_internet.max(acknowledgement(wireless));
    let first = requested + acknowledgement(internet) + behind + of_wireless + path.delay();
    let round_trip = path.round_trip(sizes.segment, sizes.acknowledgement);
    let spacing = of_wireless.max(of_internet);
    let offsets = offsets(transfer.segments, transfer.window, round_trip, spacing);
    Timeline { established, requested, arrivals: offsets.iter().map(|offset| first + offset).collect() }
}

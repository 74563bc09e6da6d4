//! C104: each mistake is detected, by the property that it violates.

use super::stream::{SMALL, Stream, check};
use super::world::Buffers;
use crate::settings::{LingerPolicy, Mutation};
use stateright::Checker;

fn found(name: &str, model: Stream, property: &'static str) {
    let checker = check(name, model);
    assert!(checker.discovery(property).is_some(), "{name} is not found by {property}");
}

fn with(mutation: Mutation) -> Stream {
    Stream { mutation: Some(mutation), ..Stream::default() }
}

/// C100, V8: a server that acknowledges the far host's FIN at once, as any TCP proxy does.
#[test]
fn plain_tcp_breaks_linger_of_the_far_host() {
    found("no FIN hold", with(Mutation::NoFinHold), "I7: the far host's linger");
}

/// The same at the other end: `close` returns when all data is handed over.
#[test]
fn handing_over_is_not_delivery() {
    let linger = Stream { linger: true, policy: LingerPolicy::Bsd, ..with(Mutation::LingerUntilHandedOver) };
    found("linger until handed over", linger, "I7: the program's linger");
}

#[test]
fn window_on_forward_breaks_the_receive_buffer() {
    let model = Stream { writes: [0, 2], ..with(Mutation::WindowOnForward) };
    found("window on forward", model, "I3, I5, I6: within buffers");
}

#[test]
fn buffers_are_not_doubled() {
    let model = Stream { writes: [2, 0], ..with(Mutation::BufferDoubling) };
    found("buffer doubling", model, "I3, I5, I6: within buffers");
}

#[test]
fn close_behind_what_is_queued() {
    let buffers = Buffers { send: 2, ..SMALL };
    let model = Stream { buffers, writes: [2, 0], ..with(Mutation::CloseBeforeQueued) };
    found("CLOSE before what is queued", model, "C53: delivers");
}

#[test]
fn orphans_live_until_the_second_close() {
    let buffers = Buffers { send: 2, ..SMALL };
    let model = Stream { buffers, writes: [2, 0], ..with(Mutation::FreesBeforeSecondClose) };
    found("frees before the second CLOSE", model, "I8, I15: all ends");
}

#[test]
fn space_at_the_server_is_used_again() {
    let buffers = Buffers { send: 2, ..SMALL };
    let model = Stream { buffers, writes: [2, 0], ..with(Mutation::RemoteUsedNotDecremented) };
    found("space is not freed", model, "I8, I15: all ends");
}

/// A7: data on the last hop counts as unread.
#[test]
fn unread_octets_count_wherever_they_are() {
    found("unread forgotten", with(Mutation::UnreadForgotten), "I7: the far host's linger");
}

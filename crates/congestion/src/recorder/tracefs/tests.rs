use super::*;

#[test]
fn lost_events_are_those_that_found_no_room() {
    let stats = "entries: 12\noverrun: 3\ncommit overrun: 1\nbytes: 4096\noldest event ts: 1.5\nnow ts: 2.5\n\
                 dropped events: 20\nread events: 7\n";
    assert_eq!(lost_events(stats), 24);
    assert_eq!(lost_events(""), 0);
}

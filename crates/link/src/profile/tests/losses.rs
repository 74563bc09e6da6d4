//! Tests of `loss`, `burst`, `ber` and `damage`: their effects, and their valid combinations.

use super::parameters::{made, on, refused};

#[test]
fn each_alone() {
    assert_eq!(made("loss=1%"), "errors: 1% of packets; lost");
    assert_eq!(made("loss=0.01"), made("loss=1%"));
    assert_eq!(made("ber=1e-5"), "errors: bit error ratio 1e-5; bits of the packet flipped");
    assert_eq!(made("loss=lite-9"), "errors: 100% of packets; lost");
    assert_eq!(made("loss=none"), "perfect");
    assert_eq!(on("loss=1%,delay=1ms", "loss=none").expect("none").to_string(), "delay: 1ms");
}

#[test]
fn a_path_is_no_share_whatever_it_begins_with() {
    for path in ["./lite-9.toml", "3g.toml", "0/lite-9"] {
        assert_eq!(made(&format!("loss={path}")), made("loss=lite-9"), "{path}");
    }
    assert_eq!(refused("loss=lite-8"), "loss=lite-8: there is no loss profile lite-8");
    assert_eq!(
        refused("loss=-1%"),
        "loss=-1%: `-1%` is not a probability: write it like 1.5% or 0.015 (0 to 1)"
    );
}

#[test]
fn together_in_any_order() {
    let bursts = made("loss=1%,burst=100ms");
    assert!(bursts.contains("100ms") && bursts.contains("1%"), "{bursts}");
    assert_eq!(made("burst=100ms,loss=1%"), bursts);
    assert_eq!(made("damage=checksum,loss=1%"), "errors: 1% of packets; checksum spoiled");
    assert_eq!(made("loss=1%,damage=checksum"), made("damage=checksum,loss=1%"));
    assert_eq!(
        made("loss=1%,damage=flip"),
        "errors: 1% of packets; bits of the packet flipped, bit error ratio 1e-3 and at least one"
    );
    assert_eq!(made("ber=1e-5,damage=lose"), "errors: bit error ratio 1e-5; lost");
}

#[test]
fn damage_alone_changes_what_is_there() {
    let changed = on("loss=1%", "damage=checksum").expect("there are errors");
    assert_eq!(changed.to_string(), "errors: 1% of packets; checksum spoiled");
    let error = "there are no errors that could do damage: give loss=... or ber=... as well";
    assert_eq!(refused("damage=checksum"), format!("damage=checksum: {error}"));
}

#[test]
fn what_cannot_go_together() {
    assert_eq!(
        refused("loss=1%,ber=1e-5"),
        "loss=1%: loss and ber are two error processes: give one of them"
    );
    assert_eq!(
        refused("ber=1e-5,burst=10ms"),
        "ber=1e-5: burst needs loss=SHARE and cannot be combined with ber"
    );
    assert_eq!(
        refused("loss=lite-9,burst=10ms"),
        "loss=lite-9: burst needs loss=SHARE: the loss profile lite-9 has its own bursts"
    );
    assert_eq!(refused("burst=10ms"), "burst=10ms: burst needs loss=SHARE: give both");
    assert_eq!(
        on("loss=1%", "burst=10ms").expect_err("a burst of what").to_string(),
        "burst=10ms: burst needs loss=SHARE: give both"
    );
    assert_eq!(
        refused("loss=none,burst=10ms"),
        "loss=none: burst and damage describe losses: remove them, or loss=none"
    );
    assert_eq!(
        refused("damage=flip,loss=none"),
        "damage=flip: burst and damage describe losses: remove them, or loss=none"
    );
    assert_eq!(
        refused("loss=1%,damage=hit"),
        "loss=1%: there is no damage `hit`: use lose, checksum or flip"
    );
}

//! Tests of the TOML format of profiles, and of the errors for invalid profiles.

use super::*;

const HEAD: &str = "kind = \"link\"\ntitle = \"A link\"\nsource = \"A book, table 1\"\n";

fn link(rest: &str) -> LinkProfile {
    match parsed(&format!("{HEAD}{rest}")).unwrap_or_else(|error| panic!("{error}")).content {
        Content::Link(link) => link,
        Content::Loss(_) => panic!("a loss profile"),
    }
}

fn refused(text: &str) -> String {
    parsed(text).expect_err("refused").to_string()
}

fn refused_link(rest: &str) -> String {
    refused(&format!("{HEAD}{rest}"))
}

fn names(direction: &DirectionSpec) -> Vec<&str> {
    direction.stages.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn usual_stages_stand_in_their_usual_order_however_they_are_written() {
    let rest = r#"
        mtu = 576
        [down]
        hiccup = { limit = 5 }
        delay = "70ms"
        duplicate = { probability = "1%" }
        outage = { schedule = [{ start = "5s", length = "1s" }] }
        errors = { process = { loss = "1%" } }
        rate = "384kbit"
        queue = "50p"
    "#;
    let link = link(rest);
    assert_eq!(link.mtu, Some(576));
    assert_eq!(names(&link.down), ["bottleneck", "errors", "outage", "duplicate", "delay", "hiccup"]);
    assert_eq!(link.up, DirectionSpec::default());
    assert_eq!(
        link.down.to_string(),
        "bottleneck: 384kbit/s counted at IP, drop-tail 50p; errors: 1% of packets; lost; outage: out from 5s for 1s; \
         duplicate: 1%; delay: 70ms; hiccup: 5 packets at most"
    );
}

#[test]
fn stages_stand_in_an_order_of_their_own_and_have_names() {
    let rest = r#"
        [[down.stages]]
        delay = "10ms"
        [[down.stages]]
        errors = { process = { loss = "1%" } }
        [[down.stages]]
        name = "fade"
        errors = { process = { good = "2s", bad = "30ms" } }
        [[down.stages]]
        delay = "20ms"
    "#;
    assert_eq!(names(&link(rest).down), ["delay", "errors", "fade", "delay.2"]);
}

#[test]
fn a_loss_profile_goes_down_unless_it_says_otherwise() {
    let head = "kind = \"loss\"\ntitle = \"Losses\"\nsource = \"A book\"\n";
    let errors = "errors = { process = { loss = \"1%\" } }\n";
    let directions = |text: &str| match parsed(text).expect("a profile").content {
        Content::Loss(loss) => loss.directions,
        Content::Link(_) => panic!("a link"),
    };
    assert_eq!(directions(&format!("{head}{errors}")), [Direction::Down]);
    let both = format!("{head}directions = [\"up\", \"down\"]\n{errors}");
    assert_eq!(directions(&both), [Direction::Up, Direction::Down]);
}

#[test]
fn the_name_is_that_of_the_file() {
    let text = format!("{HEAD}note = \"ours\"\n");
    let profile = Profile::parse("some/where/field.toml", &text, &mut no_file).expect("a profile");
    assert_eq!((profile.name.as_str(), profile.note.as_deref()), ("field", Some("ours")));
}

#[test]
fn an_unknown_field_is_named_with_its_line_and_the_nearest_right_word() {
    assert_eq!(
        refused_link("[down]\ndelai = \"70ms\"\n"),
        "test.toml: TOML parse error at line 5, column 1\n  |\n5 | delai = \"70ms\"\n  | ^^^^^\n\
         unknown field `delai`, expected one of `rate`, `queue`, `counted`, `cellreplay`, `errors`, `outage`, `duplicate`, \
         `delay`, `hiccup`, `stages`\n\
         did you mean `delay`?"
    );
    // No known word is near, so there is no suggestion.
    let error = refused_link("[down]\nthroughput = \"1Mbit\"\n");
    assert!(error.contains("line 5, column 1") && !error.contains("did you mean"), "{error}");
    // The text of the line itself is not taken for the message.
    let error = refused_link("nope = \"unknown `delai`, not `delay`\"\n");
    assert!(error.contains("line 4") && !error.contains("delay`?"), "{error}");
}

#[test]
fn unknown_fields_deeper_down_have_their_line_too() {
    let error = refused_link("[down]\nrate = \"1Mbit\"\n[down.queue]\nkind = \"codel\"\ntarged = \"5ms\"\n");
    assert!(error.contains("targed") && error.contains("did you mean `target`?"), "{error}");
    let error = refused_link("[[claims]]\nquantity = \"rate\"\nvalu = \"1Mbit\"\nsource = \"x\"\n");
    assert!(error.contains("line 6") && error.contains("did you mean `value`?"), "{error}");
    let error = refused_link("[[down.stages]]\nname = \"a\"\nerors = { process = { loss = \"1%\" } }\n");
    assert!(error.contains("line 6") && error.contains("did you mean `errors`?"), "{error}");
}

#[test]
fn without_title_or_source_there_is_no_profile() {
    let error = refused("kind = \"link\"\ntitle = \"A link\"\n");
    assert!(error.contains("missing field `source`"), "{error}");
    let error = refused("kind = \"link\"\nsource = \"A book\"\n");
    assert!(error.contains("missing field `title`"), "{error}");
    for empty in [
        "kind = \"link\"\ntitle = \"\"\nsource = \"A book\"\n",
        "kind = \"link\"\ntitle = \"A\"\nsource = \" \"\n",
    ] {
        let error = refused(empty);
        assert!(error.contains("is empty"), "{error}");
    }
}

#[test]
fn a_kind_that_is_none() {
    let error = refused("kind = \"lnk\"\ntitle = \"A link\"\nsource = \"A book\"\n");
    assert!(error.contains("line 1") && error.contains("did you mean `link`?"), "{error}");
    let error = refused("title = \"A link\"\nsource = \"A book\"\n");
    assert!(error.contains("missing field `kind`"), "{error}");
}

#[test]
fn what_cannot_go_together() {
    assert_eq!(
        refused_link("[down]\ndelay = \"70ms\"\n[[down.stages]]\nerrors = { process = { loss = \"1%\" } }\n"),
        "test.toml: [down] has both `stages` and `delay`: with `stages`, list all stages there, in their order"
    );
    assert_eq!(
        refused_link(
            "[[up.stages]]\nname = \"a\"\ndelay = \"1ms\"\n[[up.stages]]\nname = \"a\"\ndelay = \"2ms\"\n"
        ),
        "test.toml: [[up.stages]]: two stages are called `a`"
    );
    assert_eq!(
        refused_link("[[up.stages]]\ndelay = \"1ms\"\n[[up.stages]]\nname = \"a\"\n"),
        "test.toml: [[up.stages]] number 2: no stage: give one of bottleneck, cellreplay, errors, outage, duplicate, delay, hiccup"
    );
    assert_eq!(
        refused_link("[[up.stages]]\ndelay = \"1ms\"\nduplicate = { probability = \"1%\" }\n"),
        "test.toml: [[up.stages]] number 1: has both `duplicate` and `delay`: give each stage a table of its own"
    );
}

#[test]
fn an_unnamed_stage_gets_a_name_that_is_free() {
    // The second stage of its kind would be `errors.2`, but that name is taken.
    let rest = r#"
        [[down.stages]]
        name = "errors.2"
        errors = { process = { loss = "1%" } }
        [[down.stages]]
        errors = { process = { loss = "2%" } }
    "#;
    assert_eq!(names(&link(rest).down), ["errors.2", "errors.3"]);
}

#[test]
fn quantities_that_are_none_say_what_would_be_right() {
    let error = refused_link("[down]\ndelay = \"70\"\n");
    assert!(error.contains("line 5") && error.contains("`70` is not a length of time"), "{error}");
    let error = refused_link("[down]\nrate = \"fast\"\n");
    assert!(error.contains("line 5") && error.contains("`fast` is not a rate"), "{error}");
}

#[test]
fn files_that_a_profile_names_are_read() {
    let text = format!("{HEAD}[down]\nrate = {{ mahimahi = \"t.trace\" }}\n");
    let error = parsed(&text).expect_err("no such file").to_string();
    assert_eq!(error, "test.toml: cannot read t.trace: nobody has t.trace");
    let mut asked = Vec::new();
    let mut read = |name: &str| {
        asked.push(name.to_owned());
        Ok("1\n2\n".to_owned())
    };
    let profile = Profile::parse("test.toml", &text, &mut read).expect("a profile");
    assert_eq!(asked, ["t.trace"]);
    let built = link_of(&profile).down.build(&crate::Seed::campaign(1));
    assert!(built.is_ok());
    let error = Profile::parse("test.toml", &text, &mut |_| Ok("soon\n".to_owned())).expect_err("no trace");
    assert!(error.to_string().starts_with("test.toml: t.trace:1: "), "{error}");
}

#[test]
fn bandwidth_times_delay_counts_the_larger_rate_and_the_way_there_and_back() {
    let two_ways =
        link("[down]\nrate = \"8Mbit\"\ndelay = \"30ms\"\n[up]\nrate = \"1Mbit\"\ndelay = \"20ms\"\n");
    assert_eq!(two_ways.bandwidth_delay_product(), ByteCount::new(50_000));
    let perfect = link("[up]\nrate = \"1Mbit\"\ndelay = \"8ms\"\n");
    assert_eq!(perfect.bandwidth_delay_product(), ByteCount::new(10_000_000), "10 Gbit/s for 8 ms");
}

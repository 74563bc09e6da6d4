//! What every carrier promises (C85 to C91), tested in the same way over each of them.

mod datagrams;
mod ends;
mod outages;
mod over_quic;
mod primitives;
mod wire;

/// Defines each test once per carrier, so that the name of a failed test contains the carrier.
macro_rules! carriers {
    ($($name:ident)*) => {
        $(mod $name {
            use crate::ends::Kind;
            use crate::primitives;

            over! {
                $name: messages_and_their_end what_may_be_lost stop_and_go gathered not_wanted three_ends given_up turned_away
            }
        })*
    };
}

macro_rules! over {
    ($name:ident: $($test:ident)*) => {
        $(#[test]
        fn $test() {
            primitives::$test(Kind::$name);
        })*
    };
}

carriers!(memory plain bare tcp udp ether quic);

//! What every carrier promises (C85 to C91), by the same tests over each of them.

mod datagrams;
mod ends;
mod outages;
mod over_quic;
mod primitives;
mod wire;

/// The tests over one carrier, a test each, so that what fails names its carrier.
macro_rules! carrier {
    ($name:ident) => {
        mod $name {
            use crate::ends::Kind;
            use crate::primitives;

            #[test]
            fn messages_and_their_end() {
                primitives::messages_and_their_end(Kind::$name);
            }
            #[test]
            fn what_may_be_lost() {
                primitives::what_may_be_lost(Kind::$name);
            }
            #[test]
            fn stop_and_go() {
                primitives::stop_and_go(Kind::$name);
            }
            #[test]
            fn gathered() {
                primitives::gathered(Kind::$name);
            }
            #[test]
            fn not_wanted() {
                primitives::not_wanted(Kind::$name);
            }
            #[test]
            fn three_ends() {
                primitives::three_ends(Kind::$name);
            }
            #[test]
            fn given_up() {
                primitives::given_up(Kind::$name);
            }
            #[test]
            fn turned_away() {
                primitives::turned_away(Kind::$name);
            }
        }
    };
}

carrier!(memory);
carrier!(plain);
carrier!(tcp);
carrier!(udp);
carrier!(ether);
carrier!(quic);

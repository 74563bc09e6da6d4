//! Status of an agent, for `lasthop resoa status`.

use crate::failure::Failure;
use resoa_calls::{Agent, Connected, Request, Response, Status};

/// Asks the agent for its status.
pub fn of(agent: &Agent) -> Result<Status, Failure> {
    let path = agent.path().display();
    let way_out = "start it with `lasthop resoa agent`, or give its socket with --agent";
    match agent.call(&Request::Status, None) {
        Ok((Response::Status(status), _)) => Ok(status),
        Ok((other, _)) => Err(format!(
            "the agent at {path} answered {other:?} instead of its status: it is of another version"
        )
        .into()),
        Err(error) => Err(format!("{error}\n{way_out}").into()),
    }
}

pub fn shown(status: &Status) -> String {
    let Status { connected, made, carried, local, accepted, open, octets, round_trip_us } = status;
    let connected = match connected {
        Connected::Yes { address, sockets } => {
            format!("registered; sockets have address {address}, at most {sockets} at a time")
        }
        Connected::No(why) => format!("not registered: {why}"),
    };
    let round_trip = round_trip_us.map_or_else(|| "unknown".to_owned(), |us| format!("{us} us"));
    format!(
        "server      {connected}\nlast hop    round trip {round_trip}\nsockets     {made} made, {carried} carried, {local} local, {accepted} accepted, {open} open\nbytes       {} sent, {} received",
        octets.0, octets.1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text has every field, in order.
    #[test]
    fn everything_is_said() {
        let status = Status {
            connected: Connected::Yes { address: [192, 0, 2, 1].into(), sockets: 256 },
            made: 5,
            carried: 4,
            local: 0,
            accepted: 1,
            open: 2,
            octets: (10, 20),
            round_trip_us: Some(731),
        };
        insta::assert_snapshot!(shown(&status), @r"
        server      registered; sockets have address 192.0.2.1, at most 256 at a time
        last hop    round trip 731 us
        sockets     5 made, 4 carried, 0 local, 1 accepted, 2 open
        bytes       10 sent, 20 received
        ");
    }

    /// Without an agent, the message tells what to do.
    #[test]
    fn no_agent() {
        let said = of(&Agent::at("/nowhere/agent")).expect_err("nobody is there").to_string();
        assert!(
            said.starts_with("no agent answers at /nowhere/agent") && said.contains("lasthop resoa agent"),
            "{said}"
        );
    }
}

//! `lasthop resoa status`: shows the state of the agent and the server of this host, whichever
//! exist.

use super::arguments::StatusArguments;
use super::run::place;
use super::{agent_status, server_status};
use crate::failure::Failure;
use crate::pipe;
use resoa_calls::{Agent, Connected};
use serde_json::json;
use std::io::{self, Write};

/// Asks the agent and the server, and prints their answers.
pub fn run(arguments: &StatusArguments) -> Result<i32, Failure> {
    let is_any = arguments.agent.is_none() && arguments.server.is_none();
    let agent = (is_any || arguments.agent.is_some())
        .then(|| agent_status::of(&Agent::at(place(arguments.agent.as_deref()))));
    let path = arguments.server.clone().or_else(|| server_status::default_path().filter(|_| is_any));
    let server = path.map(|path| server_status::of(&path));
    let (agent, server) = found(is_any, agent, server)?;
    let mut output = io::BufWriter::new(io::stdout().lock());
    let written = if arguments.json {
        let both = json!({ "agent": agent, "server": server });
        writeln!(output, "{}", serde_json::to_string_pretty(&both)?)
    } else {
        let shown = [agent.as_ref().map(agent_status::shown), server.as_ref().map(server_status::shown)];
        let shown: Vec<_> = shown.iter().flatten().map(|text| text.trim_end()).collect();
        writeln!(output, "{}", shown.join("\n\n"))
    };
    let status = pipe::status(written.and_then(|()| output.flush()).map_err(Into::into))?;
    let is_lost = agent.is_some_and(|agent| matches!(agent.connected, Connected::No(_)));
    Ok(if is_lost { 1 } else { status })
}

/// Combines the answers. If neither was named on the command line, one answer suffices, but no
/// answer is an error.
fn found<A, S>(
    is_any: bool,
    agent: Option<Result<A, Failure>>,
    server: Option<Result<S, Failure>>,
) -> Result<(Option<A>, Option<S>), Failure> {
    match (agent.transpose(), server.transpose()) {
        (Err(agent), Err(server)) => Err(format!("{agent}\n{server}").into()),
        (Err(agent), Ok(None)) if is_any => Err(format!(
            "{agent}\nno server was asked: XDG_RUNTIME_DIR is not set; give its socket with --server PATH"
        )
        .into()),
        (Err(error), _) | (_, Err(error)) if !is_any => Err(error),
        (agent, server) => Ok((agent.ok().flatten(), server.ok().flatten())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One answer is enough if nothing was named; no answer is an error in any case.
    #[test]
    fn somebody_has_to_answer() {
        let no = |what: &str| Some(Err::<u8, Failure>(what.into()));
        let yes = |what: u8| Some(Ok(what));
        let said = |outcome: Result<_, Failure>| outcome.map_err(|error| error.to_string());
        assert_eq!(said(found(true, yes(1), no("server"))), Ok((Some(1), None)));
        assert_eq!(said(found(true, no("agent"), yes(2))), Ok((None, Some(2))));
        assert_eq!(said(found(true, no("agent"), no("server"))), Err("agent\nserver".to_owned()));
        let nobody = said(found(true, no("agent"), None)).expect_err("no server was asked");
        assert!(nobody.starts_with("agent\n") && nobody.contains("--server"), "{nobody}");
        assert_eq!(said(found(false, yes(1), no("server"))), Err("server".to_owned()));
        assert_eq!(said(found(false, None, yes(2))), Ok((None, Some(2))));
    }
}

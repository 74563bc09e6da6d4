//! `lasthop resoa status`: how the agent and the server of this host do, whichever there are.

use super::arguments::StatusArguments;
use super::run::place;
use super::server_status::DefaultPath;
use super::{agent_status, server_status};
use crate::link_command::Failure;
use crate::pipe;
use resoa_calls::{Agent, Connected};
use serde_json::json;
use std::io::{self, Write};

/// Asks and prints.
pub fn run(arguments: &StatusArguments) -> Result<i32, Failure> {
    let is_any = arguments.agent.is_none() && arguments.server.is_none();
    let agent = (is_any || arguments.agent.is_some())
        .then(|| agent_status::of(&Agent::at(place(arguments.agent.as_deref()))));
    let path = arguments
        .server
        .clone()
        .or_else(|| server_status::default_path(DefaultPath::Asked).filter(|_| is_any));
    let server = path.map(|path| server_status::of(&path));
    let (agent, server) = match (agent.transpose(), server.transpose()) {
        // Who asks for nobody by name is content with one.
        (Err(agent), Err(server)) => return Err(format!("{agent}\n{server}").into()),
        (Err(error), _) | (_, Err(error)) if !is_any => return Err(error),
        (agent, server) => (agent.ok().flatten(), server.ok().flatten()),
    };
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

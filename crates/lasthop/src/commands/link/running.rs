//! Listing and changing running links, and running more programs behind them.

use super::{Failure, command_line};
use crate::notice::Notice;
use crate::remote::{self, Answer, Request, Running};
use netlab::Registry;
use netlab::state::State;
use std::ffi::OsString;
use std::path::PathBuf;

/// Returns the descriptions of the running links.
pub fn running() -> Result<Vec<Running>, Failure> {
    let registry = Registry::open()?;
    let states = registry.list()?.into_iter().filter(State::is_running);
    // A link that has just ended or is about to start does not answer.
    let one = |state: State| match remote::ask(
        &registry.path().join(&state.id).join(remote::SOCKET),
        &Request::Show,
    ) {
        Ok(Answer::Link(running)) => Some(running),
        _ => None,
    };
    Ok(states.filter_map(one).collect())
}

/// Runs `lasthop link list`.
pub fn list(json: bool) -> Result<i32, Failure> {
    let all = running()?;
    if all.is_empty() && !json {
        anstream::eprintln!("no link is running");
    }
    for running in all {
        if json {
            anstream::println!("{}", serde_json::to_string(&running)?);
            continue;
        }
        let Running { id, pid, command, seconds, up, down, packets, lost } = running;
        anstream::println!("link {id}  {command}  (process {pid}, {seconds} s)");
        anstream::println!("  up   {:>8} packets, {:>6} lost  {up}", packets.0, lost.0);
        anstream::println!("  down {:>8} packets, {:>6} lost  {down}", packets.1, lost.1);
    }
    Ok(0)
}

/// Runs `lasthop link set`.
pub fn set(id: &str, direction: &str, parameters: &str) -> Result<i32, Failure> {
    let request = Request::Set { direction: direction.to_owned(), parameters: parameters.to_owned() };
    match ask(id, &request)? {
        Answer::Changed { now } => {
            for (direction, is) in now {
                anstream::println!("{direction:<4} {is}");
            }
            Ok(0)
        }
        Answer::Refused(why) => Err(why.into()),
        _ => Err(unexpected()),
    }
}

/// Runs `lasthop link exec`: this process becomes the program. Returns only if it cannot be
/// executed.
pub fn exec(id: &str, command: &[OsString]) -> Result<i32, Failure> {
    let entrance = match ask(id, &Request::Enter)? {
        Answer::Entrance(entrance) => entrance,
        Answer::Refused(why) => return Err(why.into()),
        _ => return Err(unexpected()),
    };
    let ended = entrance.execute(&command_line(command))?;
    if let Some(message) = ended.message() {
        Notice::new(false).warn(message);
    }
    Ok(ended.status().into())
}

/// Sends `request` to the running link whose id begins with `id`.
pub fn ask(id: &str, request: &Request) -> Result<Answer, Failure> {
    Ok(remote::ask(&socket(Some(id))?, request)?)
}

/// Returns the socket of the running link whose id begins with `id`; without an id, of the only one
/// that runs.
pub fn socket(id: Option<&str>) -> Result<PathBuf, Failure> {
    let registry = Registry::open()?;
    let socket = |id: &str| registry.path().join(id).join(remote::SOCKET);
    // Runs of plans are recorded too, and are no links.
    let is_link = |state: &State| state.is_running() && socket(&state.id).exists();
    let running: Vec<_> = registry.list()?.into_iter().filter(is_link).map(|state| state.id).collect();
    let found = match id {
        Some(id) => matching(id, &running)?,
        None => only(&running)?,
    };
    Ok(socket(found))
}

fn only(running: &[String]) -> Result<&str, Failure> {
    match running {
        [only] => Ok(only),
        [] => Err("no link is running".into()),
        several => Err(format!("several links are running: name one of {}", several.join(", ")).into()),
    }
}

/// Returns the running link with this id, or else the only one whose id begins with it.
fn matching<'a>(id: &str, running: &'a [String]) -> Result<&'a str, Failure> {
    if let Some(exact) = running.iter().find(|known| *known == id) {
        return Ok(exact);
    }
    let mut beginning = running.iter().filter(|known| known.starts_with(id));
    if let (Some(found), None) = (beginning.next(), beginning.next()) {
        return Ok(found);
    }
    let known = if running.is_empty() {
        "no link is running".to_owned()
    } else {
        format!("running: {}", running.join(", "))
    };
    Err(format!("`{id}` matches no link, or more than one ({known})").into())
}

/// Returns the error for an answer that does not belong to its request.
pub fn unexpected() -> Failure {
    "the link gave an unexpected answer: it may be of another version of lasthop".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_digits_identify_a_link_unless_another_has_the_whole_id() {
        let running = ["1", "10", "25"].map(str::to_owned);
        let found = |id| matching(id, &running).map_err(|error| error.to_string());
        assert_eq!((found("1"), found("2")), (Ok("1"), Ok("25")));
        let refused = |id: &str| format!("`{id}` matches no link, or more than one (running: 1, 10, 25)");
        assert_eq!((found(""), found("3")), (Err(refused("")), Err(refused("3"))));
        let none = matching("1", &[]).map_err(|error| error.to_string());
        assert_eq!(none, Err("`1` matches no link, or more than one (no link is running)".to_owned()));
        let only = |running: &[String]| only(running).map(str::to_owned).map_err(|error| error.to_string());
        assert_eq!(only(&running[..1]), Ok("1".to_owned()));
        assert_eq!(only(&running), Err("several links are running: name one of 1, 10, 25".to_owned()));
        assert_eq!(only(&[]), Err("no link is running".to_owned()));
    }
}

//! Status of the server of this host, for `lasthop resoa status`.

use crate::failure::Failure;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use resoa_server::{ClientReport, Report};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Returns the default path of the server's status socket.
pub fn default_path() -> Option<PathBuf> {
    let base = match std::env::var_os("XDG_RUNTIME_DIR") {
        _ if rustix::process::geteuid().is_root() => PathBuf::from("/run"),
        runtime => PathBuf::from(runtime?),
    };
    // Not `lasthop`, which is the state directory of links: systemd removes the directory of its
    // unit when the unit ends.
    Some(base.join("lasthop-server/resoa.sock"))
}

/// Creates the directory of a server's socket, for this user alone. A directory of another user is
/// refused, because its owner could put other files where the server binds and removes the socket.
///
/// # Errors
/// If the directory cannot be created, or is not this user's alone.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(folder)?;
    let why = if !found.is_dir() {
        "it is not a directory".to_owned()
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        format!("it belongs to user {}", found.uid())
    } else if found.mode() & 0o022 != 0 {
        format!("others can write it (mode {:o})", found.mode() & 0o7777)
    } else {
        return Ok(());
    };
    Err(io::Error::other(format!("{}: {why}", folder.display())))
}

/// Asks the server at `path` for its report.
pub fn of(path: &Path) -> Result<Report, Failure> {
    let mut text = String::new();
    let asked = UnixStream::connect(path).and_then(|mut stream| {
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.read_to_string(&mut text)
    });
    let path = path.display();
    asked.map_err(|error| {
        format!(
            "{path}: {error}; no server answers there: start one with `lasthop resoa serve --status {path}`"
        )
    })?;
    read(&text).map_err(|error| format!("{path}: {error}").into())
}

/// Parses the server's answer. The server closes the connection if its loop has no time to answer.
fn read(text: &str) -> Result<Report, String> {
    serde_json::from_str(text).map_err(|error| match text {
        "" => "the server closed the connection without an answer: it is busy or shutting down; try again"
            .to_owned(),
        _ if error.is_eof() => {
            "the server's answer is incomplete: it is busy or has ended; try again".to_owned()
        }
        _ => format!("the server is of another version: {error}"),
    })
}

/// Returns a table of clients, and totals.
pub fn shown(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header([
        "client",
        "address",
        "since",
        "sockets",
        "listening",
        "sent",
        "received",
        "round trip",
        "refused",
    ]);
    for client in &report.clients {
        table.add_row(row(client));
    }
    for column in 2..9 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = match report.clients.len() {
        0 => "no client is connected\n".to_owned(),
        _ => format!("{table}\n"),
    };
    let total = format!(
        "\nup {}; {} sockets made, {} sent, {} received, {} lookups\n",
        time(report.uptime_s),
        report.sockets_made,
        octets(report.octets_sent),
        octets(report.octets_received),
        report.look_ups
    );
    text.push_str(&total);
    let refused: Vec<_> = report.refusals.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    if !refused.is_empty() {
        let _ = writeln!(text, "refused: {}", refused.join(", "));
    }
    let incidents = [
        ("turned away", report.turned_away),
        ("malformed message", report.malformed),
        ("not registered", report.unregistered),
        ("out of file descriptors", report.starved),
    ];
    let incidents: Vec<_> = incidents
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{what} {count}"))
        .collect();
    if !incidents.is_empty() {
        let _ = writeln!(text, "incidents: {}", incidents.join(", "));
    }
    text
}

fn row(client: &ClientReport) -> [String; 9] {
    let listening = client.sockets.get("listening").copied().unwrap_or(0);
    let stopped = if client.stopped { " (stopped)" } else { "" };
    [
        format!("{}{stopped}", client.name),
        client.address.map_or("not registered".to_owned(), |address| {
            if address.is_unspecified() { "any".to_owned() } else { address.to_string() }
        }),
        time(client.connected_s),
        client.sockets.values().sum::<usize>().to_string(),
        listening.to_string(),
        octets(client.octets_sent),
        octets(client.octets_received),
        client.round_trip_us.map_or("?".to_owned(), |time| format!("{:.1} ms", time as f64 / 1e3)),
        client.refusals.values().sum::<u64>().to_string(),
    ]
}

fn time(seconds: f64) -> String {
    let seconds = seconds as u64;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

fn octets(count: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power =
        (0..units.len() - 1).find(|&power| count >> (10 * (power + 1)) == 0).unwrap_or(units.len() - 1);
    match power {
        0 => format!("{count} B"),
        _ => format!("{:.1} {}", count as f64 / (1_u64 << (10 * power)) as f64, units[power]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A busy server is told apart from a server of another version.
    #[test]
    fn what_is_no_answer() {
        let said = |text| read(text).expect_err("no answer");
        assert!(said("").contains("busy"), "{}", said(""));
        assert!(said("{\"uptime_s\": 1.0, ").contains("incomplete"));
        assert!(said("{\"uptime_s\": 1.0}").contains("another version"));
        assert!(said("220 ready").contains("another version"));
    }

    /// A directory that another user created is not used.
    #[test]
    fn the_folder_is_the_servers_alone() {
        use std::os::unix::fs::{PermissionsExt, chown, symlink};
        let room = tempfile::tempdir().expect("a folder");
        let folder = room.path().join("lasthop-server");
        make_folder(&folder).expect("made");
        assert_eq!(fs::metadata(&folder).expect("there").mode() & 0o7777, 0o700);
        make_folder(&folder).expect("its own");
        let said = || make_folder(&folder).expect_err("refused").to_string();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("ours");
        assert!(said().contains("others can write it (mode 777)"), "{}", said());
        fs::remove_dir(&folder).expect("removed");
        symlink(room.path(), &folder).expect("a link");
        assert!(said().contains("not a directory"), "{}", said());
        fs::remove_file(&folder).expect("removed");
        make_folder(&folder).expect("made");
        if rustix::process::geteuid().is_root() {
            chown(&folder, Some(65_534), None).expect("given away");
            assert!(said().contains("belongs to user 65534"), "{}", said());
        } else {
            skip::skip!("only root gives files to another user");
        }
    }

    /// Numbers in readable units.
    #[test]
    fn numbers() {
        assert_eq!([0, 1023, 1024, 3 << 29].map(octets), ["0 B", "1023 B", "1.0 KiB", "1.5 GiB"]);
        assert_eq!(octets(u64::MAX), "16777216.0 TiB");
        assert_eq!([59.9, 60.0, 3700.0, 90_000.0].map(time), ["59 s", "1 min", "1 h 1 min", "1 d 1 h"]);
    }
}

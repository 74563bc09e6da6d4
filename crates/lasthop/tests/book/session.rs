//! Runs the commands of a page in one shell, as a reader would, and compares their output.
//!
//! The shell starts in a temporary folder with links to the repository's plans, profiles and
//! examples. It has process and network namespaces of its own: ports are free, and nothing
//! survives the page.

use crate::output;
use crate::page::{Block, Content, Page};
use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time that a page may take.
const PATIENCE: Duration = Duration::from_secs(150);
/// Folders and files of the repository that the shell sees.
const SHARED: [&str; 6] = ["experiments", "profiles", "examples", "docs", "scripts", "crates"];

/// Network of the session: like that of most hosts it has an interface and a default route.
const NETWORK: &str = "ip link set lo up && ip link add eth0 type veth peer name eth1 && ip address add 192.0.2.2/24 dev eth0 \
    && ip link set eth0 up && ip link set eth1 up && ip route add default via 192.0.2.1";
/// Ends what a page leaves in the background, such as a link. Killed with its namespace, a link
/// would leave its control group behind. What it prints then is not part of the page.
const END_JOBS: &str = "running=$(jobs -p)\n[ -z \"$running\" ] || { kill $running; wait; }\n";
/// Beginnings of lines that lasthop prints if other programs keep the processors busy.
const BUSY: [&str; 2] = ["lasthop: the emulator did not run for ", "lasthop: warning: overloaded: "];

/// A command of a page, with its output there.
#[derive(Debug, Clone)]
struct Step {
    command: String,
    expected: String,
    /// Where the output is in the page.
    place: std::ops::Range<usize>,
    varies: bool,
    status: i32,
    line: usize,
}

/// What a session does, in order.
enum Item {
    Save { name: String, text: String },
    Run(Step),
}

/// Runs the commands of `page`. With `UPDATE_PAGES`, writes differing output into it.
pub fn check(page: &Page) -> Result<(), String> {
    if let Some(reason) = cannot_run(page) {
        skip::skip!("{}: {reason}", page.path);
        return Ok(());
    }
    let items = items(page)?;
    let folder = tempfile::tempdir().map_err(|error| format!("a folder: {error}"))?;
    let results = run(&items, folder.path())?;
    let mut text = page.text.clone();
    let mut differences = String::new();
    let steps = items.iter().filter_map(|item| match item {
        Item::Run(step) => Some(step),
        Item::Save { .. } => None,
    });
    let steps: Vec<_> = steps.zip(results).collect();
    for (step, result) in steps.into_iter().rev() {
        let place = format!("{}:{}: $ {}", page.path, step.line, step.command);
        let Some((actual, status)) = result else {
            differences.insert_str(0, &format!("{place}\nwas not reached, or did not end\n\n"));
            continue;
        };
        let normalized = output::normalized(&actual, &step.expected, step.varies);
        if normalized != step.expected {
            let shown = format!("{place}\n--- page\n{}--- output\n{normalized}\n", step.expected);
            differences.insert_str(0, &shown);
            text.replace_range(step.place.clone(), &normalized);
        }
        if status != step.status {
            let shown = format!("{place}\nexit status {status}, the page says {}\n{actual}\n", step.status);
            differences.insert_str(0, &shown);
        }
    }
    if text != page.text && crate::updates() {
        std::fs::write(crate::root().join(&page.path), text).map_err(|error| error.to_string())?;
    }
    if differences.is_empty() { Ok(()) } else { Err(differences) }
}

/// Returns the reason why the page's commands cannot run on this machine.
fn cannot_run(page: &Page) -> Option<String> {
    if !is_root() {
        return Some("pages run in namespaces of their own, which needs root".to_owned());
    }
    let uses = |word: &str| {
        let blocks = page.blocks.iter().filter(|block| matches!(block.content, Content::Run { .. }));
        blocks
            .into_iter()
            .any(|block| block.text.lines().any(|line| line.starts_with("$ ") && line.contains(word)))
    };
    if uses("virtual") || uses("lasthop gate") {
        let info = Command::new(env!("CARGO_BIN_EXE_lasthop")).args(["kernel", "show"]).output().ok()?;
        if !info.status.success() {
            return Some("the virtual-time kernel is not built (lasthop kernel build)".to_owned());
        }
    }
    for program in ["tshark", "curl", "python3"] {
        if uses(program) && which(program).is_none() {
            return Some(format!("{program} is not installed"));
        }
    }
    None
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

fn which(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| path.exists())
}

/// Returns what the session does.
fn items(page: &Page) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    for block in &page.blocks {
        match &block.content {
            Content::Toml(_, Some(name)) | Content::File(name) => {
                items.push(Item::Save { name: name.clone(), text: block.text.clone() });
            }
            Content::Run { varies, status } => {
                items.extend(steps(page, block, *varies, *status)?.into_iter().map(Item::Run));
            }
            _ => {}
        }
    }
    Ok(items)
}

/// Divides a block into commands and their output.
fn steps(page: &Page, block: &Block, varies: bool, status: i32) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    let mut continued = false;
    let mut at = block.range.start;
    for (index, line) in block.text.split_inclusive('\n').enumerate() {
        let end = at + line.len();
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.trim_end().to_owned(),
                expected: String::new(),
                place: end..end,
                varies,
                status: 0,
                line: block.line + index,
            });
            continued = command.trim_end().ends_with('\\');
        } else if let Some(step) = steps.last_mut() {
            if continued {
                step.command = format!("{}\n{}", step.command, line.trim_end());
                continued = line.trim_end().ends_with('\\');
                step.place = end..end;
            } else {
                step.expected.push_str(line);
                step.place.end = end;
            }
        } else {
            return Err(format!("{}:{}: output without a command", page.path, block.line));
        }
        at = end;
    }
    if let Some(last) = steps.last_mut() {
        last.status = status;
    }
    Ok(steps)
}

/// Runs the session in `folder`. Returns output and exit status of each command that ended.
fn run(items: &[Item], folder: &Path) -> Result<Vec<Option<(String, i32)>>, String> {
    let io = |error: std::io::Error| format!("cannot prepare the session: {error}");
    let (work, out, programs) = (folder.join("work"), folder.join("out"), folder.join("bin"));
    for made in [&work, &out, &programs] {
        std::fs::create_dir(made).map_err(io)?;
    }
    for shared in SHARED {
        symlink(crate::root().join(shared), work.join(shared)).map_err(io)?;
    }
    symlink(env!("CARGO_BIN_EXE_lasthop"), programs.join("lasthop")).map_err(io)?;
    let seen = folder.join("seen");
    let ending = format!("cp -r {} {}\n{END_JOBS}", out.display(), seen.display());
    std::fs::write(folder.join("script"), script(items, &work, &out)? + &ending).map_err(io)?;

    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("unshare")
        .args(["--net", "--pid", "--mount-proc", "--fork", "--kill-child", "bash"])
        .arg(folder.join("script"))
        .current_dir(&work)
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("LASTHOP_STATE_DIR", folder.join("state"))
        .env("PYTHONUNBUFFERED", "1")
        .env("LC_ALL", "C.UTF-8")
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(folder.join("errors")).map_err(io)?)
        .spawn()
        .map_err(|error| format!("cannot start unshare: {error}"))?;
    let end = Instant::now() + PATIENCE;
    while shell.try_wait().map_err(io)?.is_none() {
        if Instant::now() > end {
            let _ = shell.kill();
            let _ = shell.wait();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let errors = std::fs::read_to_string(folder.join("errors")).unwrap_or_default();
    if !errors.is_empty() {
        return Err(format!("the shell says: {errors}"));
    }
    let count = items.iter().filter(|item| matches!(item, Item::Run(_))).count();
    // A session that did not end has no copy.
    let out = if seen.exists() { seen } else { out };
    let result = |number: usize| {
        let status = std::fs::read_to_string(out.join(format!("{number}.status"))).ok()?;
        let output = std::fs::read(out.join(number.to_string())).ok()?;
        let output = String::from_utf8_lossy(&output).replace(&work.display().to_string(), "[..]");
        let lines = output.lines().filter(|line| !BUSY.iter().any(|busy| line.starts_with(busy)));
        let trimmed = lines.flat_map(|line| [line.trim_end(), "\n"]).collect();
        Some((trimmed, status.trim().parse().ok()?))
    };
    Ok((0..count).map(result).collect())
}

/// Returns the shell script of the session.
fn script(items: &[Item], work: &Path, out: &Path) -> Result<String, String> {
    // Pages run as root, which needs no sudo and may not have it.
    let mut script = format!("{NETWORK}\nsudo() {{ \"$@\"; }}\n");
    let mut number = 0;
    for item in items {
        match item {
            Item::Save { name, text } => {
                let saved = out.join(format!("saved-{number}-{}", name.replace('/', "-")));
                std::fs::write(&saved, text).map_err(|error| format!("{}: {error}", saved.display()))?;
                let _ = writeln!(script, "cp {} {}/{name}", saved.display(), work.display());
            }
            Item::Run(step) => {
                let file = out.join(number.to_string());
                let file = file.display();
                let _ = writeln!(script, "{{\n{}\n}} >{file} 2>&1\necho $? >{file}.status", step.command);
                if step.command.ends_with('&') {
                    if crate::updates() {
                        // The page may not have the output yet that tells when it is ready.
                        script.push_str("sleep 2\n");
                    }
                    let lines = step.expected.lines().filter(|line| *line != "...").count();
                    let _ = writeln!(
                        script,
                        "for _ in $(seq 200); do [ $(wc -l <{file}) -ge {lines} ] && break; sleep 0.05; done"
                    );
                }
                number += 1;
            }
        }
    }
    Ok(script)
}

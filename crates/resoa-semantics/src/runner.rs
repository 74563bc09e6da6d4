//! Runs cases, each in a process of its own with a time limit. A hang or a crash is an observation
//! like any other.

use crate::cases::Named;
use crate::outcome::Outcome;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time limit of a case. 20 MB through four processes took more than 20 s on a machine with thirty
/// other busy processes.
const LIMIT: Duration = Duration::from_mins(1);

/// Runs cases, `jobs` at a time, and returns their outcomes in the order of the cases. The child
/// processes run this program in the current world.
///
/// # Errors
/// If this program cannot be started again.
pub fn run(cases: &[Named], far: &Path, jobs: usize) -> io::Result<Vec<Outcome>> {
    let program = std::env::current_exe()?;
    let next = Mutex::new(0..cases.len());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let Some(number) = next.lock().ok().and_then(|mut next| next.next()) else { return };
                    let case = &cases[number];
                    let mut command = Command::new(&program);
                    command.arg("case").arg(&case.name).arg("--far").arg(far);
                    let (observations, is_whole) = observe(&mut command)
                        .unwrap_or_else(|error| (vec![format!("does not start: {error}")], false));
                    let outcome = Outcome {
                        case: case.name.clone(),
                        rows: case.rows.to_owned(),
                        observations,
                        is_whole,
                    };
                    if let Ok(mut done) = done.lock() {
                        done.push((number, outcome));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, outcome)| outcome).collect())
}

/// Returns the observations of a case, and whether it reaches its end.
fn observe(command: &mut Command) -> io::Result<(Vec<String>, bool)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let output = child.stdout.take().map(reader);
    let errors = child.stderr.take().map(reader);
    let ended = wait(&mut child, LIMIT)?;
    let text = |thread: Option<std::thread::JoinHandle<String>>| {
        thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
    };
    let mut observations: Vec<String> = text(output).lines().map(str::to_owned).collect();
    let errors = text(errors);
    if let Some(panic) = errors.lines().skip_while(|line| !line.contains("panicked at")).nth(1) {
        observations.push(format!("gives up: {panic}"));
    }
    match ended {
        None => observations.push("does not end".into()),
        Some(status) => match (status.signal(), status.code()) {
            (Some(number), _) => observations.push(format!("ended by {}", crate::names::signal(number))),
            (None, Some(0 | 101)) => {}
            (None, code) => observations.push(format!("status {code:?}: {}", errors.trim())),
        },
    }
    Ok((observations, ended.is_some_and(|status| status.success())))
}

/// Reads to the end on a thread. A child of the case may live on and hold the pipe; it is left
/// alone after the end of the case.
pub fn reader(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut octets = Vec::new();
        let _ = pipe.read_to_end(&mut octets);
        String::from_utf8_lossy(&octets).into_owned()
    })
}

/// Waits for a process. After `limit` it kills the process and returns `None`.
///
/// # Errors
/// Those of the kernel.
pub fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begin.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

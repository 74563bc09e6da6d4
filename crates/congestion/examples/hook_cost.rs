//! Measures what congestion controls cost as eBPF: nanoseconds per call of each hook, in a bulk
//! transfer that loses every hundredth packet. `make bench` runs it.
//!
//! A veth pair without offloads joins two namespaces. Times are the kernel's own
//! (`BPF_STATS_RUN_TIME`) and include reading the clock twice. `newreno` does the least and is the
//! lower bound.

#[path = "../tests/ground/mod.rs"]
mod ground;

use congestion::algorithms::{self, CATALOGUE};
use ground::{Cable, objects};
use libbpf_rs::query::ProgInfoIter;
use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

const BYTES: usize = 64 << 20;
const HOOKS: [&str; 7] =
    ["pkts_acked", "cong_avoid", "ssthresh", "set_state", "cwnd_event", "undo_cwnd", "init"];

fn main() -> Result<(), Box<dyn Error>> {
    let Some(cable) = Cable::new() else { return Ok(()) };
    cable.lose(100);
    // SAFETY: the call takes a number and returns a file descriptor. The kernel keeps statistics
    // while it is open.
    let statistics = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    if statistics < 0 {
        return Err(format!("statistics of eBPF programs: {}", io::Error::last_os_error()).into());
    }
    // SAFETY: the file descriptor is new and has no other owner.
    let _statistics = unsafe { OwnedFd::from_raw_fd(statistics) };
    println!("Congestion controls as eBPF, nanoseconds of a call by the kernel's clock (calls)");
    print!("{:<10}", "");
    for hook in HOOKS {
        print!("{hook:>18}");
    }
    println!();
    for algorithm in CATALOGUE {
        let name = format!("cost_{:x}", std::process::id());
        let before = objects::now();
        algorithms::load(algorithm.name, Some(&name), &[])?;
        let programs = objects::now().programs;
        let (mut from, mut to) = cable.connection(&name);
        ground::transfer(&mut from, &mut to, BYTES);
        let costs: BTreeMap<String, (u64, u64)> = ProgInfoIter::default()
            .filter(|program| programs.contains(&program.id) && !before.programs.contains(&program.id))
            .map(|program| {
                let hook = program.name.to_string_lossy().into_owned();
                (hook, (program.run_time_ns, program.run_cnt))
            })
            .collect();
        print!("{:<10}", algorithm.name);
        for hook in HOOKS {
            match costs.get(hook) {
                Some((time, calls)) if *calls > 0 => {
                    print!("{:>18}", format!("{:.0} ({calls})", *time as f64 / *calls as f64));
                }
                _ => print!("{:>18}", "-"),
            }
        }
        println!();
        drop((from, to));
        algorithms::unload(&name)?;
        objects::wait_until_only(&before);
    }
    Ok(())
}

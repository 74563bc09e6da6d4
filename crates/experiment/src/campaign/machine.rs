//! Descriptions of the machine and the kernel for the manifest.

use results::Machine;
use std::fs;
use std::thread::available_parallelism;

/// Returns the kernel's release, as `uname -r` prints it.
pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Returns a description of the machine; unknown values are empty or zero.
pub fn machine() -> Machine {
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        line.map(|line| line.trim_start_matches(['\t', ' ', ':']).to_owned()).unwrap_or_default()
    };
    let kilobytes: u64 = field("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse().unwrap_or(0);
    Machine {
        architecture: rustix::system::uname().machine().to_string_lossy().into_owned(),
        processor: field("/proc/cpuinfo", "model name"),
        processors: available_parallelism().map_or(1, |count| count.get() as u32),
        memory_bytes: kilobytes * 1024,
    }
}

/// Formats seconds since 1970 as `20260729T161500` in UTC.
#[must_use]
pub fn utc(seconds: u64) -> String {
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of year 0, in eras of 400 years (Hinnant, "chrono-compatible low-level
    // date algorithms").
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}", time / 3600, time / 60 % 60, time % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(utc(0), "19700101T000000");
        assert_eq!(utc(951_782_399), "20000228T235959");
        assert_eq!(utc(951_782_400), "20000229T000000");
        assert_eq!(utc(1_795_264_496), "20261121T123456");
    }

    #[test]
    fn the_machine_is_known() {
        let machine = machine();
        assert!(machine.processors >= 1 && machine.memory_bytes > 1 << 20, "{machine:?}");
        assert!(!kernel().is_empty());
    }
}

//! Files: captures, event logs, plans.
#![no_main]

mod capture;
mod event_log;
mod plan;
mod trace;

fuzz::group!(capture, event_log, plan, trace);

//! Link models, packet headers, traces and profiles.
#![no_main]

mod blocks;
mod cellreplay;
mod course;
mod erasures;
mod errant;
mod error_trace;
mod filter;
mod headers;
mod leocc;
mod mahimahi;
mod parameters;
mod probe_message;
mod profile;
mod quantiles;
mod header_repair;
mod rlp;
mod theaterq;
mod whole;

fuzz::group!(
    blocks,
    cellreplay,
    course,
    erasures,
    errant,
    error_trace,
    filter,
    headers,
    leocc,
    mahimahi,
    parameters,
    probe_message,
    profile,
    quantiles,
    header_repair,
    rlp,
    theaterq,
    whole
);

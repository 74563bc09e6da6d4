//! Link models, packet headers, traces and profiles.
#![no_main]

mod blocks;
mod course;
mod erasures;
mod error_trace;
mod filter;
mod headers;
mod mahimahi;
mod parameters;
mod profile;
mod quantiles;
mod header_repair;
mod rlp;
mod theaterq;
mod whole;

fuzz::group!(
    blocks,
    course,
    erasures,
    error_trace,
    filter,
    headers,
    mahimahi,
    parameters,
    profile,
    quantiles,
    header_repair,
    rlp,
    theaterq,
    whole
);

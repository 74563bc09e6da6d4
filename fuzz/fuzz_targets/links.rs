//! Models of links, headers of packets, traces and profiles.
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
mod recovery;
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
    recovery,
    rlp,
    theaterq,
    whole
);

//! Shows what the programs know and would do: for tests, and for diagnosis.

use crate::LiteError;
use crate::attach::{Lite, types};
use header_repair::{Bucket, Track};
use libbpf_rs::{MapCore, MapFlags, ProgramInput};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

/// Length of an Ethernet header in bytes.
const ETHERNET: usize = 14;

impl Lite {
    /// Returns what is remembered of a connection, or `None` if it is unknown. `refilled_ns` is of
    /// the kernel's monotonic clock.
    ///
    /// # Errors
    /// If the kernel's map cannot be read.
    pub fn track(&self, remote: SocketAddr, local: SocketAddr) -> Result<Option<Track>, LiteError> {
        let mut key = [0; 36];
        key[..16].copy_from_slice(&mapped(remote.ip()));
        key[16..32].copy_from_slice(&mapped(local.ip()));
        let ports = u32::from(remote.port()) << 16 | u32::from(local.port());
        key[32..].copy_from_slice(&ports.to_ne_bytes());
        let found = self.maps().tracks.lookup(&key, MapFlags::ANY);
        let found = found.map_err(|error| LiteError::Read(io::Error::other(error.to_string())))?;
        let found = found.filter(|bytes| bytes.len() >= size_of::<types::track>());
        Ok(found.map(|bytes| {
            // SAFETY: `track` is plain data, valid for any bytes, and there are enough bytes.
            let track: types::track = unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) };
            Track {
                contiguous: track.contiguous,
                highest: track.highest,
                ack: track.ack,
                window: u16::from_be(track.window),
                payload: track.payload,
                header_len: track.header_len,
                known: track.known != 0,
                sack_seen: track.sack_seen != 0,
                others: track.others,
                suspect: (track.suspected != 0).then_some(track.suspect),
                lite: track.lite != 0,
                options: track.options,
                bucket: Bucket { credit_ns: track.credit_ns, refilled_ns: track.refilled_ns },
            }
        }))
    }

    /// Returns the bytes that the programs would hand to the kernel for this IP packet, had it
    /// arrived at an interface of the calling thread's network namespace (`BPF_PROG_TEST_RUN`).
    /// Nothing is delivered, but what the programs remember and count changes.
    ///
    /// # Errors
    /// If the kernel rejects the packet because it is too short or too long.
    pub fn judge(&self, packet: &[u8]) -> io::Result<Vec<u8>> {
        let frame = framed(packet);
        let mut out = vec![0; frame.len()];
        let input =
            ProgramInput { data_in: Some(&frame), data_out: Some(&mut out), ..ProgramInput::default() };
        self.ethernet_program().test_run(input).map_err(|error| io::Error::other(format!("{error:#}")))?;
        Ok(out.split_off(ETHERNET))
    }

    /// Returns the total run time of the program for Ethernet devices in nanoseconds, and the
    /// number of packets that it has judged. The kernel counts only while run-time statistics are
    /// enabled (`BPF_STATS_RUN_TIME`).
    ///
    /// # Errors
    /// If the kernel does not return the program's information.
    pub fn run_time(&self) -> io::Result<(u64, u64)> {
        let descriptor = self.ethernet_program().as_fd().as_raw_fd();
        let mut info = libbpf_sys::bpf_prog_info::default();
        let mut len = size_of_val(&info) as u32;
        // SAFETY: the kernel fills at most `len` bytes of `info`, which is plain data.
        let status = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(descriptor, &raw mut info, &raw mut len) };
        if status < 0 { Err(io::Error::last_os_error()) } else { Ok((info.run_time_ns, info.run_cnt)) }
    }

    /// Judges the packet `times` times; returns the nanoseconds of one run, measured by the kernel.
    ///
    /// # Errors
    /// As [`judge`](Self::judge).
    pub fn time(&self, packet: &[u8], times: u32) -> io::Result<u64> {
        let frame = framed(packet);
        let input = ProgramInput { data_in: Some(&frame), repeat: times, ..ProgramInput::default() };
        let output = self
            .ethernet_program()
            .test_run(input)
            .map_err(|error| io::Error::other(format!("{error:#}")))?;
        Ok(output.duration.as_nanos() as u64)
    }
}

/// Returns the packet with the Ethernet header that a device would hand up.
fn framed(packet: &[u8]) -> Vec<u8> {
    let kind: u16 = if packet.first().is_some_and(|byte| byte >> 4 == 6) { 0x86dd } else { 0x0800 };
    let mut frame = vec![0; ETHERNET];
    frame[12..].copy_from_slice(&kind.to_be_bytes());
    frame.extend_from_slice(packet);
    frame
}

fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

//! A connection as the C side sees it: the fields that the hooks use, and the hooks of an algorithm
//! (`tests/user_side/user.h` has the same layout).

use std::ffi::{CStr, CString, c_char};

/// `struct lasthop_state`: the part that recorders read.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct State {
    pub mark: u32,
    pub mean: u32,
    pub dev: u32,
    pub rtt: u32,
    pub samples: u32,
    pub least: u32,
    pub span: u32,
    pub spanned: u32,
    pub n: u16,
    pub verdict: u8,
    pub reason: u8,
    pub base: u32,
    pub limit: u32,
    pub timeouts: u16,
    pub local: u16,
    pub events: u32,
    pub wireless: u32,
}

/// `struct tcp_sock`, as far as the hooks use it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Connection {
    pub snd_cwnd: u32,
    pub snd_cwnd_cnt: u32,
    pub snd_cwnd_clamp: u32,
    pub snd_ssthresh: u32,
    pub prior_cwnd: u32,
    pub max_packets_out: u32,
    pub lost_out: u32,
    pub sacked_out: u32,
    pub delivered: u32,
    pub snd_una: u32,
    pub snd_nxt: u32,
    pub is_cwnd_limited: u32,
    pub tcp_mstamp: u64,
    pub state: State,
    private: [u64; 6],
}

#[repr(C)]
struct Sample {
    pkts_acked: u32,
    rtt_us: i32,
}

#[repr(C)]
struct Hooks {
    ssthresh: unsafe extern "C" fn(*mut Connection) -> u32,
    cong_avoid: unsafe extern "C" fn(*mut Connection, u32, u32),
    set_state: unsafe extern "C" fn(*mut Connection, u8),
    cwnd_event: Option<unsafe extern "C" fn(*mut Connection, i32)>,
    pkts_acked: unsafe extern "C" fn(*mut Connection, *const Sample),
    undo_cwnd: unsafe extern "C" fn(*mut Connection) -> u32,
    init: unsafe extern "C" fn(*mut Connection),
    name: *const c_char,
}

unsafe extern "C" {
    fn user_algorithm(name: *const c_char) -> *const Hooks;
    fn user_parameter(algorithm: *const c_char, name: *const c_char) -> *mut u32;
    fn user_connection_size() -> usize;
}

/// An algorithm of the C side.
#[derive(Clone, Copy)]
pub struct Algorithm {
    pub name: &'static CStr,
    hooks: &'static Hooks,
}

impl Algorithm {
    /// Returns the algorithm of this name. Only one thread may use the C side, because parameters
    /// are global.
    pub fn find(name: &'static CStr) -> Self {
        // SAFETY: the function has no arguments and no effects.
        let size = unsafe { user_connection_size() };
        assert_eq!(size, size_of::<Connection>(), "both sides have the same layout");
        // SAFETY: the name ends with a zero; the result is a static of the C side or null.
        let hooks = unsafe { user_algorithm(name.as_ptr()).as_ref() }.expect("there is one of this name");
        // SAFETY: the name of each algorithm ends with a zero.
        assert_eq!(unsafe { CStr::from_ptr(hooks.name) }, name);
        Self { name, hooks }
    }

    /// Sets a parameter.
    pub fn set(self, name: &str, value: u32) {
        let name = CString::new(name).expect("a name");
        // SAFETY: both names end with a zero; the result is a static of the C side or null, and
        // only one thread writes it.
        let place = unsafe { user_parameter(self.name.as_ptr(), name.as_ptr()).as_mut() };
        *place.expect("the algorithm has such a parameter") = value;
    }

    /// Starts a connection.
    pub fn begin(self, cwnd: u32, next: u32) -> Connection {
        let mut connection = Connection {
            snd_cwnd: cwnd,
            snd_cwnd_cnt: 0,
            snd_cwnd_clamp: u32::MAX,
            snd_ssthresh: 0x7fff_ffff,
            prior_cwnd: 0,
            max_packets_out: 0,
            lost_out: 0,
            sacked_out: 0,
            delivered: 0,
            snd_una: next,
            snd_nxt: next,
            is_cwnd_limited: 1,
            tcp_mstamp: 0,
            // Previous contents must not matter.
            state: State { mean: 77, samples: 7, wireless: 7, ..State::default() },
            private: [0x0101_0101_0101_0101; 6],
        };
        // SAFETY: the connection has the C side's layout and outlives the call, as in all hooks
        // below.
        unsafe { (self.hooks.init)(&raw mut connection) };
        connection
    }

    pub fn pkts_acked(self, connection: &mut Connection, rtt_us: i32) {
        let sample = Sample { pkts_acked: 1, rtt_us };
        // SAFETY: as in `begin`.
        unsafe { (self.hooks.pkts_acked)(connection, &raw const sample) };
    }

    pub fn cong_avoid(self, connection: &mut Connection, acked: u32) {
        let una = connection.snd_una;
        // SAFETY: as in `begin`.
        unsafe { (self.hooks.cong_avoid)(connection, una, acked) };
    }

    pub fn ssthresh(self, connection: &mut Connection) -> u32 {
        // SAFETY: as in `begin`.
        unsafe { (self.hooks.ssthresh)(connection) }
    }

    pub fn set_state(self, connection: &mut Connection, state: u8) {
        // SAFETY: as in `begin`.
        unsafe { (self.hooks.set_state)(connection, state) };
    }

    /// Reports the end of a recovery (`CA_EVENT_COMPLETE_CWR`), or another event, which most
    /// algorithms ignore.
    pub fn cwnd_event(self, connection: &mut Connection, is_complete: bool) {
        if let Some(hook) = self.hooks.cwnd_event {
            // SAFETY: as in `begin`.
            unsafe { hook(connection, if is_complete { 2 } else { 1 }) };
        }
    }

    pub fn undo_cwnd(self, connection: &mut Connection) -> u32 {
        // SAFETY: as in `begin`.
        unsafe { (self.hooks.undo_cwnd)(connection) }
    }
}

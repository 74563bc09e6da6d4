//! Fields of a thread's `/proc/…/status` (proc(5)).

/// Bit number of CAP_NET_BIND_SERVICE (capabilities(7)).
pub(crate) const BIND_SERVICE: u32 = 10;

/// Returns the value of a field.
pub(crate) fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
}

/// Returns the value of a field that is a set of bits; 0 without the field.
pub(crate) fn mask(status: &str, name: &str) -> u64 {
    field(status, name).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

/// Returns whether the thread has the capability of this bit.
pub(crate) fn has_privilege(status: &str, bit: u32) -> bool {
    mask(status, "CapEff") & 1 << bit != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C31: the effective capability decides, and no other.
    #[test]
    fn privileges() {
        let has = |status| has_privilege(status, BIND_SERVICE);
        assert!(has("Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000400\n"));
        assert!(!has(
            "Name:\tx\nCapPrm:\t0000000000000400\nCapEff:\t0000000000000bff\nCapBnd:\t0000000000000400\n"
        ));
        assert!(!has(""));
    }
}

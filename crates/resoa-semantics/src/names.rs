//! Names of Linux's numbers, so that observations read like the manual pages.

use std::fmt::Write as _;

/// Returns the name of the constant among these that a number is, if any.
macro_rules! name {
    ($number:ident: $($name:ident)+) => {
        match $number {
            $(libc::$name => Some(stringify!($name)),)+
            _ => None,
        }
    };
}

/// Returns the name of an error number; the number if socket calls do not return it.
pub fn errno(number: i32) -> String {
    let name = name!(number:
        EPERM ENOENT EINTR EIO EBADF EAGAIN ENOMEM EACCES EFAULT EINVAL ENFILE EMFILE ENOTTY ESPIPE EPIPE EDOM ENOSYS ENODATA
        EPROTO ENOTSOCK EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EAFNOSUPPORT
        EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN ETIMEDOUT
        ECONNREFUSED EHOSTUNREACH EALREADY EINPROGRESS
    );
    name.map_or_else(|| format!("errno {number}"), str::to_owned)
}

/// Returns the name of a result of `getaddrinfo` or `getnameinfo`.
pub fn lookup(number: i32) -> String {
    let name = match number {
        0 => Some("0"),
        // Missing in the libc crate (netdb.h).
        -9 => Some("EAI_ADDRFAMILY"),
        _ => name!(number:
            EAI_BADFLAGS EAI_NONAME EAI_AGAIN EAI_FAIL EAI_FAMILY EAI_SOCKTYPE EAI_SERVICE EAI_SYSTEM EAI_OVERFLOW EAI_NODATA
        ),
    };
    name.map_or_else(|| format!("EAI {number}"), str::to_owned)
}

/// Returns the name of a signal.
pub fn signal(number: i32) -> String {
    let name = name!(number: SIGPIPE SIGIO SIGURG SIGUSR1 SIGSEGV SIGKILL SIGABRT SIGSYS);
    name.map_or_else(|| format!("signal {number}"), str::to_owned)
}

/// Formats the events of `poll`, as `IN|OUT` or `none`.
pub fn mask(events: i16) -> String {
    let names = [
        (libc::POLLIN, "IN"),
        (libc::POLLPRI, "PRI"),
        (libc::POLLOUT, "OUT"),
        (libc::POLLERR, "ERR"),
        (libc::POLLHUP, "HUP"),
        (libc::POLLNVAL, "NVAL"),
        (libc::POLLRDHUP, "RDHUP"),
    ];
    let mut text = String::new();
    for (bit, name) in names {
        if events & bit != 0 {
            let _ = write!(text, "{}{name}", if text.is_empty() { "" } else { "|" });
        }
    }
    if text.is_empty() { "none".into() } else { text }
}

/// Returns the name of a TCP state from `TCP_INFO`.
pub fn tcp_state(number: u8) -> &'static str {
    let names = [
        "?",
        "ESTABLISHED",
        "SYN_SENT",
        "SYN_RECV",
        "FIN_WAIT1",
        "FIN_WAIT2",
        "TIME_WAIT",
        "CLOSE",
        "CLOSE_WAIT",
        "LAST_ACK",
        "LISTEN",
        "CLOSING",
    ];
    names.get(usize::from(number)).copied().unwrap_or("?")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several bits are joined, and no bits have a name of their own.
    #[test]
    fn masks_are_written_as_in_the_manual() {
        assert_eq!(mask(libc::POLLIN | libc::POLLRDHUP), "IN|RDHUP");
        assert_eq!(mask(0), "none");
        assert_eq!(errno(libc::ECONNREFUSED), "ECONNREFUSED");
        assert_eq!(errno(9999), "errno 9999");
        assert_eq!(
            (lookup(-2), lookup(-9), lookup(7)),
            ("EAI_NONAME".into(), "EAI_ADDRFAMILY".into(), "EAI 7".into())
        );
    }
}

//! What numbers of Linux's are called, so that observations read like the manual pages.

use std::fmt::Write as _;

/// The name of an error number; the number if it is none of those that socket calls return.
pub fn errno(number: i32) -> String {
    let names = [
        (libc::EPERM, "EPERM"),
        (libc::ENOENT, "ENOENT"),
        (libc::EINTR, "EINTR"),
        (libc::EIO, "EIO"),
        (libc::EBADF, "EBADF"),
        (libc::EAGAIN, "EAGAIN"),
        (libc::ENOMEM, "ENOMEM"),
        (libc::EACCES, "EACCES"),
        (libc::EFAULT, "EFAULT"),
        (libc::EINVAL, "EINVAL"),
        (libc::ENFILE, "ENFILE"),
        (libc::EMFILE, "EMFILE"),
        (libc::ENOTTY, "ENOTTY"),
        (libc::ESPIPE, "ESPIPE"),
        (libc::EPIPE, "EPIPE"),
        (libc::EDOM, "EDOM"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::ENODATA, "ENODATA"),
        (libc::EPROTO, "EPROTO"),
        (libc::ENOTSOCK, "ENOTSOCK"),
        (libc::EDESTADDRREQ, "EDESTADDRREQ"),
        (libc::EMSGSIZE, "EMSGSIZE"),
        (libc::EPROTOTYPE, "EPROTOTYPE"),
        (libc::ENOPROTOOPT, "ENOPROTOOPT"),
        (libc::EPROTONOSUPPORT, "EPROTONOSUPPORT"),
        (libc::ESOCKTNOSUPPORT, "ESOCKTNOSUPPORT"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP"),
        (libc::EAFNOSUPPORT, "EAFNOSUPPORT"),
        (libc::EADDRINUSE, "EADDRINUSE"),
        (libc::EADDRNOTAVAIL, "EADDRNOTAVAIL"),
        (libc::ENETDOWN, "ENETDOWN"),
        (libc::ENETUNREACH, "ENETUNREACH"),
        (libc::ECONNABORTED, "ECONNABORTED"),
        (libc::ECONNRESET, "ECONNRESET"),
        (libc::ENOBUFS, "ENOBUFS"),
        (libc::EISCONN, "EISCONN"),
        (libc::ENOTCONN, "ENOTCONN"),
        (libc::ESHUTDOWN, "ESHUTDOWN"),
        (libc::ETIMEDOUT, "ETIMEDOUT"),
        (libc::ECONNREFUSED, "ECONNREFUSED"),
        (libc::EHOSTUNREACH, "EHOSTUNREACH"),
        (libc::EALREADY, "EALREADY"),
        (libc::EINPROGRESS, "EINPROGRESS"),
    ];
    named(number, &names).unwrap_or_else(|| format!("errno {number}"))
}

/// What `getaddrinfo` and `getnameinfo` return.
pub fn lookup(number: i32) -> String {
    let names = [
        (0, "0"),
        (libc::EAI_BADFLAGS, "EAI_BADFLAGS"),
        (libc::EAI_NONAME, "EAI_NONAME"),
        (libc::EAI_AGAIN, "EAI_AGAIN"),
        (libc::EAI_FAIL, "EAI_FAIL"),
        (libc::EAI_FAMILY, "EAI_FAMILY"),
        (libc::EAI_SOCKTYPE, "EAI_SOCKTYPE"),
        (libc::EAI_SERVICE, "EAI_SERVICE"),
        (libc::EAI_SYSTEM, "EAI_SYSTEM"),
        (libc::EAI_OVERFLOW, "EAI_OVERFLOW"),
        (-5, "EAI_NODATA"),
        (-9, "EAI_ADDRFAMILY"),
    ];
    named(number, &names).unwrap_or_else(|| format!("EAI {number}"))
}

/// The name of a signal.
pub fn signal(number: i32) -> String {
    let names = [
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGIO, "SIGIO"),
        (libc::SIGURG, "SIGURG"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGSYS, "SIGSYS"),
    ];
    named(number, &names).unwrap_or_else(|| format!("signal {number}"))
}

fn named(number: i32, names: &[(i32, &str)]) -> Option<String> {
    names.iter().find(|(which, _)| *which == number).map(|(_, name)| (*name).to_owned())
}

/// What `poll` says, as `IN|OUT`; `none`.
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

/// State of a TCP as `TCP_INFO` has it.
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

    /// Several bits are joined, none has a word of its own.
    #[test]
    fn masks_are_written_as_in_the_manual() {
        assert_eq!(mask(libc::POLLIN | libc::POLLRDHUP), "IN|RDHUP");
        assert_eq!(mask(0), "none");
        assert_eq!(errno(libc::ECONNREFUSED), "ECONNREFUSED");
        assert_eq!(errno(9999), "errno 9999");
    }
}

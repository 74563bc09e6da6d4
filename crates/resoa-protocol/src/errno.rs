//! Errors of socket calls: Linux's numbers for programs, and an enumeration of the protocol's own
//! on the wire.
//!
//! The server may run on a system with other numbers, so the wire carries [`Errno::code`].

use std::fmt;

macro_rules! errors {
    ($($name:ident = $code:literal, $linux:literal, $text:literal;)*) => {
        /// Error of a socket call.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Errno {
            $(#[doc = $text] $name,)*
        }

        impl Errno {
            /// All errors.
            pub const ALL: &[Errno] = &[$(Errno::$name,)*];

            /// Returns the number on the wire; never 0, which stands for success.
            #[must_use]
            pub const fn code(self) -> u8 {
                match self { $(Errno::$name => $code,)* }
            }

            /// Returns the number that Linux gives to programs (`asm-generic/errno.h`).
            #[must_use]
            pub const fn linux(self) -> i32 {
                match self { $(Errno::$name => $linux,)* }
            }

            /// Returns the error with this number on the wire.
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Errno::$name),)* _ => None }
            }

            /// Returns the error with this Linux number, as a server's kernel reports it.
            #[must_use]
            pub const fn from_linux(number: i32) -> Option<Self> {
                match number { $($linux => Some(Errno::$name),)* _ => None }
            }
        }

        impl fmt::Display for Errno {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Errno::$name => concat!(stringify!($name), ": ", $text),)* })
            }
        }
    };
}

errors! {
    EPERM = 1, 1, "operation not permitted";
    ENOENT = 2, 2, "no such protocol layer";
    EINTR = 3, 4, "interrupted by a signal";
    EBADF = 4, 9, "no such socket";
    EAGAIN = 5, 11, "would block";
    ENOMEM = 6, 12, "no memory";
    EACCES = 7, 13, "address needs a privilege";
    EINVAL = 8, 22, "not valid here";
    ENFILE = 9, 23, "no more sockets";
    EMFILE = 10, 24, "no more descriptors";
    EPIPE = 11, 32, "nothing can be sent any more";
    EDOM = 12, 33, "time out of range";
    EPROTO = 13, 71, "protocol error";
    EDESTADDRREQ = 14, 89, "no destination";
    EMSGSIZE = 15, 90, "datagram too long";
    EPROTOTYPE = 16, 91, "protocol of another type";
    ENOPROTOOPT = 17, 92, "no such option";
    EPROTONOSUPPORT = 18, 93, "no such protocol";
    ESOCKTNOSUPPORT = 19, 94, "no such type of socket";
    EOPNOTSUPP = 20, 95, "not for this type of socket";
    EAFNOSUPPORT = 21, 97, "no such address family";
    EADDRINUSE = 22, 98, "address in use";
    EADDRNOTAVAIL = 23, 99, "address not available";
    ENETDOWN = 24, 100, "network is down";
    ENETUNREACH = 25, 101, "network is unreachable";
    ECONNABORTED = 26, 103, "connection aborted";
    ECONNRESET = 27, 104, "connection reset";
    ENOBUFS = 28, 105, "no buffers";
    EISCONN = 29, 106, "already connected";
    ENOTCONN = 30, 107, "not connected";
    ETIMEDOUT = 31, 110, "timed out";
    ECONNREFUSED = 32, 111, "connection refused";
    EHOSTDOWN = 33, 112, "host is down";
    EHOSTUNREACH = 34, 113, "host is unreachable";
    EALREADY = 35, 114, "already in progress";
    EINPROGRESS = 36, 115, "now in progress";
    ENODEV = 37, 19, "no such interface";
}

impl std::error::Error for Errno {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both numbers map back to the error, and no wire number is 0.
    #[test]
    fn numbers_lead_back() {
        for &error in Errno::ALL {
            assert_eq!(Errno::from_code(error.code()), Some(error));
            assert_eq!(Errno::from_linux(error.linux()), Some(error));
            assert_ne!(error.code(), 0);
        }
        assert_eq!((Errno::from_code(0), Errno::from_code(200), Errno::from_linux(0)), (None, None, None));
    }
}

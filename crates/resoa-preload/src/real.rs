//! The C library's functions that ours replace, each looked up once.
//!
//! All are looked up when the library is loaded, so that a call in a signal handler need not do it.
//! A call that comes earlier looks up its own function.

use libc::{
    addrinfo, c_char, c_int, c_uint, c_ulong, c_void, iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t,
    ssize_t, timespec,
};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Finds the next function of this name after ours. There is no lock: concurrent callers find the
/// same function.
fn find(place: &AtomicPtr<c_void>, name: &'static std::ffi::CStr) -> *mut c_void {
    let known = place.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: the name ends with zero.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    place.store(found, Ordering::Relaxed);
    found
}

macro_rules! next {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        $(
            #[allow(clippy::too_many_arguments, reason = "as many as the C library's has")]
            #[doc = concat!("The C library's `", stringify!($name), "`.")]
            pub unsafe fn $name($($argument: $kind),*) -> $result {
                let found = find(&place::$name, name::$name);
                if found.is_null() {
                    missing(name::$name);
                }
                // SAFETY: the function of that name has that type, and our caller keeps its
                // conditions.
                unsafe {
                    let next: unsafe extern "C-unwind" fn($($kind),*) -> $result = std::mem::transmute(found);
                    next($($argument),*)
                }
            }
        )*
        mod place {
            use super::{AtomicPtr, c_void, ptr};
            $(
                #[allow(non_upper_case_globals, reason = "named as the function")]
                pub static $name: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
            )*
        }
        mod name {
            use std::ffi::CStr;
            $(
                #[allow(non_upper_case_globals, reason = "named as the function")]
                pub const $name: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => unreachable!(),
                };
            )*
        }
        fn find_all() {
            $(find(&place::$name, name::$name);)*
        }
    };
}

next! {
    socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    bind(descriptor: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    connect(descriptor: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    listen(descriptor: c_int, backlog: c_int) -> c_int;
    accept(descriptor: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    accept4(descriptor: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int;
    shutdown(descriptor: c_int, how: c_int) -> c_int;
    getsockname(descriptor: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    getpeername(descriptor: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    getsockopt(descriptor: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut socklen_t) -> c_int;
    setsockopt(descriptor: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> c_int;
    // These have a variable or unused argument. It is passed in a register either way.
    ioctl(descriptor: c_int, command: c_ulong, argument: *mut c_void) -> c_int;
    prctl(option: c_int, second: c_ulong, third: c_ulong, fourth: c_ulong, fifth: c_ulong) -> c_int;
    fcntl(descriptor: c_int, command: c_int, argument: c_ulong) -> c_int;
    fcntl64(descriptor: c_int, command: c_int, argument: c_ulong) -> c_int;
    write(descriptor: c_int, buffer: *const c_void, count: size_t) -> ssize_t;
    writev(descriptor: c_int, pieces: *const iovec, count: c_int) -> ssize_t;
    send(descriptor: c_int, buffer: *const c_void, count: size_t, flags: c_int) -> ssize_t;
    sendto(descriptor: c_int, buffer: *const c_void, count: size_t, flags: c_int, address: *const sockaddr, length: socklen_t) -> ssize_t;
    sendmsg(descriptor: c_int, message: *const msghdr, flags: c_int) -> ssize_t;
    sendmmsg(descriptor: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int;
    read(descriptor: c_int, buffer: *mut c_void, count: size_t) -> ssize_t;
    __read_chk(descriptor: c_int, buffer: *mut c_void, count: size_t, room: size_t) -> ssize_t;
    readv(descriptor: c_int, pieces: *const iovec, count: c_int) -> ssize_t;
    recv(descriptor: c_int, buffer: *mut c_void, count: size_t, flags: c_int) -> ssize_t;
    __recv_chk(descriptor: c_int, buffer: *mut c_void, count: size_t, room: size_t, flags: c_int) -> ssize_t;
    recvfrom(descriptor: c_int, buffer: *mut c_void, count: size_t, flags: c_int, address: *mut sockaddr, length: *mut socklen_t) -> ssize_t;
    __recvfrom_chk(descriptor: c_int, buffer: *mut c_void, count: size_t, room: size_t, flags: c_int, address: *mut sockaddr, length: *mut socklen_t) -> ssize_t;
    recvmsg(descriptor: c_int, message: *mut msghdr, flags: c_int) -> ssize_t;
    recvmmsg(descriptor: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, timeout: *mut timespec) -> c_int;
    poll(descriptors: *mut libc::pollfd, count: libc::nfds_t, timeout_ms: c_int) -> c_int;
    close(descriptor: c_int) -> c_int;
    close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int;
    closefrom(first: c_int) -> ();
    dup(descriptor: c_int) -> c_int;
    dup2(descriptor: c_int, number: c_int) -> c_int;
    dup3(descriptor: c_int, number: c_int, flags: c_int) -> c_int;
    getaddrinfo(node: *const c_char, service: *const c_char, hints: *const addrinfo, result: *mut *mut addrinfo) -> c_int;
    getnameinfo(address: *const sockaddr, length: socklen_t, host: *mut c_char, host_room: socklen_t, service: *mut c_char, service_room: socklen_t, flags: c_int) -> c_int;
    gethostbyname_r(name: *const c_char, host: *mut libc::hostent, buffer: *mut c_char, room: size_t, result: *mut *mut libc::hostent, error: *mut c_int) -> c_int;
    gethostbyname2_r(name: *const c_char, family: c_int, host: *mut libc::hostent, buffer: *mut c_char, room: size_t, result: *mut *mut libc::hostent, error: *mut c_int) -> c_int;
    gethostbyaddr_r(address: *const c_void, length: socklen_t, family: c_int, host: *mut libc::hostent, buffer: *mut c_char, room: size_t, result: *mut *mut libc::hostent, error: *mut c_int) -> c_int;
    gethostbyname(name: *const c_char) -> *mut libc::hostent;
    gethostbyname2(name: *const c_char, family: c_int) -> *mut libc::hostent;
    gethostbyaddr(address: *const c_void, length: socklen_t, family: c_int) -> *mut libc::hostent;
}

/// Aborts because the program called a function that this C library lacks. Without this library,
/// such a program would not have been loaded.
fn missing(name: &std::ffi::CStr) -> ! {
    let text = [b"libresoa_preload.so: this C library has no ", name.to_bytes(), b"\n"].concat();
    // SAFETY: the pointer and length are those of a text.
    unsafe {
        libc::syscall(libc::SYS_write, 2, text.as_ptr(), text.len());
        libc::abort()
    }
}

/// Runs when the dynamic linker loads the library. It reads the agent's path now, before the
/// program can change its environment.
extern "C" fn loaded() {
    find_all();
    crate::table::look_after();
    let _ = crate::agent::known();
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

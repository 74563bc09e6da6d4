//! Name look-ups (C49).

use crate::program::{alone, carried};
use libc::{addrinfo, c_char, c_int};
use std::ffi::CStr;
use std::net::SocketAddr;
use std::ptr;

fn look_up(
    host: Option<&CStr>,
    service: Option<&CStr>,
    hints: &addrinfo,
) -> Result<Vec<(SocketAddr, c_int)>, c_int> {
    let mut list = ptr::null_mut();
    let text = |text: Option<&CStr>| text.map_or(ptr::null(), CStr::as_ptr);
    let error = unsafe { libc::getaddrinfo(text(host), text(service), hints, &raw mut list) };
    if error != 0 {
        return Err(error);
    }
    let mut found = Vec::new();
    let mut entry = list;
    while let Some(known) = unsafe { entry.as_ref() } {
        let octets = unsafe { std::slice::from_raw_parts(known.ai_addr.cast(), known.ai_addrlen as usize) };
        let address = resoa_calls::address::read(octets).expect("an address").expect("of a family");
        found.push((address, known.ai_socktype));
        entry = known.ai_next;
    }
    unsafe { libc::freeaddrinfo(list) };
    Ok(found)
}

fn hints(family: c_int, flags: c_int) -> addrinfo {
    let mut hints: addrinfo = unsafe { std::mem::zeroed() };
    (hints.ai_family, hints.ai_flags, hints.ai_socktype) = (family, flags, libc::SOCK_STREAM);
    hints
}

/// The server looks up hosts. Services, numeric addresses and wrong arguments are decided in the
/// process.
#[test]
fn hosts_and_services() {
    let asked = carried("names::hosts_and_services", || {
        let v4: SocketAddr = ([192, 0, 2, 7], 80).into();
        let v6: SocketAddr = "[2001:db8::7]:80".parse().expect("an address");
        let stream = libc::SOCK_STREAM;
        let host = Some(c"example.org");
        assert_eq!(look_up(host, Some(c"http"), &hints(0, 0)), Ok(vec![(v4, stream), (v6, stream)]));
        assert_eq!(look_up(host, Some(c"80"), &hints(libc::AF_INET6, 0)), Ok(vec![(v6, stream)]));
        let mapped: SocketAddr = "[::ffff:192.0.2.7]:80".parse().expect("an address");
        let all = hints(libc::AF_INET6, libc::AI_V4MAPPED | libc::AI_ALL | libc::AI_CANONNAME);
        assert_eq!(look_up(host, Some(c"80"), &all), Ok(vec![(v6, stream), (mapped, stream)]));
        let any = addrinfo { ai_socktype: 0, ..hints(libc::AF_INET, 0) };
        assert_eq!(look_up(host, None, &any).map(|found| found.len()), Ok(3));
        assert_eq!(look_up(Some(c"nobody.example"), None, &hints(0, 0)), Err(libc::EAI_NONAME));
        assert_eq!(look_up(host, Some(c"no-such-service"), &hints(0, 0)), Err(libc::EAI_SERVICE));
        assert_eq!(look_up(host, None, &hints(0, 1 << 20)), Err(libc::EAI_BADFLAGS));
        assert_eq!(look_up(host, None, &hints(libc::AF_UNIX, 0)), Err(libc::EAI_FAMILY));
        assert_eq!(look_up(host, None, &hints(0, libc::AI_NUMERICHOST)), Err(libc::EAI_NONAME));
        assert_eq!(look_up(None, None, &hints(0, 0)), Err(libc::EAI_NONAME));
        let local: SocketAddr = ([127, 0, 0, 1], 80).into();
        assert_eq!(
            look_up(Some(c"localhost"), Some(c"80"), &hints(libc::AF_INET, 0)),
            Ok(vec![(local, stream)])
        );
        assert_eq!(look_up(Some(c"127.1"), Some(c"80"), &hints(0, 0)), Ok(vec![(local, stream)]));
    });
    // Each look-up that reaches the server sends one request; AI_ALL sends two.
    assert_eq!(asked.len(), 6, "{asked:?}");
}

/// The older functions find the same, and look up names of addresses.
#[test]
fn hosts_by_other_functions() {
    unsafe extern "C" {
        fn gethostbyname(name: *const c_char) -> *mut libc::hostent;
        fn gethostbyname_r(
            name: *const c_char,
            host: *mut libc::hostent,
            buffer: *mut c_char,
            room: usize,
            result: *mut *mut libc::hostent,
            error: *mut c_int,
        ) -> c_int;
        fn gethostbyaddr(address: *const libc::c_void, length: u32, family: c_int) -> *mut libc::hostent;
    }
    carried("names::hosts_by_other_functions", || unsafe {
        let host = &*gethostbyname(c"example.org".as_ptr());
        assert_eq!((host.h_addrtype, host.h_length), (libc::AF_INET, 4));
        assert_eq!(*(*host.h_addr_list).cast::<[u8; 4]>(), [192, 0, 2, 7]);
        assert!((*host.h_addr_list.add(1)).is_null() && (*host.h_aliases).is_null());
        assert!(gethostbyname(c"nobody.example".as_ptr()).is_null());
        let (mut place, mut buffer, mut result, mut error) =
            (std::mem::zeroed(), [0; 64], ptr::null_mut(), 0);
        let mut by_name = |room| {
            let returned = gethostbyname_r(
                c"example.org".as_ptr(),
                &raw mut place,
                buffer.as_mut_ptr(),
                room,
                &raw mut result,
                &raw mut error,
            );
            (returned, result.is_null(), error)
        };
        assert_eq!(by_name(20), (libc::ERANGE, true, -1));
        assert!(matches!(by_name(64), (0, false, _)));
        let host = &*gethostbyaddr([192u8, 0, 2, 7].as_ptr().cast(), 4, libc::AF_INET);
        assert_eq!(CStr::from_ptr(host.h_name), c"example.org");
        for (octet, flags, expected) in [
            (7, 0, Ok(c"example.org")),
            (8, 0, Ok(c"192.0.2.8")),
            (8, libc::NI_NAMEREQD, Err(libc::EAI_NONAME)),
            (7, libc::NI_NUMERICHOST, Ok(c"192.0.2.7")),
        ] {
            let address = resoa_calls::address::written(([192, 0, 2, octet], 80).into());
            let (mut name, mut service) = ([0; 64], [0; 16]);
            let error = libc::getnameinfo(
                address.as_ptr().cast(),
                16,
                name.as_mut_ptr(),
                64,
                service.as_mut_ptr(),
                16,
                flags,
            );
            let got = if error == 0 { Ok(CStr::from_ptr(name.as_ptr())) } else { Err(error) };
            assert_eq!(got, expected);
            if error == 0 {
                assert_eq!(CStr::from_ptr(service.as_ptr()), c"http");
            }
        }
    });
}

/// Without an agent names cannot be looked up; numeric addresses can.
#[test]
fn no_agent() {
    alone("names::no_agent", || {
        assert_eq!(look_up(Some(c"example.org"), None, &hints(0, 0)), Err(libc::EAI_AGAIN));
        assert_eq!(look_up(Some(c"192.0.2.1"), None, &hints(0, 0)).map(|found| found.len()), Ok(1));
    });
}

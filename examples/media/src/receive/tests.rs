//! Tests over the loopback, without TCP Lite: what is received, and what is refused.
//! `tests/link.rs` has those with TCP Lite.

use super::*;
use std::net::TcpListener;
use std::thread;

/// Serves one response per connection, and returns its URL.
fn serve(response: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = [0; 4096];
            let got = stream.read(&mut request).expect("a request");
            assert!(request[..got].starts_with(b"GET /file HTTP/1.1\r\n"));
            // In two parts, so that a header sometimes arrives in two reads.
            let (first, second) = response.split_at(response.len() / 3);
            let _ = stream.write_all(first).and_then(|()| stream.flush());
            let _ = stream.write_all(second);
        }
    });
    format!("http://{address}/file")
}

fn response(content_type: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.0 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

const OFF: Options = Options { lite: false, header_room: HEADER_ROOM };

#[test]
fn a_file_comes_as_it_is() {
    let sound = crate::test_sound::wav(&[1, -2, 3, -4]);
    let received = receive(&serve(response("audio/x-wav", sound.len(), &sound)), &OFF).expect("received");
    assert_eq!(received.body, sound);
    let Account { bytes, header_bytes, connections, lite, segments, .. } = received.account;
    assert_eq!((bytes, header_bytes, connections, lite), (sound.len(), 44, 1, false));
    assert_eq!(segments, None, "no TCP Lite is attached to a test");
}

#[test]
fn what_cannot_be_received_is_said() {
    let said = |response| receive(&serve(response), &OFF).expect_err("refused").to_string();
    let sound = crate::test_sound::wav(&[1, -2]);
    assert_eq!(said(response("audio/wav", 100, &sound)), "the connection ended after 48 bytes of 100");
    assert!(said(response("audio/wav", 12, b"RIFF....AVI ")).starts_with("not a WAV file"));
    assert!(said(response("text/plain", 2, b"hi")).contains("does not tolerate damage"));
    assert!(said(b"HTTP/1.0 200 OK\r\nContent-".to_vec()).contains("ended within the header"));
}

#[test]
fn a_host_without_tcp_lite_says_what_to_do() {
    let url = serve(response("audio/L16", 2, b"ab"));
    let refused = receive(&url, &Options { lite: true, ..OFF }).expect_err("refused").to_string();
    assert!(refused.contains("lasthop tcp-lite run --on-request"), "{refused}");
}

#[test]
fn ranges_are_those_of_the_body() {
    let ranges = BTreeSet::from([(50, 120), (120, 130), (125, 140), (200, 210), (290, 400)]);
    assert_eq!(joined(ranges, 100..300), [0..40, 100..110, 190..200]);
}

//! Lengths of TCP segments that change while a connection lives.

use std::process::Command;

use warpline_sim::{Event, NetworkError, NetworkOptions};

use crate::bench::{Bench, peer};

/// The next event about segments, and how long they are now.
fn changed(bench: &Bench) -> (warpline_sim::ConnectionHandle, usize) {
    let handle = bench.event(|which, event| (event == Event::SegmentChanged).then_some(which));
    (handle, bench.connections.segment(handle).unwrap())
}

/// Whether no event about segments waits.
fn is_silent(bench: &Bench) -> bool {
    std::iter::from_fn(|| bench.connections.next_event())
        .all(|(_, event)| event != Event::SegmentChanged)
}

// req: MPA-SEG-24
#[test]
fn another_length_is_reported_to_whoever_has_asked() {
    let bench = Bench::open(NetworkOptions::default());
    let (_, address) = bench.listen("127.0.0.1:0");
    let (_first, _second) = (peer(address), peer(address));
    let (asked, silent) = (bench.accepted(), bench.accepted());
    let kernel = bench.connections.segment(asked).unwrap();
    assert!(kernel > 2000, "{kernel}");
    bench.connections.limit_segments(Some(900));
    assert_eq!(changed(&bench), (asked, 900));
    assert!(is_silent(&bench), "nobody has asked for the other one");
    // The same again is no change, and neither is a limit above the kernel's.
    bench.connections.limit_segments(Some(900));
    assert!(is_silent(&bench));
    bench.connections.limit_segments(None);
    assert_eq!(changed(&bench), (asked, kernel));
    // An owner that has not taken the event yet gets one for all changes, and the last value.
    bench.connections.limit_segments(Some(800));
    bench.connections.limit_segments(Some(700));
    assert_eq!(changed(&bench), (asked, 700));
    assert!(is_silent(&bench));
    // An attached connection reports as well.
    let (sequence, _) = bench.connections.sequences(asked).unwrap();
    let _stream = bench.arm(0, sequence);
    bench.connections.attach(asked, 0, sequence, &[]).unwrap();
    bench.connections.limit_segments(Some(1200));
    assert_eq!(changed(&bench), (asked, 1200));
    bench.connections.close(asked);
    let closed = bench.connections.segment(asked);
    assert!(matches!(closed, Err(NetworkError::Closed)));
    bench.connections.limit_segments(None);
    assert!(is_silent(&bench));
    assert_eq!(bench.connections.segment(silent).unwrap(), kernel);
}

/// Sets the MTU of the loopback interface.
fn set_mtu(octets: u32) {
    let mtu = octets.to_string();
    let mut ip = Command::new("ip");
    let set = ip.args(["link", "set", "lo", "up", "mtu", &mtu]).status();
    let set = set.unwrap();
    assert!(set.success(), "ip: {set}");
}

/// The kernel's own path, whose MTU the test changes. IPv4 and TCP have 40 octets of header, and 12 of time stamps.
#[test]
#[ignore = "changes the MTU of lo, in a namespace of its own: make long-segments"]
fn the_kernels_own_change_is_reported() {
    set_mtu(1500);
    let bench = Bench::open(NetworkOptions::default());
    let (_, address) = bench.listen("127.0.0.1:0");
    let _peer = peer(address);
    let handle = bench.accepted();
    assert_eq!(bench.connections.segment(handle).unwrap(), 1500 - 52);
    let (sequence, _) = bench.connections.sequences(handle).unwrap();
    let _stream = bench.arm(0, sequence);
    bench.connections.attach(handle, 0, sequence, &[]).unwrap();
    for mtu in [1000, 700, 1400, 1500] {
        set_mtu(mtu);
        // It is noticed as octets are sent.
        assert_eq!(bench.connections.send(handle, &[0; 100]).unwrap(), 100);
        assert_eq!(changed(&bench), (handle, mtu as usize - 52));
    }
    assert_eq!(bench.connections.send(handle, &[0; 100]).unwrap(), 100);
    assert!(is_silent(&bench));
}

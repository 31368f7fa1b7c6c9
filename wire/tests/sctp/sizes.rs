//! The maximum DDP segment size (RFC 5043 §9).

use crate::{Log, PATH, Seen, common, peer, up};
use warpline_wire::sctp::{
    Control, Function, Ip, MIN_MAX_SEGMENT, Path, SACK_LEN, SendError, Settings, Ssn,
};

// req: SCTP-LIM-02, SCTP-LIM-03, AMB-36
#[test]
fn the_maximum_is_the_largest_without_fragmentation_or_516() {
    let golden = &common::vectors()["sctp_mulpdu"];
    for (name, ip, mtu) in [
        ("IPv4 1500", Ip::V4, 1500),
        ("IPv6 1500", Ip::V6, 1500),
        ("IPv4 9000", Ip::V4, 9000),
        ("IPv4 576", Ip::V4, 576),
        ("IPv6 1280", Ip::V6, 1280),
    ] {
        let expected = golden[name].as_u64().unwrap();
        assert_eq!(
            u64::from(Path::new(ip, mtu).max_segment(0)),
            expected,
            "{name}"
        );
    }
    assert_eq!(Path::new(Ip::V4, 500).max_segment(0), 516);
    assert_eq!(MIN_MAX_SEGMENT, 516);
    // 20 + 12 + 16 + 2 + 516 = 566, and up to the next multiple of four.
    assert_eq!(Path::new(Ip::V4, 567).max_segment(0), 516);
    assert_eq!(Path::new(Ip::V4, 568).max_segment(0), 518);
    for mtu in 0..=u16::MAX {
        for ip in [Ip::V4, Ip::V6] {
            let path = Path::new(ip, mtu);
            let octets = usize::from(path.max_segment(0));
            assert!((516..=64_768).contains(&octets));
            // As large as fits, and no larger, unless the floor or the ceiling says so.
            let user_data = octets + 2;
            assert!(path.fits(user_data) || octets == 516, "{path:?}");
            assert!(!path.fits(user_data + 1) || octets == 64_768, "{path:?}");
        }
    }
}

#[test]
fn encapsulation_takes_its_octets() {
    let udp = Path { extra: 8, ..PATH };
    assert_eq!(udp.max_segment(0), 1442);
    assert!(PATH.fits(1452) && !PATH.fits(1453));
    assert!(udp.fits(1444) && !udp.fits(1445));
}

// req: SCTP-LIM-05
#[test]
fn room_is_left_for_a_sack() {
    assert_eq!(Settings::default().reserve, SACK_LEN);
    assert_eq!(PATH.max_segment(SACK_LEN), 1434);
    assert_eq!(Path::new(Ip::V4, 570).max_segment(SACK_LEN), 516);
}

// req: SCTP-LIM-04
#[test]
fn only_what_no_packet_holds_needs_fragments() {
    let private_data = [0; 512];
    let control = Control {
        ssn: Ssn(0),
        function: Function::Initiate,
        private_data: &private_data,
    };
    let user_data = control.total_len();
    assert!(!Path::new(Ip::V4, 500).fits(user_data));
    // 20 + 12 + 16 + 516.
    assert!(!Path::new(Ip::V4, 563).fits(user_data));
    assert!(Path::new(Ip::V4, 564).fits(user_data));
    assert!(!Path::new(Ip::V6, 583).fits(user_data));
    assert!(Path::new(Ip::V6, 584).fits(user_data));
}

// req: SCTP-LIM-01
#[test]
fn ddp_learns_the_maximum_and_every_change_of_it() {
    let mut end = up(Settings::default(), 1);
    assert_eq!(end.max_segment(), 1434);
    let mut log = Log::default();
    end.path_changed(Path::new(Ip::V6, 1280), &mut log);
    assert_eq!(log.take(), [Seen::MaxSegment(1194)]);
    assert_eq!(end.max_segment(), 1194);
    // A path that leads to the same maximum is no news.
    end.path_changed(Path::new(Ip::V6, 1283), &mut log);
    assert_eq!(log.take(), []);
}

// req: SCTP-LIM-06
#[test]
fn larger_segments_are_refused_unless_they_were_cut_before() {
    let mut end = crate::active();
    let mut out = [0; 2000];
    assert_eq!(end.send(1, &[0; 18], &[0; 1416], &mut out), Ok(1436));
    let size = |len, max| Err(SendError::Size { len, max });
    assert_eq!(
        end.send(1, &[0; 18], &[0; 1417], &mut out),
        size(1435, 1434)
    );
    // Messages cut for the old maximum are sent as they are.
    end.path_changed(Path::new(Ip::V4, 576), &mut Log::default());
    assert_eq!(end.max_segment(), 516);
    assert_eq!(end.send(1, &[0; 18], &[0; 1416], &mut out), Ok(1436));
    assert_eq!(
        end.send(1, &[0; 18], &[0; 1417], &mut out),
        size(1435, 1434)
    );
    // A new association knows nothing of it.
    end.end(warpline_wire::sctp::Ending::Restarted, &mut Log::default());
    let mut peer = peer(4);
    peer.path = Path::new(Ip::V4, 576);
    end.established(&peer, &mut Log::default()).unwrap();
    crate::control(&mut end, 0, "0000 0001");
    end.accept(0, b"").unwrap();
    crate::sends(&mut end, 0, "0000 0002");
    assert_eq!(end.send(0, &[0; 18], &[0; 499], &mut out), size(517, 516));
    assert_eq!(end.send(0, &[0; 18], &[0; 498], &mut out), Ok(518));
    assert_eq!(out[..2], [0, 1]);
}

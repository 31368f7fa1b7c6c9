//! Untagged queues: MSNs, MOs, windows.

use super::*;

// req: DDP-UNT-02, DDP-UNT-04, DDP-UNT-06, DDP-UNT-07, DDP-DEL-02, DDP-DEL-03, AMB-06, AMB-43
#[test]
fn an_untagged_message_reports_length_and_rsvd_ulp_of_its_last_segment() {
    let mut first = send(1, 0, false, &pattern(0, 600));
    first[1..6].copy_from_slice(&[9; 5]);
    let ulpdus = [first, send(1, 600, true, &pattern(0, 300))];
    let log = feed(&mut default_receiver(), 1, &stream_of(false, ulpdus));
    assert_eq!(log.deliveries(), [(untagged(1, 900), Flags::empty())]);
}

// req: DDP-TAG-02, DDP-TAG-03, DDP-TAG-05, DDP-UNT-02, DDP-UNT-03, DDP-UNT-05
#[test]
fn the_ulps_octets_arrive_as_they_were_given() {
    for i in 0..64u64 {
        // Each bit of the forty alone, then several.
        let octets = match i {
            ..40 => (1u64 << i).to_be_bytes(),
            _ => (i * 0x9E_3779_B97F).to_be_bytes(),
        };
        let [_, _, _, rsvd_ulp @ ..] = octets;
        let tagged = Message::Tagged {
            stag: STAG,
            to: 0,
            rsvd_ulp: rsvd_ulp[4],
        };
        let untagged = Message::Untagged {
            qn: 0,
            msn: 1,
            rsvd_ulp,
        };
        let mut wire = Vec::new();
        let mut writer = FpduWriter::new(false, CrcField::Computed);
        for message in [tagged, untagged] {
            let at = wire.len();
            writer
                .append_message(message, &pattern(1, 300), 128, &mut wire)
                .unwrap();
            let mut framing = Framing::at(at as u32, FramingConfig::default());
            let (segments, error) = ulpdus(&mut framing, &wire[at..]);
            assert_eq!((segments.len(), error), (3, None));
            for segment in segments {
                match message {
                    Message::Tagged { rsvd_ulp, .. } => assert_eq!(segment[1], rsvd_ulp),
                    Message::Untagged { rsvd_ulp, .. } => assert_eq!(segment[1..6], rsvd_ulp),
                }
            }
        }
        let log = feed(&mut default_receiver(), 1, &wire);
        let given: Vec<_> = log
            .deliveries()
            .into_iter()
            .map(|(delivery, _)| match delivery {
                Delivery::Tagged { rsvd_ulp, .. } => vec![rsvd_ulp],
                Delivery::Untagged { rsvd_ulp, .. } => rsvd_ulp.to_vec(),
            })
            .collect();
        assert_eq!(given, [vec![rsvd_ulp[4]], rsvd_ulp.to_vec()]);
    }
}

// req: DDP-UNT-10, DDP-UNT-11, DDP-UNT-12, DDP-ORD-05, AMB-24
#[test]
fn msns_count_through_zero_and_each_is_delivered_once() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    receiver.open(1, StreamConfig::default()).unwrap();
    receiver.enable_queue(1, 0, 0xFFFF_FFFE).unwrap();
    let msns = [0xFFFF_FFFE, 0xFFFF_FFFF, 0, 1];
    for msn in msns {
        assert_eq!(receiver.post(1, 0, 10), Ok(msn));
    }
    let wire = stream_of(false, msns.map(|msn| send(msn, 0, true, b"0123456789")));
    let log = feed(&mut receiver, 1, &wire);
    let expected = msns.map(|msn| (untagged(msn, 10), Flags::empty()));
    assert_eq!(log.deliveries(), expected);
    // The MSN of a delivered message is behind the window.
    let again = stream_of(false, [send(1, 0, true, b"0123456789")]);
    let record = feed(&mut receiver, 1, &again).only_failure();
    assert_eq!(record.number, ErrorNumber::UntaggedMsnRange);
    assert_eq!(record.checks, Checks::MSN);
}

// req: DDP-ERR-07, DDP-ERR-11
#[test]
fn posting_a_buffer_moves_the_upper_bound() {
    let outcome = |posts| {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        receiver.open(1, StreamConfig::default()).unwrap();
        receiver.enable_queue(1, 0, 1).unwrap();
        for _ in 0..posts {
            receiver.post(1, 0, 10).unwrap();
        }
        let wire = stream_of(false, [send(1, 0, true, b"1"), send(2, 0, true, b"2")]);
        feed(&mut receiver, 1, &wire)
    };
    let record = outcome(1).failure().unwrap();
    assert_eq!(record.number, ErrorNumber::UntaggedNoBuffer);
    assert_eq!(record.checks, Checks::NOBUF);
    assert_eq!(outcome(2).failure(), None);
}

// req: AMB-07, DDP-SEG-12
#[test]
fn a_message_with_a_hole_is_delivered_and_says_so() {
    let ulpdus = [
        send(1, 0, false, b"0123"),
        send(1, 6, true, b"6789"),
        send(2, 0, true, b"whole"),
    ];
    let log = feed(&mut default_receiver(), 1, &stream_of(false, ulpdus));
    let expected = [
        (untagged(1, 10), Flags::HOLE),
        (untagged(2, 5), Flags::empty()),
    ];
    assert_eq!(log.deliveries(), expected);
}

// req: AMB-04, AMB-06, DDP-UNT-16, DDP-ORD-04, DDP-ORD-06
#[test]
fn in_window_mode_messages_may_overtake_but_are_delivered_in_order() {
    let config = StreamConfig {
        msn_mode: MsnMode::Window,
        ..StreamConfig::default()
    };
    let mut receiver = receiver(ReceiverConfig::default(), config);
    let ulpdus = [
        send(2, 0, true, b"second"),
        send(2, 0, true, b"again!"),
        send(1, 0, true, b"first"),
    ];
    let log = feed(&mut receiver, 1, &stream_of(false, ulpdus));
    assert_eq!(log.placements().len(), 3);
    let second = (untagged(2, 6), Flags::HOLE | Flags::ANOMALY);
    assert_eq!(log.deliveries(), [(untagged(1, 5), Flags::empty()), second]);
}

// req: AMB-04, AMB-24
#[test]
fn a_window_ends_where_the_receiver_says() {
    let outcome = |msn_mode, window, msns: &[u32]| {
        let config = ReceiverConfig {
            window,
            ..ReceiverConfig::default()
        };
        let stream = StreamConfig {
            msn_mode,
            ..StreamConfig::default()
        };
        let mut receiver = Receiver::new(config);
        receiver.open(1, stream).unwrap();
        receiver.enable_queue(1, 0, u32::MAX).unwrap();
        for _ in 0..4 {
            receiver.post(1, 0, 10).unwrap();
        }
        let ulpdus = msns.iter().map(|&msn| send(msn, 0, true, b"1"));
        let log = feed(&mut receiver, 1, &stream_of(false, ulpdus));
        (
            log.deliveries().len(),
            log.failure().map(|record| record.number),
        )
    };
    let none = Some(ErrorNumber::UntaggedNoBuffer);
    assert_eq!(outcome(MsnMode::Window, 3, &[1, 0, u32::MAX]), (3, None));
    assert_eq!(outcome(MsnMode::Window, 2, &[1]), (0, none));
    assert_eq!(outcome(MsnMode::Window, 2, &[u32::MAX, 1, 0]), (3, None));
    assert_eq!(outcome(MsnMode::Strict, 2, &[u32::MAX, 0, 1]), (3, None));
}

// req: AMB-07, DDP-SEG-12
#[test]
fn with_strict_mos_each_segment_begins_where_the_last_one_ended() {
    let outcome = |segments: &[(u32, bool, &[u8])]| {
        let config = StreamConfig {
            strict_mo: true,
            ..StreamConfig::default()
        };
        let mut receiver = receiver(ReceiverConfig::default(), config);
        let ulpdus = segments
            .iter()
            .map(|&(mo, last, octets)| send(1, mo, last, octets));
        let log = feed(&mut receiver, 1, &stream_of(false, ulpdus));
        let failure = log.failure().map(|record| (record.number, record.checks));
        (log.deliveries().len(), failure)
    };
    let refused = Some((ErrorNumber::UntaggedMo, Checks::MO));
    let zeros = &[0; 1000];
    assert_eq!(outcome(&[(0, false, b"abc"), (3, true, b"d")]), (1, None));
    assert_eq!(outcome(&[(0, false, b""), (0, true, zeros)]), (1, None));
    assert_eq!(outcome(&[(0, false, zeros), (1000, true, b"")]), (1, None));
    assert_eq!(outcome(&[(1, true, b"abc")]), (0, refused));
    assert_eq!(outcome(&[(1, true, b"")]), (0, refused));
    assert_eq!(
        outcome(&[(0, false, b"abc"), (4, true, b"d")]),
        (0, refused)
    );
    assert_eq!(
        outcome(&[(0, false, b"abc"), (0, true, b"abc")]),
        (0, refused)
    );
    let both = Some((ErrorNumber::UntaggedMo, Checks::MO | Checks::LEN));
    assert_eq!(
        outcome(&[(0, false, b"a"), (990, true, &zeros[..11])]),
        (0, both)
    );
}

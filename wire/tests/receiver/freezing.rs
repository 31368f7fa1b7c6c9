//! The first error of a stream, and calls that are refused.

use super::*;

// req: MPA-CRC-18, MPA-CRC-19, MPA-ERR-04, MPA-ERR-12, DDP-ERR-17, DDP-ERR-20, DDP-ORD-07, AMB-10
#[test]
fn the_first_error_freezes_its_stream_and_no_other() {
    let good = [
        send(1, 0, true, b"before"),
        write(STAG, 0, true, b"before too"),
    ];
    let mut wire = stream_of(false, good);
    let failing_at = wire.len();
    let mut writer = FpduWriter::at(failing_at as u32, false, CrcField::Computed);
    let failing = send(2, 0, true, b"last octet bad");
    writer.append(&failing, &[], &mut wire).unwrap();
    let last_payload_octet = failing_at + 2 + failing.len() - 1;
    wire[last_payload_octet] ^= 0x01;
    let after = wire.len();
    for msn in 2..8 {
        let ulpdu = send(msn, 0, true, b"after");
        writer.append(&ulpdu, &[], &mut wire).unwrap();
    }

    let mut receiver = default_receiver();
    let log = feed(&mut receiver, 1, &wire);
    assert_eq!(log.deliveries().len(), 2);
    assert_eq!(log.placements().len(), 2);
    assert!(matches!(log.0.last(), Some(Seen::Failed(_))));
    let record = log.failure().unwrap();
    assert_eq!(record.number, ErrorNumber::MpaCrc);
    assert_eq!((record.stream, record.position), (1, failing_at as u32));
    assert_eq!(usize::from(record.ulpdu_len), failing.len());
    assert_eq!(receiver.is_frozen(1), Ok(true));

    let more = stream_of(false, [send(2, 0, true, b"later")]);
    assert_eq!(feed(&mut receiver, 1, &more), Log::default());
    let dropped = (wire.len() - after + more.len()) as u64;
    assert_eq!(receiver.counters(1).unwrap().frozen_octets, dropped);
    assert_eq!(receiver.counters(1).unwrap().fpdus, 2);

    let other = stream_of(false, [send(1, 0, true, b"fine")]);
    assert_eq!(feed(&mut receiver, 2, &other).deliveries().len(), 1);
    assert_eq!(receiver.is_frozen(2), Ok(false));
}

// req: DDP-ERR-17, DDP-ERR-20, DDP-TEAR-14, AMB-56
#[test]
fn a_ddp_error_freezes_too_and_its_fpdu_counts_as_valid() {
    let ulpdus = [
        write(STAG, 4090, true, b"seven o"),
        write(STAG, 0, true, b"fine"),
    ];
    let mut receiver = default_receiver();
    let log = feed(&mut receiver, 1, &stream_of(false, ulpdus));
    let record = log.only_failure();
    assert_eq!(record.number, ErrorNumber::TaggedBounds);
    assert_eq!(record.checks, Checks::END);
    assert_eq!(receiver.counters(1).unwrap().fpdus, 1);
    assert_eq!(receiver.counters(1).unwrap().placed_octets, 0);
}

// req: DDP-HDR-14, AMB-20
#[test]
fn a_short_ulpdu_reports_short_and_what_exists_of_its_header() {
    for (first, header_len) in [(0xC0u8, 14), (0x42, 18)] {
        for len in 0..header_len {
            let mut ulpdu = vec![0xEE; len];
            if let Some(control) = ulpdu.first_mut() {
                *control = first; // DV is wrong too, but is not judged
            }
            let wire = stream_of(false, [&ulpdu]);
            let record = feed(&mut default_receiver(), 1, &wire).only_failure();
            assert_eq!(record.number, ErrorNumber::LocalCatastrophic);
            assert_eq!(record.checks, Checks::SHORT);
            assert_eq!(record.header.as_slice(), ulpdu);
        }
    }
}

#[test]
fn calls_that_name_nothing_are_refused() {
    let mut receiver = default_receiver();
    let unknown = Err(ReceiverError::UnknownStream { stream: 9 });
    let mut log = Log::default();
    assert_eq!(receiver.receive(9, b"x", &mut log), unknown);
    assert_eq!(receiver.tcp_segment(9, 0, b"x", &mut log), unknown);
    assert_eq!(receiver.close(9), unknown);
    assert_eq!(receiver.enable_queue(9, 0, 1), unknown);
    let (stream, queue) = (1, 5);
    assert_eq!(
        receiver.open(1, StreamConfig::default()),
        Err(ReceiverError::StreamOpen { stream })
    );
    assert_eq!(
        receiver.post(1, 5, 1),
        Err(ReceiverError::UnknownQueue { stream, queue })
    );
    assert_eq!(
        receiver.enable_queue(1, 0, 1),
        Err(ReceiverError::QueueEnabled { stream, queue: 0 })
    );
    receiver.close(1).unwrap();
    receiver.open(1, StreamConfig::default()).unwrap();
    assert_eq!(log, Log::default());
}

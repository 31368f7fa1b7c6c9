//! Ends and errors of streams.

use super::*;

// req: MPA-RCV-16, MPA-ERR-15, MPA-ERR-17, DDP-TEAR-09, LLP-09, AMB-31
#[test]
fn a_stream_that_its_peer_closes_keeps_its_buffers_until_it_is_closed_here() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let stream = arm(&domain, 3);
    let mut buffers = context.buffers(3, 64).unwrap().into_iter();
    let mut post = || {
        let queue = stream.receive_queue(0).unwrap();
        queue.post(buffers.next().unwrap()).unwrap()
    };
    post();
    post();
    let mut peer = Peer::new(&card, &stream, 0xFFFF_FF00);
    peer.untagged(0, 1, b"good");
    card.finish(3);
    let completions = all(&context.completion_queue());
    let [Completion::Untagged(good), Completion::Closed(event)] = &completions[..] else {
        panic!("{completions:?}");
    };
    assert_eq!(good.msn, 1);
    assert_eq!((event.stream, event.position), (3, 28));
    assert_eq!(completions[1].stream(), 3);
    assert_eq!(post(), 3, "half closed is no error");
    assert_eq!(stream.error_record().unwrap(), None);
    stream.close().unwrap();
    let flushed = all(&context.completion_queue());
    assert!(matches!(
        &flushed[..],
        [Completion::Flushed(a), Completion::Flushed(b)] if (a.msn, b.msn) == (2, 3)
    ));
    // Armed again, the stream is open.
    let stream = arm(&domain, 3);
    Peer::new(&card, &stream, 0xFFFF_FF00).write(7, 0, b"");
    assert!(matches!(
        all(&context.completion_queue())[..],
        [Completion::Tagged(_)]
    ));
    card.assert_no_violations();
}

/// A missing buffer is told from errors of what the peer sends: by the event, and by a counter of its own.
// req: DDP-ERR-08
#[test]
fn a_missing_buffer_is_a_fault_of_the_system() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let streams = [0, 1, 2].map(|number| arm(&domain, number));
    let missing = || context.counters().unwrap().missing_buffers;
    // Octets that no peer may send, and a message that is longer than its buffer.
    let mut peers = streams
        .each_ref()
        .map(|stream| Peer::new(&card, stream, 0xFFFF_FF00));
    let buffers = context.buffers(2, 4).unwrap();
    for (stream, buffer) in streams.iter().zip(buffers) {
        stream.receive_queue(0).unwrap().post(buffer).unwrap();
    }
    peers[0].write(0x1234, 0, b"no such STag");
    peers[1].untagged(0, 1, b"more than four");
    let found = all(&context.completion_queue());
    let errors = found.iter().filter_map(|completion| match completion {
        Completion::Error(event) => Some(event.is_missing_buffer()),
        _ => None,
    });
    assert_eq!(errors.collect::<Vec<_>>(), [false, false]);
    assert_eq!(missing(), 0);
    // The third stream has no buffer at all.
    peers[2].untagged(0, 1, b"");
    let found = all(&context.completion_queue());
    let [Completion::Error(event)] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(event.is_missing_buffer());
    assert_eq!((event.stream, event.checks), (2, Checks::NOBUF));
    assert_eq!(missing(), 1);
    card.assert_no_violations();
}

// req: MPA-ERR-01, MPA-ERR-03, DDP-TEAR-08, DDP-TEAR-12, DDP-TEAR-15, DDP-ERR-01, AMB-31, AMB-57
#[test]
fn each_end_of_a_connection_that_is_no_clean_close_is_fatal() {
    for ending in [Ending::Truncated, Ending::Lost, Ending::BehindFin] {
        let card = SoftwareCard::default();
        let context = open(&card, 64);
        let domain = context.protection_domain().unwrap();
        let stream = arm(&domain, 1);
        let mut buffers = context.buffers(2, 64).unwrap().into_iter();
        let queue = stream.receive_queue(0).unwrap();
        queue.post(buffers.next().unwrap()).unwrap();
        let mut peer = Peer::new(&card, &stream, 0xFFFF_FF00);
        match ending {
            Ending::Truncated => {
                peer.send_octets(&[0, 100, 0x41]);
                card.finish(1);
            }
            Ending::Lost => card.lose(1),
            Ending::BehindFin => {
                card.finish(1);
                peer.send_octets(&[0]);
            }
        }
        let mut completions = all(&context.completion_queue());
        if ending == Ending::BehindFin {
            let first = completions.remove(0);
            assert!(matches!(first, Completion::Closed(event) if event.position == 0));
        }
        let [Completion::Error(event), Completion::Flushed(_)] = &completions[..] else {
            panic!("{completions:?}");
        };
        assert_eq!(event.number, ErrorNumber::MpaConnection);
        let refused = queue.post(buffers.next().unwrap()).unwrap_err();
        assert!(matches!(refused.error, Error::StreamFailed { stream: 1 }));
        let record = stream.error_record().unwrap().unwrap();
        assert_eq!(record.detail, ErrorDetail::Connection(ending));
        assert!(record.header.as_slice().is_empty());
        card.assert_no_violations();
    }
}

// req: AMB-09, DDP-TEAR-13, MPA-ERR-04, MPA-CRC-19, MPA-CRC-03, MPA-ERR-02
#[test]
fn a_wrong_crc_is_reported_with_the_right_one() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let stream = arm(&domain, 0);
    let mut octets = Vec::new();
    let message = Message::Tagged {
        stag: 1,
        to: 2,
        rsvd_ulp: 3,
    };
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    writer
        .append_message(message, &[9; 40], 1000, &mut octets)
        .unwrap();
    let end = octets.len();
    let right = u32::from_le_bytes(octets[end - 4..].try_into().unwrap());
    octets[end - 1] ^= 0x80;
    Peer::new(&card, &stream, 0xFFFF_FF00).send_octets(&octets);
    let record = stream.error_record().unwrap().unwrap();
    assert_eq!(context.error_record(0).unwrap().as_ref(), Some(&record));
    assert_eq!(record.number, ErrorNumber::MpaCrc);
    let received = right ^ 0x8000_0000;
    let detail = ErrorDetail::Crc {
        expected: right,
        received,
    };
    assert_eq!(record.detail, detail);
    assert!(record.checks.is_empty());
}

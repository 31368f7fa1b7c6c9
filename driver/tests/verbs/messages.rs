//! Receive buffers and the messages that come in them.

use super::*;

// req: DDP-ERR-07, AMB-24, DDP-DEL-02, DDP-DEL-04
#[test]
fn posted_buffers_come_back_with_their_messages() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let options = StreamOptions {
        first_msn: 0xFFFF_FFFF,
        queues: 0b101,
        ..Default::default()
    };
    let stream = domain.arm(2, options).unwrap();
    assert!(matches!(
        stream.receive_queue(1),
        Err(Error::NoQueue {
            stream: 2,
            queue: 1
        })
    ));
    let queue = stream.receive_queue(2).unwrap();
    let msns: Vec<u32> = context
        .buffers(3, 100)
        .unwrap()
        .into_iter()
        .map(|buffer| queue.post(buffer).unwrap())
        .collect();
    assert_eq!(msns, [0xFFFF_FFFF, 0, 1]);
    let mut peer = Peer::new(&card, &stream, 0);
    peer.untagged(2, 0xFFFF_FFFF, &[5; 100]);
    peer.untagged(2, 0, b"");
    peer.untagged(2, 1, b"third");
    for (i, octets) in [&[5; 100][..], b"", b"third"].into_iter().enumerate() {
        match context.completion_queue().poll().unwrap() {
            Some(Completion::Untagged(completion)) => {
                assert_eq!((completion.stream, completion.queue), (2, 2));
                assert_eq!(completion.msn, msns[i]);
                assert_eq!(completion.buffer.id(), i as u64);
                assert_eq!(completion.length as usize, octets.len());
                assert_eq!(completion.buffer.to_vec()[..octets.len()], *octets);
                assert_eq!(completion.rsvd_ulp, [0x43, 1, 2, 3, 4]);
            }
            other => panic!("{other:?}"),
        }
    }
    stream.close().unwrap();
    assert!(all(&context.completion_queue()).is_empty());
    card.assert_no_violations();
}

// req: AMB-09, AMB-10, DDP-UNT-11, DDP-TEAR-15, DDP-TEAR-17, DDP-ERR-18, DDP-ERR-19, DDP-SEC-14
#[test]
fn an_error_comes_behind_deliveries_and_flushes_what_is_posted() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let stream = arm(&domain, 3);
    let mut buffers = context.buffers(6, 64).unwrap().into_iter();
    for queue in [1, 0, 0, 1, 0] {
        let queue = stream.receive_queue(queue).unwrap();
        queue.post(buffers.next().unwrap()).unwrap();
    }
    let mut peer = Peer::new(&card, &stream, 0xFFFF_FF00);
    peer.untagged(0, 1, b"good");
    peer.untagged(0, 9, b"wrong MSN");
    peer.untagged(0, 2, b"too late");
    let completions = all(&context.completion_queue());
    let [
        Completion::Untagged(good),
        Completion::Error(event),
        flushed @ ..,
    ] = &completions[..]
    else {
        panic!("{completions:?}");
    };
    assert_eq!((good.msn, good.buffer.id()), (1, 1));
    assert_eq!(event.stream, 3);
    assert_eq!(event.number, ErrorNumber::UntaggedMsnRange);
    assert_eq!(event.checks, Checks::MSN);
    assert_eq!((event.segment_length, event.position), (18 + 9, 28));
    let flushed: Vec<_> = flushed
        .iter()
        .map(|completion| match completion {
            Completion::Flushed(receive) => (receive.queue, receive.msn, receive.buffer.id()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(flushed, [(0, 2, 2), (0, 3, 4), (1, 1, 0), (1, 2, 3)]);

    let queue = stream.receive_queue(0).unwrap();
    let refused = queue.post(buffers.next().unwrap()).unwrap_err();
    assert!(matches!(refused.error, Error::StreamFailed { stream: 3 }));
    assert_eq!(refused.item.map(|buffer| buffer.id()), Some(5));

    let record = stream.error_record().unwrap().unwrap();
    assert_eq!(record.number, event.number);
    assert_eq!(record.header.as_slice().len(), 18);
    assert_eq!(record.header.as_slice()[..2], [0x41, 0x43]);
    assert_eq!(record.detail, ErrorDetail::None);
    stream.close().unwrap();
    assert!(all(&context.completion_queue()).is_empty());
    // Armed again, the stream works.
    let stream = arm(&domain, 3);
    assert_eq!(stream.error_record().unwrap(), None);
    card.assert_no_violations();
}

#[test]
fn a_full_queue_takes_no_more() {
    const SLOTS: u32 = 16;
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let options = StreamOptions {
        receive_entries: SLOTS,
        ..Default::default()
    };
    let stream = domain.arm(0, options).unwrap();
    let queue = stream.receive_queue(0).unwrap();
    let mut buffers = context.buffers(SLOTS as usize + 1, 4).unwrap();
    let one_more = buffers.pop().unwrap();
    for buffer in buffers {
        queue.post(buffer).unwrap();
    }
    let full = queue.post(one_more).unwrap_err();
    assert!(matches!(
        full.error,
        Error::QueueFull {
            stream: 0,
            queue: 0,
            slots: SLOTS
        }
    ));
    // A message frees an entry, whether or not its completion was polled.
    Peer::new(&card, &stream, 0).untagged(0, 1, b"room");
    assert_eq!(queue.post(full.item.unwrap()).unwrap(), SLOTS + 1);
    stream.close().unwrap();
    let completions = all(&context.completion_queue());
    assert!(matches!(completions[0], Completion::Untagged(_)));
    let flushed = |completion: &Completion| matches!(completion, Completion::Flushed(_));
    assert!(completions[1..].iter().all(flushed));
    assert_eq!(completions.len(), 1 + SLOTS as usize);
    card.assert_no_violations();
}

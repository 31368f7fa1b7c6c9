//! The completion queue: every entry once, in order, and none that means nothing.

use super::*;

// req: DDP-DEL-01
#[test]
fn a_full_completion_queue_is_not_overrun() {
    let card = SoftwareCard::default();
    let context = open(&card, 4);
    let domain = context.protection_domain().unwrap();
    let region = domain
        .register(DmaMemory::new(64).unwrap(), Registration::default())
        .unwrap();
    let stream = arm(&domain, 0);
    let mut peer = Peer::new(&card, &stream, 0xFFFF_FF00);
    for i in 0..20 {
        peer.write(region.stag(), region.base() + i, &[1]);
    }
    let offsets = |completions: Vec<Completion>| -> Vec<u64> {
        completions
            .iter()
            .map(|completion| match completion {
                Completion::Tagged(completion) => completion.offset - region.base(),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(card.model().most_unread, 4);
    let first = context.completion_queue().poll().unwrap().unwrap();
    assert_eq!(offsets(vec![first]), [0]);
    // Closing waits for writes that wait for room in the queue.
    stream.close().unwrap();
    assert_eq!(
        offsets(all(&context.completion_queue())),
        (1..20).collect::<Vec<_>>()
    );
    assert_eq!(card.model().most_unread, 4);
    card.assert_no_violations();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn completions_arrive_once_and_in_order(
        log_entries in 0_u32..5,
        steps in prop::collection::vec((0_usize..12, 0_usize..12), 1..30),
    ) {
        let card = SoftwareCard::default();
        let context = open(&card, 1 << log_entries);
        let domain = context.protection_domain().unwrap();
        let region = domain.register(DmaMemory::new(4096).unwrap(), Registration::default()).unwrap();
        let stream = arm(&domain, 1);
        let mut peer = Peer::new(&card, &stream, 0xFFFF_FF00);
        let queue = context.completion_queue();
        let (mut sent, mut seen) = (0, 0);
        let mut check = |completion| match completion {
            Completion::Tagged(completion) => {
                let expected = region.base() + seen;
                seen += 1;
                completion.offset == expected
            }
            _ => false,
        };
        for (writes, polls) in steps {
            for _ in 0..writes {
                peer.write(region.stag(), region.base() + sent, &[1]);
                sent += 1;
            }
            for completion in (0..polls).map_while(|_| queue.poll().unwrap()) {
                prop_assert!(check(completion));
            }
        }
        while let Some(completion) = queue.poll().unwrap() {
            prop_assert!(check(completion));
        }
        prop_assert_eq!(seen, sent);
        card.assert_no_violations();
    }

    /// For any entry that a device writes, the driver neither panics nor loses a buffer.
    #[test]
    fn nonsense_from_the_device_is_an_error(
        entries in prop::collection::vec(
            (prop::array::uniform8(any::<u32>()), 0_u32..5, 0_u32..5, 0_u32..3, 0_u32..4),
            1..40,
        ),
    ) {
        let card = SoftwareCard::default();
        let context = open(&card, 16);
        let domain = context.protection_domain().unwrap();
        let stream = arm(&domain, 1);
        for buffer in context.buffers(5, 8).unwrap() {
            stream.receive_queue(0).unwrap().post(buffer).unwrap();
        }
        let queue = context.completion_queue();
        let mut back = Vec::new();
        let mut take = |completion| match completion {
            Ok(Some(Completion::Untagged(completion))) => back.push(completion.buffer.id()),
            Ok(Some(Completion::Flushed(receive))) => back.push(receive.buffer.id()),
            _ => {}
        };
        for (mut words, kind, stream, low, msn) in entries {
            words[0] = words[0] & 0xFFFF_00F0 | kind | stream << 8;
            words[1] = low; // a queue, or an error code
            words[2] = msn; // an MSN, or checks
            words[3] &= 0xF;
            card.invent(words);
            take(queue.poll());
        }
        loop {
            match queue.poll() {
                Ok(None) => break,
                other => take(other),
            }
        }
        stream.close().unwrap();
        while let Some(completion) = queue.poll().unwrap() {
            take(Ok(Some(completion)));
        }
        prop_assert_eq!(back, [0, 1, 2, 3, 4]);
    }
}

#[test]
fn each_malformed_entry_is_named() {
    let card = SoftwareCard::default();
    let context = open(&card, 64);
    let domain = context.protection_domain().unwrap();
    let stream = arm(&domain, 1);
    let buffer = context.buffers(1, 8).unwrap().remove(0);
    stream.receive_queue(0).unwrap().post(buffer).unwrap();
    let queue = context.completion_queue();
    let cases = [
        ([0x0101, 0, 0, 0], None),
        ([0x0001, 0, 0, 0], Some("the stream is not armed")),
        ([0x0401, 0, 0, 0], Some("the device has no such stream")),
        ([0x0100, 0, 0, 0], Some("no such kind")),
        ([0x0103, 0x200, 0, 0], Some("no such error number")),
        ([0x0103, 0x201, 0x8000, 0], Some("no such check")),
        ([0x0102, 5, 1, 0], Some("the stream has no such queue")),
        ([0x0102, 0x100, 1, 0], Some("no such queue")),
        ([0x0102, 1, 1, 0], Some("no buffer is posted")),
        ([0x0102, 0, 2, 0], Some("another MSN is due")),
        (
            [0x0102, 0, 1, 9],
            Some("the message is longer than its buffer"),
        ),
        ([0x0102, 0, 1, 8], None),
        ([0x0103, 0x201, 1 << 8, 0], None),
        ([0x0101, 0, 0, 0], Some("the stream has failed before")),
    ];
    for (i, ([a, b, c, d], expected)) in (0..).zip(cases) {
        card.invent([a, b, c, d, 0, 0, 0, 0]);
        match (queue.poll(), expected) {
            (Ok(Some(_)), None) => {}
            (
                Err(Error::Completion {
                    index,
                    reason,
                    words,
                }),
                Some(expected),
            ) => {
                assert_eq!((index, reason, words[0]), (i, expected, a));
            }
            (other, _) => panic!("{i}: {other:?}"),
        }
    }
}

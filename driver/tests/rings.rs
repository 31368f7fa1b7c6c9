//! Receive rings, with a card in software.

mod peer;
mod software_card;

use std::collections::BTreeSet;

use peer::Peer;
use proptest::prelude::*;
use software_card::SoftwareCard;
use warpline_driver::{
    Buffer, Completion, CompletionQueue, Context, Device, Error, Options, Stream, StreamOptions,
};
use warpline_regmap::register::{self, command};

fn open(card: &SoftwareCard) -> Context {
    Context::open(Box::new(card.clone()), Options::default()).unwrap()
}

fn arm(context: &Context, receive_entries: u32, first_msn: u32) -> Stream {
    let options = StreamOptions {
        receive_entries,
        first_msn,
        ..Default::default()
    };
    let domain = context.protection_domain().unwrap();
    domain.arm(0, options).unwrap()
}

/// Polls the completion of message `msn`, checks its octets, and returns its buffer.
fn received(queue: &CompletionQueue, msn: u32, message: &[u8]) -> Buffer {
    match queue.poll().unwrap() {
        Some(Completion::Untagged(completion)) => {
            assert_eq!(completion.msn, msn);
            assert_eq!(completion.buffer.to_vec()[..message.len()], *message);
            assert_eq!(completion.length as usize, message.len());
            completion.buffer
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn rings_have_their_sizes() {
    let card = SoftwareCard::default();
    let context = open(&card);
    let domain = context.protection_domain().unwrap();
    for receive_entries in [0, 8, 17, 1 << 16, u32::MAX] {
        let options = StreamOptions {
            receive_entries,
            ..Default::default()
        };
        let refused = domain.arm(0, options).map(|_| ()).unwrap_err();
        assert!(matches!(refused, Error::ReceiveEntries { entries } if entries == receive_entries));
    }
    assert!(card.model().commands.is_empty());
    for receive_entries in [16, 1 << 15] {
        let before = card.model().mapped();
        let stream = arm(&context, receive_entries, 1);
        assert_eq!(card.model().mapped(), before + 1);
        stream.close().unwrap();
        assert_eq!(
            card.model().mapped(),
            before,
            "the ring went with its stream"
        );
    }
    card.assert_no_violations();
}

#[test]
fn many_buffers_ring_the_doorbell_once() {
    let card = SoftwareCard::default();
    let context = open(&card);
    let stream = arm(&context, 16, 1);
    let queue = stream.receive_queue(0).unwrap();
    assert_eq!(
        queue.post_many(context.buffers(10, 8).unwrap()).unwrap(),
        10
    );
    assert_eq!(card.model().doorbells, 1);
    let full = queue
        .post_many(context.buffers(10, 8).unwrap())
        .unwrap_err();
    assert!(matches!(full.error, Error::QueueFull { slots: 16, .. }));
    let back: Vec<u64> = full.item.unwrap().iter().map(Buffer::id).collect();
    assert_eq!(back, [6, 7, 8, 9], "those that did not fit");
    assert_eq!(card.model().doorbells, 2);
    let mut peer = Peer::new(&card, &stream, 0);
    for msn in 1..=16 {
        peer.untagged(0, msn, &msn.to_be_bytes());
    }
    for msn in 1..=16 {
        received(&context.completion_queue(), msn, &msn.to_be_bytes());
    }
    assert_eq!(queue.post_many(None).unwrap(), 0);
    assert_eq!(card.model().doorbells, 2, "nothing to tell");
    let commands = card.model().commands.clone();
    assert_eq!(commands, [command::ARM_STREAM, command::SET_RECEIVE_RING]);
    card.assert_no_violations();
}

// req: DDP-UNT-11
#[test]
fn the_doorbell_counts_past_its_end() {
    let card = SoftwareCard::default();
    let context = open(&card);
    let first_msn = u32::MAX - 1000;
    let stream = arm(&context, 16, first_msn);
    let queue = stream.receive_queue(0).unwrap();
    let completions = context.completion_queue();
    let mut peer = Peer::new(&card, &stream, 0);
    queue.post_many(context.buffers(16, 4).unwrap()).unwrap();
    for i in 0..70_000_u32 {
        let (msn, message) = (first_msn.wrapping_add(i), i.to_be_bytes());
        peer.untagged(0, msn, &message);
        let buffer = received(&completions, msn, &message);
        assert_eq!(buffer.id(), u64::from(i % 16));
        assert_eq!(queue.post(buffer).unwrap(), msn.wrapping_add(16));
    }
    card.assert_no_violations();
}

#[test]
fn a_stream_without_its_ring_is_closed_again() {
    let card = SoftwareCard::default();
    let context = open(&card);
    let domain = context.protection_domain().unwrap();
    let before = card.model().mapped();
    card.model().hangs_from = Some(command::SET_RECEIVE_RING);
    let options = Options {
        command_timeout: std::time::Duration::from_millis(50),
        ..Options::default()
    };
    drop(domain);
    drop(context);
    let context = Context::open(Box::new(card.clone()), options).unwrap();
    let domain = context.protection_domain().unwrap();
    let lost = domain.arm(0, StreamOptions::default()).map(|_| ());
    assert!(matches!(
        lost.unwrap_err(),
        Error::CommandTimeout {
            command: "SET_RECEIVE_RING",
            ..
        }
    ));
    assert_eq!(
        card.model().mapped(),
        before + 1,
        "the device may read the ring"
    );
    card.assert_no_violations();
}

/// The card in software detects each fault of a driver.
#[test]
fn broken_rules_are_noticed() {
    let card = SoftwareCard::default();
    let context = open(&card);
    let stream = arm(&context, 16, 1);
    let doorbell = register::RECEIVE_PRODUCER;
    let violations = || std::mem::take(&mut card.model().violations);
    card.write(doorbell.at(1), 1).unwrap();
    assert_eq!(violations(), ["doorbell of (0, 1), which has no ring"]);
    card.write(doorbell.at(0), 17).unwrap();
    assert_eq!(violations(), ["0 + 17 descriptors in a ring of 16"]);
    card.write(register::COMPLETION_CONSUMER.offset, 1).unwrap();
    assert_eq!(violations(), ["1 entries consumed of 0 written"]);
    card.write(register::COMPLETION_CONSUMER.offset, 0).unwrap();
    let ring = card.model().ring(0, 0);
    card.unmap(ring, 4096).unwrap();
    let [unmapped] = &violations()[..] else {
        panic!("an unmapped ring was not noticed")
    };
    assert!(
        unmapped.ends_with("unmapped while the device may reach it"),
        "{unmapped}"
    );
    drop(stream);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    /// Posting, messages and polling in any order: each message is placed into the buffer of its MSN, each buffer comes back.
    #[test]
    fn buffers_are_used_in_order(
        log_entries in 4_u32..7,
        first_msn: u32,
        steps in prop::collection::vec((0_usize..30, 0_u32..30, 0_u32..30), 1..40),
    ) {
        let card = SoftwareCard::default();
        let context = open(&card);
        let stream = arm(&context, 1 << log_entries, first_msn);
        let queue = stream.receive_queue(0).unwrap();
        let completions = context.completion_queue();
        let mut peer = Peer::new(&card, &stream, 0);
        let mut free = context.buffers(100, 16).unwrap();
        let (mut posted, mut sent, mut seen) = (0_u32, 0_u32, 0_u32);
        for (post, send, poll) in steps {
            let room = (1 << log_entries) - (posted - sent) as usize;
            let given: Vec<_> = free.drain(..post.min(free.len())).collect();
            let wanted = given.len();
            match queue.post_many(given) {
                Ok(count) => {
                    prop_assert_eq!(count, wanted);
                    posted += count as u32;
                }
                Err(full) => {
                    let rest = full.item.unwrap();
                    let named = matches!(full.error, Error::QueueFull { .. });
                    prop_assert!(named && wanted - rest.len() == room);
                    posted += (wanted - rest.len()) as u32;
                    free.extend(rest);
                }
            }
            for _ in 0..send.min(posted - sent) {
                peer.untagged(0, first_msn.wrapping_add(sent), &sent.to_be_bytes());
                sent += 1;
            }
            for _ in 0..poll.min(sent - seen) {
                free.push(received(&completions, first_msn.wrapping_add(seen), &seen.to_be_bytes()));
                seen += 1;
            }
        }
        stream.close().unwrap();
        while seen < sent {
            free.push(received(&completions, first_msn.wrapping_add(seen), &seen.to_be_bytes()));
            seen += 1;
        }
        while let Some(completion) = completions.poll().unwrap() {
            match completion {
                Completion::Flushed(receive) => {
                    prop_assert_eq!(receive.msn, first_msn.wrapping_add(seen));
                    seen += 1;
                    free.push(receive.buffer);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
        let ids: BTreeSet<u64> = free.iter().map(Buffer::id).collect();
        prop_assert_eq!((free.len(), ids.len()), (100, 100));
        card.assert_no_violations();
    }
}

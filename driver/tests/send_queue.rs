//! Send queues below RDMAP: DDP messages as the program says, with a card in software.

mod software_card;

use std::time::Duration;

use software_card::SoftwareCard;
use warpline_driver::{
    Completion, Context, DmaMemory, Element, Error, Flags, Gather, Inline, Options, Payload,
    Registration, SendStatus, StreamOptions, Target,
};
use warpline_regmap::transmit::{SET_SEND_RING, status};

fn open(card: &SoftwareCard) -> Context {
    let options = Options {
        command_timeout: Duration::from_millis(50),
        ..Options::default()
    };
    Context::open(Box::new(card.clone()), options).unwrap()
}

const TARGET: Target = Target::Untagged {
    queue: 5,
    rsvd_ulp: [1, 2, 3, 4, 5],
};
const SIGNALLED: Flags = Flags {
    signalled: true,
    fence: false,
    terminate: false,
};

fn octets(octets: &[u8]) -> Payload {
    Payload::Inline(Inline::new(octets).unwrap())
}

/// What a completion says of a request.
fn sent(completion: Completion) -> (u8, u64, SendStatus, u32) {
    match completion {
        Completion::Sent(sent) => (sent.stream, sent.id, sent.status, sent.length),
        other => panic!("{other:?}"),
    }
}

// req: DDP-TEAR-15
#[test]
fn messages_are_sent_and_flushed() {
    let card = SoftwareCard::default();
    let context = open(&card);
    let domain = context.protection_domain().unwrap();
    let memory = DmaMemory::new(100).unwrap();
    let region = domain.register(memory, Registration::local()).unwrap();
    let stream = domain.arm(2, StreamOptions::default()).unwrap();
    let queue = stream.attach_send_queue(4).unwrap();
    let element = Element {
        stag: region.stag(),
        length: 60,
        offset: region.base(),
    };
    let gather = Payload::Gather(Gather::new(&[element]).unwrap());
    queue.post(TARGET, SIGNALLED, 7, gather).unwrap();
    queue
        .post(TARGET, Flags::default(), 8, octets(b"quiet"))
        .unwrap();
    let requests = card.take_sent();
    assert_eq!(
        (requests[0].target(), *requests[0].payload()),
        (TARGET, gather)
    );
    let completions = context.completion_queue();
    let done = completions.poll().unwrap().unwrap();
    assert_eq!(sent(done), (2, 7, SendStatus::Ok, 60));
    assert!(completions.poll().unwrap().is_none());

    card.model().answers = false;
    for id in 10..14 {
        queue.post(TARGET, SIGNALLED, id, octets(b"abc")).unwrap();
    }
    let full = queue.post(TARGET, SIGNALLED, 14, octets(b"")).unwrap_err();
    assert!(
        matches!(
            full,
            Error::SendQueueFull {
                stream: 2,
                slots: 4
            }
        ),
        "{full}"
    );
    let requests = card.take_sent();
    card.report(2, &requests[0], status::OK);
    queue.post(TARGET, SIGNALLED, 15, octets(b"")).unwrap();
    stream.close().unwrap();
    let expected = [
        (2, 10, SendStatus::Ok, 3),
        (2, 11, SendStatus::Flushed, 3),
        (2, 12, SendStatus::Flushed, 3),
        (2, 13, SendStatus::Flushed, 3),
        (2, 15, SendStatus::Flushed, 0),
    ];
    let found: Vec<_> = std::iter::from_fn(|| completions.poll().unwrap())
        .map(sent)
        .collect();
    assert_eq!(found, expected);
    region.revoke().unwrap();
    card.assert_no_violations();
}

#[test]
fn queues_that_cannot_be_are_refused() {
    let card = SoftwareCard::default();
    let context = open(&card);
    let domain = context.protection_domain().unwrap();
    let stream = domain.arm(0, StreamOptions::default()).unwrap();
    let none = stream.send_queue().err().unwrap();
    assert!(matches!(none, Error::NoSendQueue { stream: 0 }), "{none}");
    for entries in [0, 2, 5, 8192] {
        let size = stream.attach_send_queue(entries).err().unwrap();
        assert!(matches!(size, Error::SendEntries { .. }), "{size}");
    }
    let before = card.model().mapped();
    card.model().refuses = Some(SET_SEND_RING);
    let refused = stream.attach_send_queue(4).err().unwrap();
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
    assert_eq!(card.model().mapped(), before);
    stream.attach_send_queue(4096).unwrap();
    let twice = stream.attach_send_queue(4).err().unwrap();
    assert!(
        matches!(twice, Error::SendQueueAttached { stream: 0 }),
        "{twice}"
    );
    drop(stream);
    card.assert_no_violations();

    let receiver = SoftwareCard::default();
    receiver.model().capabilities = 0;
    let context = open(&receiver);
    assert!(!context.capabilities().transmit);
    let domain = context.protection_domain().unwrap();
    let stream = domain.arm(0, StreamOptions::default()).unwrap();
    let none = stream.attach_send_queue(4).err().unwrap();
    assert!(matches!(none, Error::NoTransmit), "{none}");
}

#[test]
fn a_ring_that_the_device_may_know_is_kept() {
    let card = SoftwareCard::default();
    let context = open(&card);
    let domain = context.protection_domain().unwrap();
    let stream = domain.arm(0, StreamOptions::default()).unwrap();
    let before = card.model().mapped();
    card.model().hangs_from = Some(SET_SEND_RING);
    let lost = stream.attach_send_queue(4).err().unwrap();
    assert!(matches!(lost, Error::CommandTimeout { .. }), "{lost}");
    let mapped = card.model().mapped(); // not with the card locked: it is dropped when this fails
    assert_eq!(mapped, before + 1);
    card.assert_no_violations();
}

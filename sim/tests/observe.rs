//! What an observer of the card finds, and that a host does not notice it.
//!
//! Expected numbers are those of RFC 5041 and RFC 5044 for what is fed here: an FPDU is ULPDU_Length (2), the DDP header (14 tagged,
//! 18 untagged), payload, PAD to a multiple of 4, CRC (4).

use std::time::Duration;

use warpline_driver::{
    Completion, Context, DmaMemory, ErrorNumber, ErrorRecord, Options, ProtectionDomain,
    Registration, Stream, StreamOptions, VfioUser,
};
use warpline_hdl::Config;
use warpline_regmap::register;
use warpline_sim::{BackPressure, Card, CardOptions, QueueFill, StreamState};
use warpline_wire::send::{CrcField, FpduWriter, Message};

const TIMEOUT: Duration = Duration::from_secs(60);
const START: u32 = 0xFFFF_FF00;
const STAG: u32 = 0x0500_0001;
/// Octets of an FPDU with 100 octets of tagged payload, and with 50 of untagged payload.
const TAGGED: usize = 2 + 14 + 100 + 4;
const UNTAGGED: usize = 2 + 18 + 50 + 2 + 4;

fn card(back_pressure: BackPressure) -> Card {
    let options = CardOptions {
        back_pressure,
        ..CardOptions::default()
    };
    Card::open(&Config::simulated(64), options).unwrap()
}

fn host(card: &Card) -> Context {
    let options = Options {
        completion_entries: 32,
        ..Options::default()
    };
    let device = VfioUser::over(card.connect().unwrap(), TIMEOUT).unwrap();
    Context::open(Box::new(device), options).unwrap()
}

fn arm(domain: &ProtectionDomain, number: u8) -> Stream {
    let options = StreamOptions {
        sequence_start: START,
        queues: 0b11,
        ..StreamOptions::default()
    };
    domain.arm(number, options).unwrap()
}

fn post(context: &Context, stream: &Stream, queue: u8, count: usize) {
    for buffer in context.buffers(count, 64).unwrap() {
        stream.receive_queue(queue).unwrap().post(buffer).unwrap();
    }
}

fn fpdu(message: Message, payload: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    FpduWriter::new(false, CrcField::Computed)
        .append_message(message, payload, 1000, &mut octets)
        .unwrap();
    octets
}

fn tagged(stag: u32, to: u64) -> Vec<u8> {
    let message = Message::Tagged {
        stag,
        to,
        rsvd_ulp: 0,
    };
    fpdu(message, &[7; 100])
}

fn untagged(msn: u32) -> Vec<u8> {
    let message = Message::Untagged {
        qn: 0,
        msn,
        rsvd_ulp: [0; 5],
    };
    fpdu(message, &[9; 50])
}

// req: AMB-09, DDP-ERR-06
#[test]
fn figures_are_those_of_what_was_done() {
    let card = card(BackPressure::NONE);
    let before = card.observe().unwrap();
    assert_eq!(before.streams.len(), 4);
    assert!(
        before
            .streams
            .iter()
            .all(|stream| stream.state == StreamState::Free)
    );
    assert_eq!(before.completions, QueueFill::default());

    let context = host(&card); // which resets it
    let resets = card.observe().unwrap().resets;
    assert!(resets > before.resets);
    let domain = context.protection_domain().unwrap();
    let registration = Registration {
        base: Some(0),
        ..Registration::default()
    };
    let memory = DmaMemory::new(4096).unwrap();
    let region = domain.register_as(STAG, memory, registration).unwrap();
    let (first, second) = (arm(&domain, 1), arm(&domain, 2));
    post(&context, &first, 0, 3);
    post(&context, &first, 1, 2);
    assert_eq!(
        (tagged(STAG, 0).len(), untagged(1).len()),
        (TAGGED, UNTAGGED)
    );
    let good = [tagged(STAG, 0), untagged(1)].concat();
    // The sequence number wraps inside: START is 256 octets in front of 2^32.
    card.feed(1, START, good.clone()).unwrap();
    card.feed(2, START, &tagged(STAG, 200)[..40]).unwrap();
    card.run_until_idle().unwrap();

    let seen = card.observe().unwrap();
    let stream = &seen.streams[1];
    assert_eq!((stream.state, stream.arms), (StreamState::Armed, 1));
    assert_eq!(stream.received, (TAGGED + UNTAGGED) as u64);
    assert_eq!(stream.buffers, 3 + 2 - 1, "one was used up");
    assert_eq!((stream.sends, stream.sent), (QueueFill::default(), 0));
    assert_eq!((stream.ring, stream.window), (0, seen.ring_octets));
    let part = &seen.streams[2];
    assert_eq!(
        (part.received, part.ring),
        (40, 40),
        "an FPDU's beginning waits"
    );
    assert_eq!(part.window, seen.ring_octets - 40);
    assert_eq!(seen.octets as usize, TAGGED + UNTAGGED + 40);
    assert_eq!(
        (seen.segments, seen.fpdus, seen.payload_octets),
        (2, 2, 150)
    );
    assert_eq!((seen.errors, seen.segments_dropped), (0, 0));
    let entries = QueueFill {
        used: 2,
        entries: 32,
    };
    assert_eq!(
        seen.completions, entries,
        "two messages, and the host has not polled"
    );
    assert!(seen.cycles > before.cycles && seen.resets == resets);

    // An invalid STag freezes one stream, the peer's FIN ends another.
    let at = START.wrapping_add(good.len() as u32);
    card.feed(1, at, tagged(STAG + 0x100, 0)).unwrap();
    let rest = tagged(STAG, 200)[40..].to_vec();
    card.feed_fin(2, START + 40, rest).unwrap();
    card.run_until_idle().unwrap();
    let seen = card.observe().unwrap();
    let states = [0, 1, 2, 3].map(|number: usize| seen.streams[number].state);
    let (free, frozen, ended) = (StreamState::Free, StreamState::Frozen, StreamState::Ended);
    assert_eq!(states, [free, frozen, ended, free]);
    let words = seen.streams[1].error.unwrap();
    let record = ErrorRecord::parse(1, &words).unwrap().unwrap();
    assert_eq!(record.number, ErrorNumber::TaggedInvalidStag);
    assert_eq!(record.position as usize, good.len());
    assert_eq!(
        context.error_record(1).unwrap(),
        Some(record),
        "it is sticky"
    );
    assert_eq!(seen.errors, 1);

    // Closed, armed again: counted anew.
    while context.completion_queue().poll().unwrap().is_some() {}
    first.close().unwrap();
    second.close().unwrap();
    assert_eq!(card.observe().unwrap().streams[1].state, free);
    let again = arm(&domain, 1);
    let seen = card.observe().unwrap();
    let stream = &seen.streams[1];
    assert_eq!((stream.state, stream.arms), (StreamState::Armed, 2));
    assert_eq!(
        (stream.received, stream.buffers, stream.error),
        (0, 0, None)
    );
    drop((again, region, domain));
    drop(context);

    // A host that disconnects leaves a card that was reset.
    drop(host(&card));
    let seen = card.observe().unwrap();
    assert!(seen.resets > resets);
    assert_eq!((seen.octets, seen.streams[1].arms), (0, 0));
}

/// Messages of each kind in a run; their completions and that of the error fit into the queue.
const MESSAGES: u32 = 12;

/// What a host can see of a run.
#[derive(Debug, PartialEq)]
struct Seen {
    memory: Vec<u8>,
    completions: Vec<String>,
    registers: Vec<u32>,
    messages: [u64; 2],
}

/// The same run, observed every `every` cycles or not at all.
fn run(every: Option<u64>) -> Seen {
    let card = card(BackPressure::RANDOM);
    let context = host(&card);
    let domain = context.protection_domain().unwrap();
    let registration = Registration {
        base: Some(0),
        ..Registration::default()
    };
    let memory = DmaMemory::new(8192).unwrap();
    let region = domain.register_as(STAG, memory, registration).unwrap();
    let stream = arm(&domain, 0);
    post(&context, &stream, 0, MESSAGES as usize);
    let mut octets = Vec::new();
    for number in 0..MESSAGES {
        octets.extend(tagged(STAG, 100 * u64::from(number)));
        octets.extend(untagged(number + 1));
    }
    octets.extend(tagged(STAG + 1, 0)); // freezes the stream
    for (index, segment) in octets.chunks(333).enumerate() {
        card.feed(0, START.wrapping_add(333 * index as u32), segment)
            .unwrap();
    }
    for _ in 0..200 {
        card.step(20).unwrap();
        if every.is_some() {
            card.observe().unwrap();
        }
    }
    card.run_until_idle().unwrap();
    if every.is_some() {
        card.observe().unwrap();
    }
    let registers = [
        register::SEGMENTS_DROPPED,
        register::OCTETS,
        register::FPDUS,
        register::FPDUS_DISCARDED,
        register::PAYLOAD_OCTETS,
        register::ERRORS,
        register::COMPLETION_PRODUCER,
        register::INTERRUPT_STATE,
        register::COMMAND,
        register::STREAM_EDGE,
        register::STREAM_LIMIT,
    ];
    let read = |register: register::Register| card.read_register(register.offset).unwrap();
    let registers = registers.map(read).into_iter();
    let record = (0..12).map(|index| register::ERROR_RECORD.offset + 4 * index);
    let record = record.map(|offset| card.read_register(offset).unwrap());
    let registers = registers.chain(record).collect();
    let queue = context.completion_queue();
    let completions = std::iter::from_fn(|| queue.poll().unwrap());
    let completions = completions.map(|completion| match completion {
        Completion::Untagged(message) => {
            format!("{} {:?}", message.msn, message.buffer.to_vec())
        }
        other => format!("{other:?}"),
    });
    let completions = completions.collect();
    stream.close().unwrap();
    Seen {
        memory: region.revoke().unwrap().to_vec(),
        completions,
        registers,
        messages: card.messages(),
    }
}

#[test]
fn a_host_does_not_notice_an_observer() {
    let alone = run(None);
    assert_eq!(
        alone.completions.len() as u32,
        2 * MESSAGES + 1,
        "{:?}",
        alone.completions
    );
    assert_eq!(run(Some(20)), alone);
}

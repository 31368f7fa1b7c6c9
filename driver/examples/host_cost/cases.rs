//! What is measured. The card's part and the peer's happen outside of [`measured`].

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;

use warpline_driver::{
    Context, DmaMemory, Local, MemoryRegion, Options, PairOptions, QueuePair, Registration, Remote,
    StreamOptions, Work, WorkCompletion, WorkOpcode, WorkQueue, WorkRequest, WorkStatus,
};
use warpline_wire::crc::crc32c;
use warpline_wire::receive::{
    Event, MsnMode, Receiver, ReceiverConfig, StreamConfig, Target as Place,
};
use warpline_wire::send::{CrcField, FpduWriter, Message};

use crate::peer::Peer;
use crate::posted_writes::{Handle, PostedWrites};
use crate::software_card::RECEIVE_SLOTS;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Messages of a round: as many as the card has buffers for.
const MESSAGES: u64 = RECEIVE_SLOTS as u64;
/// Octets of a message that is received, or written.
pub const LONG: usize = 8192;
/// Largest ULPDU of the reference receiver's peer: segments of Ethernet without TCP options.
const MULPDU: u16 = 1442;
/// RDMAP control octet of a Send (RFC 5040 §4.1).
const SEND: u8 = 0x43;

/// One case.
pub struct Case {
    pub name: &'static str,
    /// Items of a round.
    pub items: u64,
    pub run: fn(u64) -> Result<()>,
}

/// All of them.
pub const CASES: [Case; 7] = [
    Case {
        name: "received-message",
        items: MESSAGES,
        run: received_message,
    },
    Case {
        name: "posted-write",
        items: MESSAGES,
        run: |rounds| posted(rounds, &write, Counted::Posting),
    },
    Case {
        name: "posted-send-inline",
        items: MESSAGES,
        run: |rounds| posted(rounds, &inline, Counted::Posting),
    },
    Case {
        name: "write-completion",
        items: MESSAGES,
        run: |rounds| posted(rounds, &write, Counted::Completing),
    },
    Case {
        name: "empty-poll",
        items: MESSAGES,
        run: empty_poll,
    },
    Case {
        name: "software-receiver-kib",
        items: MESSAGES * (LONG as u64 / 1024),
        run: software_receiver,
    },
    Case {
        name: "copy-and-crc-kib",
        items: MESSAGES * (LONG as u64 / 1024),
        run: copy_and_crc,
    },
];

/// What callgrind counts: this function and all that it calls.
#[inline(never)]
fn measured<T>(work: impl FnOnce() -> T) -> T {
    black_box(work())
}

struct Bench {
    card: Arc<PostedWrites>,
    queue: WorkQueue,
    pair: QueuePair,
    peer: Peer,
    region: Arc<MemoryRegion>,
    _context: Context,
}

impl Bench {
    fn new() -> Result<Self> {
        let card = Arc::new(PostedWrites::default());
        let context = Context::open(Box::new(Handle(Arc::clone(&card))), Options::default())?;
        let domain = context.protection_domain()?;
        let queue = WorkQueue::new(&context, 64)?;
        let options = StreamOptions {
            queues: 0b111, // Sends, Read Requests and Terminates
            strict_mo: true,
            ..StreamOptions::default()
        };
        let stream = domain.arm(0, options)?;
        let pair = QueuePair::over(stream, &queue, PairOptions::default())?;
        for buffer in context.buffers(MESSAGES as usize, LONG as u32)? {
            pair.post_receive(buffer)?;
        }
        card.flush()?;
        let region = domain.register(DmaMemory::new(LONG)?, Registration::local())?;
        Ok(Self {
            peer: Peer::of(&card.card, 0, 0),
            card,
            queue,
            pair,
            region: Arc::new(region),
            _context: context,
        })
    }

    /// The completion that must be there.
    fn completion(&self) -> WorkCompletion {
        match self.queue.poll() {
            Ok(Some(Work::Completion(done))) => done,
            other => panic!("{other:?}"),
        }
    }
}

/// The host takes a Send and posts its buffer again.
fn received_message(rounds: u64) -> Result<()> {
    let mut bench = Bench::new()?;
    let payload: Vec<u8> = (0..LONG).map(|i| (i % 251) as u8).collect();
    for round in 0..rounds {
        for i in 0..MESSAGES {
            let msn = (round * MESSAGES + i + 1) as u32;
            bench.peer.rdmap(SEND & 15, 0, msn, 0, &payload);
        }
        for _ in 0..MESSAGES {
            let done = measured(|| bench.completion());
            let seen = (done.status, done.opcode, done.length);
            assert_eq!(
                seen,
                (WorkStatus::Success, WorkOpcode::Receive, LONG as u32)
            );
            let buffer = done.buffer.ok_or("a Receive without its buffer")?;
            assert!(buffer.to_vec() == payload);
            measured(|| bench.pair.post_receive(buffer))?;
        }
        bench.card.flush()?;
    }
    bench.card.card.assert_no_violations();
    Ok(())
}

/// What is measured of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    Posting,
    Completing,
}

fn write(bench: &Bench, id: u64) -> Result<WorkRequest> {
    let at = Remote {
        stag: 0x1234,
        offset: 0,
    };
    Ok(WorkRequest::write(id, Local::all(&bench.region)?, at))
}

fn inline(_: &Bench, id: u64) -> Result<WorkRequest> {
    Ok(WorkRequest::send(id, &[7; 32][..]))
}

/// The host posts requests, each with its doorbell, and takes their completions.
fn posted(
    rounds: u64,
    make: &dyn Fn(&Bench, u64) -> Result<WorkRequest>,
    counted: Counted,
) -> Result<()> {
    let bench = Bench::new()?;
    for round in 0..rounds {
        let first = round * MESSAGES;
        for id in first..first + MESSAGES {
            let request = make(&bench, id)?;
            let post = || bench.pair.post_send(request);
            match counted {
                Counted::Posting => measured(post)?,
                Counted::Completing => post()?,
            }
            bench.card.flush()?;
        }
        for id in first..first + MESSAGES {
            let take = || bench.completion();
            let done = match counted {
                Counted::Completing => measured(take),
                Counted::Posting => take(),
            };
            assert_eq!((done.id, done.status), (id, WorkStatus::Success));
        }
        bench.card.flush()?;
    }
    assert_eq!(bench.card.card.take_sent().len() as u64, rounds * MESSAGES);
    bench.card.card.assert_no_violations();
    Ok(())
}

/// A poll that finds nothing.
fn empty_poll(rounds: u64) -> Result<()> {
    let bench = Bench::new()?;
    for _ in 0..rounds * MESSAGES {
        let found = measured(|| bench.queue.poll())?;
        assert!(found.is_none());
    }
    Ok(())
}

/// The FPDUs of a message in the segments that they travel in.
fn segments(writer: &mut FpduWriter, msn: u32, payload: &[u8]) -> Result<Vec<u8>> {
    let message = Message::Untagged {
        qn: 0,
        msn,
        rsvd_ulp: [SEND, 0, 0, 0, 0],
    };
    let mut octets = Vec::new();
    writer.append_message(message, payload, MULPDU, &mut octets)?;
    Ok(octets)
}

/// The reference receiver: it checks MPA, CRC and DDP, and copies the payload into its buffer.
fn software_receiver(rounds: u64) -> Result<()> {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let config = StreamConfig {
        protection_domain: 0,
        seq_start: 0,
        markers: false,
        crc: true,
        tagged_completions: false,
        strict_mo: true,
        long_ulpdus: false,
        msn_mode: MsnMode::Strict,
    };
    receiver.open(0, config)?;
    receiver.enable_queue(0, 0, 1)?;
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    let payload: Vec<u8> = (0..LONG).map(|i| (i % 251) as u8).collect();
    let mut memory = vec![0; LONG];
    let (mut sequence, mut delivered) = (0_u32, 0);
    for msn in 1..=(rounds * MESSAGES) as u32 {
        receiver.post(0, 0, LONG as u32)?;
        let octets = segments(&mut writer, msn, &payload)?;
        for segment in octets.chunks(usize::from(MULPDU) + 18) {
            let mut sink = |event: Event<'_>| match event {
                Event::Place {
                    target: Place::Untagged { offset, .. },
                    octets,
                    ..
                } => memory[offset as usize..][..octets.len()].copy_from_slice(octets),
                Event::Delivered { .. } => delivered += 1,
                other => panic!("{other:?}"),
            };
            measured(|| receiver.tcp_segment(0, sequence, segment, &mut sink))?;
            sequence = sequence.wrapping_add(segment.len() as u32);
        }
        assert!(memory == payload);
        memory.fill(0);
    }
    assert_eq!(delivered, rounds * MESSAGES);
    Ok(())
}

/// The least that any receiver in software does: one copy, and the CRC by the processor's own instruction.
fn copy_and_crc(rounds: u64) -> Result<()> {
    let payload: Vec<u8> = (0..LONG).map(|i| (i % 251) as u8).collect();
    let mut memory = vec![0; LONG];
    for _ in 0..rounds * MESSAGES {
        let crc = measured(|| {
            memory.copy_from_slice(black_box(&payload));
            ::crc32c::crc32c(&memory)
        });
        assert_eq!(crc, crc32c(&payload));
    }
    Ok(())
}

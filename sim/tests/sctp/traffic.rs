//! RDMA Writes and Sends both ways, over a path that loses datagrams.

use std::sync::atomic::Ordering;
use std::time::Instant;

use warpline_regmap::transmit::{Element, Flags, Gather, Payload, SendRequest, Target};
use warpline_sim::{AssociationEvent, AssociationHandle};

use crate::bench::{
    Bench, Completion, PATIENCE, PORT, REGION, SOURCE, SOURCE_STAG, TARGET, TARGET_STAG, options,
    pattern,
};
use crate::lossy::Lossy;

/// The session, and streams of the two devices.
const SESSION: u16 = 3;
const STREAMS: [u8; 2] = [1, 2];
/// Octets of the RDMA Writes of each end, and of one.
const WRITTEN: u64 = 200_000;
const WRITE: u64 = 12_345;
/// Sends of each end: one behind each few writes.
const SENDS: u32 = 8;

fn gather(at: u64, length: u32) -> Payload {
    let element = Element {
        stag: SOURCE_STAG,
        length,
        offset: at,
    };
    Payload::Gather(Gather::new(&[element]).unwrap())
}

/// What each end has to send: writes of all of it, and Sends between them.
fn requests() -> Vec<SendRequest> {
    let mut requests = vec![];
    let signalled = Flags {
        signalled: true,
        ..Flags::default()
    };
    let mut at = 0;
    let mut sends = 0;
    while at < WRITTEN {
        let length = WRITE.min(WRITTEN - at) as u32;
        let target = Target::Tagged {
            stag: TARGET_STAG,
            offset: at,
            rsvd_ulp: 0x40,
        };
        let payload = gather(at, length);
        requests.push(SendRequest::new(target, Flags::default(), at, payload).unwrap());
        at += u64::from(length);
        if at >= WRITTEN * u64::from(sends + 1) / u64::from(SENDS) {
            let target = Target::Untagged {
                queue: 0,
                rsvd_ulp: [0x43, 0, 0, 0, 0],
            };
            let payload = gather(u64::from(sends) * 1000, 100 + 400 * sends);
            let id = u64::MAX - u64::from(sends);
            requests.push(SendRequest::new(target, signalled, id, payload).unwrap());
            sends += 1;
        }
    }
    assert_eq!(sends, SENDS);
    requests
}

/// Sets up an association between two cards through `path`, with a session that both have attached and armed. Returns the
/// handles of both.
fn connect(ends: &[Bench; 2], path: &Lossy) -> [AssociationHandle; 2] {
    let [active, passive] = ends;
    let here = active.associations.connect(path.address, PORT).unwrap();
    let up = |handle, event: &AssociationEvent| {
        matches!(event, AssociationEvent::Up { streams: 8, .. }).then_some(handle)
    };
    assert_eq!(active.event(up), here);
    let there = passive.event(up);
    let largest = |bench: &Bench| {
        bench.event(|_, event| match event {
            AssociationEvent::MaxSegment(octets) => Some(*octets),
            _ => None,
        })
    };
    // 1500 less 20, 8, 12 and 16 of headers, 16 for a SACK, a multiple of four less the DDP-SSN.
    assert_eq!((largest(active), largest(passive)), (1426, 1426));

    // The device gets the peer's Accept, and what may come in front of it.
    active.arm(STREAMS[0], 0);
    active.associations.initiate(here, SESSION, b"hi!").unwrap();
    active
        .associations
        .attach(here, SESSION, STREAMS[0])
        .unwrap();
    let requested = passive.event(|handle, event| match event {
        AssociationEvent::Requested(session, data) => Some((handle, *session, data.clone())),
        _ => None,
    });
    assert_eq!(requested, (there, SESSION, b"hi!".to_vec()));
    passive.arm(STREAMS[1], 1);
    passive
        .associations
        .attach(there, SESSION, STREAMS[1])
        .unwrap();
    passive.associations.accept(there, SESSION, b"").unwrap();
    active.event(|_, event| {
        matches!(event, AssociationEvent::Accepted(SESSION, data) if data.is_empty()).then_some(())
    });
    [here, there]
}

/// Everything arrives in the memory of both hosts, and each Send in its buffer behind the writes in front of it.
fn exchange(loss: u32, seed: u64) {
    let mut ends = [
        Bench::open(seed, options()),
        Bench::open(seed + 1, options()),
    ];
    ends[1].associations.listen(PORT).unwrap();
    let path = Lossy::to(ends[1].associations.address().unwrap(), loss, seed);
    let handles = connect(&ends, &path);
    let sources = [seed, seed + 1].map(|seed| pattern(seed + 100, REGION as usize));
    for ((end, stream), source) in ends.iter_mut().zip(STREAMS).zip(&sources) {
        end.write(SOURCE, source);
        end.arm_transmit(stream, 1426);
        end.post(stream, SENDS.into());
    }
    for (end, stream) in ends.iter_mut().zip(STREAMS) {
        for request in requests() {
            end.send(stream, &request);
        }
    }
    let (start, mut sent, mut received) = (Instant::now(), [0; 2], [0; 2]);
    while received != [SENDS; 2] || sent != [SENDS; 2] {
        assert!(
            start.elapsed() < PATIENCE,
            "{sent:?} sent, {received:?} received"
        );
        for (number, end) in ends.iter_mut().enumerate() {
            let source = &sources[1 - number];
            for completion in end.completions() {
                match completion {
                    Completion::Received { msn, length } => {
                        let index = received[number];
                        assert_eq!((msn, length), (index + 1, 100 + 400 * index));
                        let at = index as usize * 1000;
                        let expected = &source[at..at + length as usize];
                        assert_eq!(end.received(msn, length), expected, "message {msn}");
                        // All in front of it is placed (RFC 5041 §5.3).
                        let before = WRITTEN * u64::from(index + 1) / u64::from(SENDS);
                        let placed = end.read(TARGET, before);
                        assert!(placed == source[..before as usize], "writes before {msn}");
                        received[number] += 1;
                    }
                    Completion::Sent { ok, .. } => {
                        assert!(ok);
                        sent[number] += 1;
                    }
                    other => panic!("{other:?}"),
                }
            }
            if let Some((_, event)) = end.associations.next_event() {
                panic!("{event:?}");
            }
        }
    }
    let elapsed = start.elapsed();
    for (number, end) in ends.iter().enumerate() {
        let source = &sources[1 - number];
        assert!(end.read(TARGET, WRITTEN) == source[..WRITTEN as usize]);
        assert!(
            end.read(TARGET + WRITTEN, REGION - WRITTEN) == vec![0; (REGION - WRITTEN) as usize]
        );
        assert_eq!(end.card.bus_errors(), 0);
    }
    eprintln!(
        "{loss} % loss: {elapsed:?}, {} datagrams lost, chunks presented again: {:?}",
        path.lost.load(Ordering::SeqCst),
        ends.each_ref().map(|end| end.card.chunks_again())
    );
    if loss > 0 {
        assert!(path.lost.load(Ordering::SeqCst) > 0);
    }

    // Both ends end the session, and its streams may be used again.
    for (end, handle) in ends.iter().zip(handles) {
        end.associations.terminate(handle, SESSION).unwrap();
    }
    for end in &ends {
        end.event(|_, event| matches!(event, AssociationEvent::Free(SESSION)).then_some(()));
    }
    for (end, stream) in ends.iter().zip(STREAMS) {
        end.close(stream);
    }
}

// req: DDP-ORD-09, LLP-04, LLP-05, SCTP-FMT-09, SCTP-SES-06, SCTP-SSN-05
#[test]
fn memory_is_equal_over_a_path_without_loss() {
    exchange(0, 1);
}

// req: LLP-11, SCTP-SSN-05, SCTP-SSN-06, SCTP-SES-06
#[test]
fn memory_is_equal_over_a_path_that_loses() {
    exchange(3, 7);
}

//! Reads that the device answers.

use std::sync::Arc;
use std::time::Duration;

use warpline_driver::{
    CloseReason, Local, PairEvent, Registration, Remote, Revision, SendStatus, WorkRequest,
    WorkStatus,
};

use crate::bench::{Engine, Machine};
use crate::{pair, remote};

/// More than the ring of Read Requests has buffers, 256.
const COUNT: usize = 300;

/// Reads of a peer complete while its host does nothing. Those that the driver answers stall until it polls.
#[test]
fn the_device_answers_reads_without_the_hosts_processor() {
    for device_reads in [true, false] {
        let [client, mut server] = [7, 8].map(|seed| Machine::new(Engine::Rtl, seed));
        server.device_reads = device_reads;
        let (ours, theirs) = pair(&client, &server, Revision::Two);
        let data: Vec<u8> = (0..100 * COUNT).map(|i| (i * 13 + i / 256) as u8).collect();
        let readable = server.region(&data, Registration::readable());
        let sink = client.region(&vec![0; data.len()], Registration::default());
        let reads = (0..COUNT).map(|i| {
            let piece = Local::new(&sink, 100 * i..100 * (i + 1)).unwrap();
            let from = Remote {
                offset: readable.base() + 100 * i as u64,
                ..remote(&readable)
            };
            WorkRequest::read(i as u64, piece, from)
        });
        let mut posted = 0;
        let mut post = |count| {
            ours.post_sends(reads.clone().skip(posted).take(count))
                .unwrap();
            posted += count;
        };
        post(50);
        if !device_reads {
            let early = client.queue.wait(Duration::from_millis(300)).unwrap();
            assert!(early.is_none(), "{early:?}");
        }
        for id in 0..COUNT as u64 {
            let done = match device_reads {
                true => client.done(),
                false => match client.next_while_polled(&server) {
                    warpline_driver::Work::Completion(done) => done,
                    other => panic!("{other:?}"),
                },
            };
            assert_eq!((done.id, done.status), (id, WorkStatus::Success));
            if id % 50 == 40 {
                post(50);
            }
        }
        assert_eq!(sink.to_vec().unwrap(), data);
        assert!(server.queue.poll().unwrap().is_none());
        drop((ours, theirs));
    }
}

/// A region that is revoked while it is read: when the revocation returns nothing reads it any more, the host hears of it, and the
/// peer gets no octet that was written there later.
// req: AMB-42, DDP-SEC-22
#[test]
fn a_region_that_is_revoked_while_it_is_read_ends_the_stream() {
    const OCTETS: usize = 1 << 20;
    let [client, server] = [9, 10].map(|seed| Machine::new(Engine::Rtl, seed));
    let (ours, theirs) = pair(&client, &server, Revision::Two);
    let readable = server.region(&vec![0x5A; OCTETS], Registration::readable());
    let sink = client.region(&vec![0; OCTETS], Registration::default());
    ours.post_send(WorkRequest::read(
        1,
        Local::all(&sink).unwrap(),
        remote(&readable),
    ))
    .unwrap();
    let mut first = [0];
    while first == [0] {
        sink.read_at(0, &mut first).unwrap();
    }
    let mut memory = Arc::into_inner(readable).unwrap().revoke().unwrap();
    memory.fill(0xEE);
    assert_eq!(
        server.event(),
        PairEvent::ResponseFailed(SendStatus::Stag),
        "the response is not over"
    );
    // The connection is reset, and the Read flushed.
    let mut flushed = false;
    loop {
        match client.next_while_polled(&server) {
            warpline_driver::Work::Completion(done) => {
                assert_eq!(done.status, WorkStatus::Flushed);
                flushed |= done.id == 1;
            }
            warpline_driver::Work::Event {
                event: PairEvent::Closed(reason),
                ..
            } => {
                assert_eq!(reason, CloseReason::Reset);
                break;
            }
            _ => {} // the cut message is an error of its own
        }
    }
    assert!(flushed);
    assert!(!sink.to_vec().unwrap().contains(&0xEE));
    drop((ours, theirs));
}

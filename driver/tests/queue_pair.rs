//! Queue pairs, with a card in software and a peer that sends by hand.

mod peer;
mod software_card;

use std::sync::Arc;
use std::time::Duration;

use peer::Peer;
use proptest::prelude::*;
use software_card::SoftwareCard;
use warpline_driver::{
    Cause, Context, Data, DmaMemory, Error, ErrorNumber, Local, MemoryRegion, Options, PairEvent,
    PairOptions, PairState, ProtectionDomain, QueuePair, RdmaError, Registration, Remote,
    SendStatus, StreamOptions, Work, WorkCompletion, WorkOpcode, WorkQueue, WorkRequest,
    WorkStatus,
};
use warpline_regmap::transmit::{Payload, SendRequest, Target, status};
use warpline_wire::rdmap::{ReadRequest, Terminate};

const SHORT: Duration = Duration::from_millis(50);
const SEND: u8 = 3;
const SEND_INVALIDATE: u8 = 4;
const SEND_SOLICITED: u8 = 5;
const READ_REQUEST: u8 = 1;
const TERMINATE: u8 = 7;
const NOTHING: [u64; 0] = [];

struct Host {
    card: SoftwareCard,
    context: Context,
    domain: ProtectionDomain,
    queue: WorkQueue,
}

impl Host {
    fn new() -> Self {
        let card = SoftwareCard::default();
        let options = Options {
            command_timeout: SHORT,
            ..Options::default()
        };
        let context = Context::open(Box::new(card.clone()), options).unwrap();
        Self {
            domain: context.protection_domain().unwrap(),
            queue: WorkQueue::new(&context, 16).unwrap(),
            card,
            context,
        }
    }

    /// A pair over stream `number`, with two Reads in each direction, and its peer.
    fn pair(&self, number: u8) -> (QueuePair, Peer) {
        let sizes = PairOptions {
            send_depth: 8,
            ird: 2,
            ord: 2,
            ..PairOptions::default()
        };
        self.pair_of(number, sizes)
    }

    fn pair_of(&self, number: u8, sizes: PairOptions) -> (QueuePair, Peer) {
        let options = StreamOptions {
            queues: 0b111,
            strict_mo: true,
            ..StreamOptions::default()
        };
        let stream = self.domain.arm(number, options).unwrap();
        let pair = QueuePair::over(stream, &self.queue, sizes).unwrap();
        for buffer in self.context.buffers(3, 256).unwrap() {
            pair.post_receive(buffer).unwrap();
        }
        (pair, Peer::of(&self.card, number, 0))
    }

    fn region(&self, octets: usize, registration: Registration) -> Arc<MemoryRegion> {
        let memory = DmaMemory::new(octets).unwrap();
        Arc::new(self.domain.register(memory, registration).unwrap())
    }

    fn all(&self) -> Vec<Work> {
        std::iter::from_fn(|| self.queue.poll().unwrap()).collect()
    }

    fn done(&self) -> Vec<WorkCompletion> {
        let completion = |work| match work {
            Work::Completion(completion) => completion,
            other => panic!("{other:?}"),
        };
        self.all().into_iter().map(completion).collect()
    }

    fn ids(&self) -> Vec<u64> {
        self.done().iter().map(|done| done.id).collect()
    }
}

fn remote(stag: u32, offset: u64) -> Remote {
    Remote { stag, offset }
}

/// The Terminate that a request carries.
fn terminate_of(request: &SendRequest) -> Terminate {
    assert!(request.flags().terminate);
    let queue_2 = matches!(request.target(), Target::Untagged { queue: 2, .. });
    assert!(queue_2, "{request:?}");
    let Payload::Inline(octets) = request.payload() else {
        panic!("{request:?}");
    };
    Terminate::parse(octets.as_slice()).unwrap()
}

fn events(works: &[Work]) -> Vec<PairEvent> {
    let event = |work: &Work| match work {
        Work::Event { event, .. } => Some(*event),
        _ => None,
    };
    works.iter().filter_map(event).collect()
}

fn completions(works: &[Work]) -> Vec<(WorkOpcode, u64, WorkStatus)> {
    let completion = |work: &Work| match work {
        Work::Completion(done) => Some((done.opcode, done.id, done.status)),
        _ => None,
    };
    works.iter().filter_map(completion).collect()
}

#[test]
fn requests_become_messages_of_rdmap() {
    let host = Host::new();
    let (pair, _peer) = host.pair(1);
    let registration = Registration {
        offset: 100,
        base: Some(0x7000),
        ..Registration::local()
    };
    let region = host.region(1000, registration);
    let piece = |range| Local::new(&region, range).unwrap();
    let gather = vec![piece(100..104), piece(500..500), piece(900..1000)];
    pair.post_sends([
        WorkRequest::write(1, gather, remote(0x55, 0x1234)),
        WorkRequest::send(2, &b"hello"[..]).silent(),
        WorkRequest::send(3, Data::none())
            .solicited()
            .invalidate(0xABCD_0123),
    ])
    .unwrap();
    let sent = host.card.take_sent();
    let expected = Target::Tagged {
        stag: 0x55,
        offset: 0x1234,
        rsvd_ulp: 0x40,
    };
    assert_eq!(sent[0].target(), expected);
    let Payload::Gather(pieces) = sent[0].payload() else {
        panic!("{sent:?}");
    };
    let pieces: Vec<_> = pieces
        .as_slice()
        .iter()
        .map(|e| (e.stag, e.offset, e.length))
        .collect();
    let stag = region.stag();
    assert_eq!(pieces, [(stag, 0x7000, 4), (stag, 0x7320, 100)]);
    let expected = Target::Untagged {
        queue: 0,
        rsvd_ulp: [0x43, 0, 0, 0, 0],
    };
    assert_eq!(sent[1].target(), expected);
    assert!(!sent[1].flags().signalled);
    let expected = Target::Untagged {
        queue: 0,
        rsvd_ulp: [0x46, 0xAB, 0xCD, 0x01, 0x23],
    };
    assert_eq!(sent[2].target(), expected);
    let done = host.done();
    let shown: Vec<_> = done.iter().map(|d| (d.id, d.length, d.status)).collect();
    assert_eq!(
        shown,
        [(1, 104, WorkStatus::Success), (3, 0, WorkStatus::Success)]
    );
    pair.close().unwrap();
    host.card.assert_no_violations();
}

#[test]
fn requests_that_cannot_be_are_refused() {
    let host = Host::new();
    let (pair, _peer) = host.pair(0);
    let local = host.region(64, Registration::local());
    let other = host.context.protection_domain().unwrap();
    let foreign = other.register(DmaMemory::new(64).unwrap(), Registration::default());
    let foreign = Arc::new(foreign.unwrap());
    let nine = vec![Local::all(&local).unwrap(); 9];
    let refused = |request| pair.post_send(request).unwrap_err();
    let error = refused(WorkRequest::send(0, nine));
    assert!(matches!(error, Error::SendRequest(_)), "{error}");
    let error = refused(WorkRequest::send(0, &[0; 65][..]));
    assert!(matches!(error, Error::SendRequest(_)), "{error}");
    let error = refused(WorkRequest::send(0, Local::all(&foreign).unwrap()));
    assert!(matches!(error, Error::RegionDomain { .. }), "{error}");
    let sink = Local::all(&local).unwrap();
    let error = refused(WorkRequest::read(0, sink, remote(1, 2)));
    assert!(matches!(error, Error::ReadSink { .. }), "{error}");
    for range in [0..65, 64..65, 65..65] {
        let outside = Local::new(&local, range).unwrap_err();
        assert!(matches!(outside, Error::Range { .. }), "{outside}");
    }
    host.card.model().answers = false;
    for id in 0..8 {
        pair.post_send(WorkRequest::send(id, Data::none())).unwrap();
    }
    let error = refused(WorkRequest::send(8, Data::none()));
    assert!(
        matches!(error, Error::SendQueueFull { slots: 8, .. }),
        "{error}"
    );
    assert_eq!(host.ids(), NOTHING);
}

/// 3000 requests through a ring of 16, all of them silent: slots are freed in time, and nothing is reported.
#[test]
fn silent_requests_free_their_slots() {
    let host = Host::new();
    let (pair, _peer) = host.pair(0);
    for id in 0..3000 {
        while let Err(full) = pair.post_send(WorkRequest::send(id, &b"x"[..]).silent()) {
            assert!(matches!(full, Error::SendQueueFull { .. }), "{full}");
            assert_eq!(host.ids(), NOTHING);
        }
    }
    assert_eq!(host.card.take_sent().len(), 3000);
    host.card.assert_no_violations();
}

/// The ring has slots for Read Responses as well: a quarter of it may be more requests than the program can post.
#[test]
fn silent_requests_of_a_shallow_queue_free_their_slots() {
    let host = Host::new();
    for (number, send_depth, ird) in [(0, 1, 8), (1, 2, 8), (3, 3, 16)] {
        let sizes = PairOptions {
            send_depth,
            ird,
            ..PairOptions::default()
        };
        let (pair, _peer) = host.pair_of(number, sizes);
        let mut reported = Vec::new();
        for id in 0..100 {
            let mut patience = 1000;
            while let Err(full) = pair.post_send(WorkRequest::send(id, &b"x"[..]).silent()) {
                assert!(matches!(full, Error::SendQueueFull { .. }), "{full}");
                reported.extend(host.ids());
                patience -= 1;
                assert!(patience > 0, "{sizes:?}: request {id} finds no slot");
            }
        }
        assert_eq!(host.card.take_sent().len(), 100);
        assert_eq!(reported, NOTHING);
        pair.close().unwrap();
        host.ids(); // the buffers of this pair
    }
    host.card.assert_no_violations();
}

// req: DDP-SEC-21
#[test]
fn reads_respect_ord_and_fences() {
    let host = Host::new();
    let (pair, mut peer) = host.pair(0);
    let sink = host.region(100, Registration::default());
    let read = |id| {
        let piece = Local::new(&sink, 0..10).unwrap();
        WorkRequest::read(id, piece, remote(0x77, 5))
    };
    pair.post_sends([
        read(1),
        WorkRequest::send(2, Data::none()),
        read(3),
        read(4),
        WorkRequest::send(5, Data::none()).fenced(),
    ])
    .unwrap();
    let queues = |sent: Vec<SendRequest>| -> Vec<u32> {
        let queue = |request: &SendRequest| match request.target() {
            Target::Untagged { queue, .. } => queue,
            Target::Tagged { .. } => 99,
        };
        sent.iter().map(queue).collect()
    };
    let sent = host.card.take_sent();
    let Payload::Inline(octets) = sent[0].payload() else {
        panic!("{sent:?}");
    };
    let expected = ReadRequest {
        sink_stag: sink.stag(),
        sink_to: sink.base(),
        size: 10,
        source_stag: 0x77,
        source_to: 5,
    };
    assert_eq!(ReadRequest::parse(octets.as_slice()), Ok(expected));
    assert_eq!(queues(sent), [1, 0, 1], "the third Read exceeds ORD");
    assert_eq!(host.ids(), NOTHING, "in the order of posting");
    peer.respond(sink.stag(), sink.base(), b"0123456789");
    assert_eq!(host.ids(), [1, 2]);
    assert_eq!(queues(host.card.take_sent()), [1]);
    peer.respond(sink.stag(), sink.base(), b"0123456789");
    assert_eq!(host.ids(), [3]);
    assert_eq!(queues(host.card.take_sent()), [0; 0], "the fence holds");
    peer.respond(sink.stag(), sink.base(), b"abcdefghij");
    assert_eq!(host.ids(), [4, 5]);
    assert_eq!(queues(host.card.take_sent()), [0]);
    let mut octets = [0; 10];
    sink.read_at(0, &mut octets).unwrap();
    assert_eq!(octets, *b"abcdefghij");
    drop(pair);
    host.card.assert_no_violations();
}

fn asks(peer: &mut Peer, msn: u32, source: &MemoryRegion, size: u32) {
    let request = ReadRequest {
        sink_stag: 0x99,
        sink_to: u64::from(msn),
        size,
        source_stag: source.stag(),
        source_to: source.base(),
    };
    peer.rdmap(READ_REQUEST, 1, msn, 0, &request.emit());
}

#[test]
fn reads_of_the_peer_are_answered_in_order() {
    let host = Host::new();
    let (pair, mut peer) = host.pair(0);
    let source = host.region(100, Registration::readable());
    for msn in 1..=20 {
        asks(&mut peer, msn, &source, if msn == 7 { 0 } else { 50 });
        if msn % 2 == 0 {
            assert_eq!(host.ids(), NOTHING);
        }
    }
    let sent = host.card.take_sent();
    assert_eq!(sent.len(), 20);
    for (request, msn) in sent.iter().zip(1..) {
        let expected = Target::Tagged {
            stag: 0x99,
            offset: msn,
            rsvd_ulp: 0x42,
        };
        assert_eq!(request.target(), expected);
        let length = request.payload().length();
        assert_eq!(length, if msn == 7 { 0 } else { 50 });
    }
    assert_eq!(pair.state(), PairState::ReadyToSend);
    // One more than IRD before any is answered: the peer finds no buffer.
    for msn in 21..=23 {
        asks(&mut peer, msn, &source, 1);
    }
    let works = host.all();
    let missing = |event: &PairEvent| matches!(event, PairEvent::StreamError(error) if error.is_missing_buffer());
    assert!(events(&works).iter().any(missing));
    let terminate = events(&works).into_iter().find_map(|event| match event {
        PairEvent::Terminating(terminate) => Some(terminate),
        _ => None,
    });
    let expected = Cause::Lower(ErrorNumber::UntaggedNoBuffer);
    assert_eq!(terminate.unwrap().cause, expected);
    drop(pair);
    host.card.assert_no_violations();
}

/// What a peer must not do, and the Terminate that it gets.
// req: DDP-TEAR-14, DDP-TEAR-15, DDP-ERR-18, DDP-SEC-19, LLP-08
#[test]
fn errors_of_the_peer_are_answered_by_a_terminate() {
    type Wrong = fn(&Host, &mut Peer);
    let rdma = |error| Cause::Rdma(error);
    let cases: [(Wrong, Cause); 9] = [
        (
            |host, peer| {
                let region = host.region(10, Registration::default());
                asks(peer, 1, &region, 10);
                std::mem::forget(region); // it stays valid
            },
            rdma(RdmaError::ProtectionAccess),
        ),
        (
            |host, peer| asks(peer, 1, &host.region(10, Registration::default()), 10),
            rdma(RdmaError::ProtectionInvalidStag), // dropped, so revoked
        ),
        (
            |host, peer| {
                let region = host.region(10, Registration::readable());
                asks(peer, 1, &region, 11);
                std::mem::forget(region);
            },
            rdma(RdmaError::ProtectionBounds),
        ),
        (
            |_, peer| peer.rdmap(SEND_INVALIDATE, 0, 1, 0x1234, b""),
            rdma(RdmaError::ProtectionCannotInvalidate),
        ),
        (
            |_, peer| peer.respond(0, 0, b""),
            rdma(RdmaError::OperationOpcode),
        ),
        (
            |_, peer| peer.rdmap(9, 0, 1, 0, b""),
            rdma(RdmaError::OperationOpcode),
        ),
        (
            |_, peer| peer.rdmap(READ_REQUEST, 1, 1, 0, b"short"),
            rdma(RdmaError::OperationUnspecified),
        ),
        (
            |_, peer| peer.write(0x4321, 0, b"x"),
            Cause::Lower(ErrorNumber::TaggedInvalidStag),
        ),
        (
            |_, peer| peer.rdmap(SEND, 0, 1, 0, &[0; 257]),
            Cause::Lower(ErrorNumber::UntaggedTooLong),
        ),
    ];
    for (wrong, cause) in cases {
        let host = Host::new();
        let (pair, mut peer) = host.pair(2);
        let sink = host.region(10, Registration::default());
        let read = WorkRequest::read(1, Local::all(&sink).unwrap(), remote(7, 7));
        pair.post_sends([read, WorkRequest::send(2, Data::none()).fenced()])
            .unwrap();
        host.card.take_sent();
        if cause == Cause::Rdma(RdmaError::OperationOpcode) {
            // without a Read under way: its Response would be of the wrong STag
            peer.respond(sink.stag(), sink.base(), &[1; 10]);
            assert_eq!(host.ids(), [1, 2]);
            host.card.take_sent();
        }
        wrong(&host, &mut peer);
        let mut works = host.all();
        let sent = host.card.take_sent();
        assert_eq!(sent.len(), 1, "{cause:?} {works:?}");
        assert_eq!(terminate_of(&sent[0]).cause, cause);
        let told = events(&works).iter().any(
            |event| matches!(event, PairEvent::Terminating(terminate) if terminate.cause == cause),
        );
        assert!(told, "{cause:?} {works:?}");
        let refused = pair.post_send(WorkRequest::send(3, Data::none()));
        assert!(matches!(refused, Err(Error::PairEnded { stream: 2 })));
        assert_eq!(pair.state(), PairState::Error);
        let queue = host.queue.clone();
        drop(pair);
        works.extend(std::iter::from_fn(|| queue.poll().unwrap()));
        let mut done = completions(&works);
        done.sort_by_key(|(opcode, id, _)| (*opcode == WorkOpcode::Receive, *id));
        let receives = (0..3).map(|id| (WorkOpcode::Receive, id));
        let mut expected: Vec<_> = receives.collect();
        if cause != Cause::Rdma(RdmaError::OperationOpcode) {
            expected.splice(0..0, [(WorkOpcode::Read, 1), (WorkOpcode::Send, 2)]);
        }
        let found: Vec<_> = done.iter().map(|(opcode, id, _)| (*opcode, *id)).collect();
        assert_eq!(found, expected, "{cause:?}");
        let flushed = |(_, _, status): &(_, _, WorkStatus)| *status == WorkStatus::Flushed;
        assert!(done.iter().all(flushed), "{done:?}");
        host.card.assert_no_violations();
    }
}

#[test]
fn a_peer_that_terminates_is_believed() {
    let host = Host::new();
    let (pair, mut peer) = host.pair(0);
    let sink = host.region(10, Registration::default());
    let read = WorkRequest::read(1, Local::all(&sink).unwrap(), remote(7, 7));
    pair.post_sends([read, WorkRequest::send(2, Data::none())])
        .unwrap();
    host.card.take_sent();
    let cause = Cause::Rdma(RdmaError::ProtectionBounds);
    let mut octets = [0; warpline_wire::rdmap::MAX_TERMINATE_LEN];
    let length = Terminate::new(cause).emit(&mut octets);
    peer.rdmap(TERMINATE, 2, 1, 0, &octets[..length]);
    let works = host.all();
    assert_eq!(
        events(&works),
        [PairEvent::Terminated(Terminate::new(cause))]
    );
    let read = (WorkOpcode::Read, 1, WorkStatus::Flushed);
    let send = (WorkOpcode::Send, 2, WorkStatus::Success);
    assert_eq!(completions(&works), [read, send]);
    assert_eq!(host.card.take_sent(), [], "nothing answers a Terminate");
    assert_eq!(pair.state(), PairState::Error);
    pair.close().unwrap();
    assert_eq!(host.done().len(), 3);
}

// req: DDP-SEC-10, DDP-SEC-22
#[test]
fn a_peer_invalidates_what_it_may_access() {
    let host = Host::new();
    let (pair, mut peer) = host.pair(0);
    let region = host.region(10, Registration::default());
    peer.rdmap(SEND_SOLICITED, 0, 1, 0, b"first");
    peer.rdmap(SEND_INVALIDATE, 0, 2, region.stag(), b"second");
    let done = host.done();
    assert_eq!(
        (done[0].length, done[0].solicited, done[0].invalidated),
        (5, true, None)
    );
    let invalidated = Some(region.stag());
    assert_eq!(
        (done[1].solicited, done[1].invalidated),
        (false, invalidated)
    );
    assert!(!region.is_valid());
    let revokes = || {
        let model = host.card.model();
        model.commands.iter().filter(|c| **c == 2).count()
    };
    let before = revokes();
    Arc::into_inner(region).unwrap().revoke().unwrap();
    assert_eq!(revokes(), before, "the device has confirmed it");
    // A region that only this end uses is not the peer's to invalidate.
    let local = host.region(10, Registration::local());
    peer.rdmap(SEND_INVALIDATE, 0, 3, local.stag(), b"third");
    let works = host.all();
    assert!(matches!(events(&works)[..], [PairEvent::Terminating(_)]));
    assert!(local.is_valid());
    drop(pair);
    host.card.assert_no_violations();
}

#[test]
fn a_failed_request_ends_the_pair() {
    let host = Host::new();
    host.card.model().answers = false;
    let (pair, _peer) = host.pair(0);
    let region = host.region(10, Registration::local());
    let data = || Local::all(&region).unwrap();
    for id in 1..=3 {
        pair.post_send(WorkRequest::send(id, data()).silent())
            .unwrap();
    }
    let sent = host.card.take_sent();
    host.card.report(0, &sent[1], status::STAG);
    host.card.report(0, &sent[2], status::FLUSHED);
    let failed = WorkStatus::Failed(SendStatus::Stag);
    let works = host.all();
    let done = completions(&works);
    let expected = [
        (WorkOpcode::Send, 2, failed),
        (WorkOpcode::Send, 3, WorkStatus::Flushed),
    ];
    assert_eq!(done, expected);
    assert_eq!(pair.state(), PairState::Error);
    assert_eq!(host.card.take_sent(), [], "the device sends nothing more");
    pair.close().unwrap();
    host.card.assert_no_violations();
}

#[test]
fn pairs_share_a_queue_while_others_post() {
    let host = Host::new();
    let (first, _peer) = host.pair(0);
    let (second, _peer) = host.pair(3);
    const COUNT: u64 = 2000;
    let mut next = [0; 2];
    std::thread::scope(|scope| {
        for pair in [&first, &second] {
            scope.spawn(|| {
                for id in 0..COUNT {
                    while pair.post_send(WorkRequest::send(id, &b"x"[..])).is_err() {
                        std::thread::yield_now();
                    }
                }
            });
        }
        while next != [COUNT; 2] {
            let work = host.queue.wait(Duration::from_secs(20)).unwrap();
            let Some(Work::Completion(done)) = work else {
                panic!("{work:?} after {next:?}");
            };
            let which = usize::from(done.pair == second.id());
            assert_eq!(done.id, next[which]);
            next[which] += 1;
        }
    });
    drop((first, second));
    assert_eq!(host.done().len(), 6);
    host.card.assert_no_violations();
}

#[test]
fn a_queue_can_be_resized() {
    let host = Host::new();
    let (pair, _peer) = host.pair(0);
    for id in 0..8 {
        pair.post_send(WorkRequest::send(id, Data::none())).unwrap();
    }
    assert!(host.queue.poll().unwrap().is_some());
    host.queue.resize(1);
    assert_eq!(host.queue.capacity(), 1);
    assert_eq!(host.ids(), [1, 2, 3, 4, 5, 6, 7]);
    host.queue.resize(100);
    assert_eq!(host.queue.capacity(), 100);
}

/// Memory belongs to requests until they are done, in every state in which a pair can be dropped.
#[test]
fn pairs_can_be_dropped_in_every_state() {
    type Reach = fn(&Host, &QueuePair, &mut Peer) -> Vec<Work>;
    let states: [Reach; 6] = [
        |_, _, _| Vec::new(),
        |_, pair, _| {
            let held = WorkRequest::send(0, Data::none()).fenced();
            let requests = [WorkRequest::read_nothing(1), held];
            pair.post_sends(requests).unwrap();
            Vec::new()
        },
        |host, _, peer| {
            peer.write(1, 1, b"x");
            host.all()
        },
        |_, _, peer| {
            peer.write(1, 1, b"x"); // not polled
            Vec::new()
        },
        |host, _, _| {
            host.card.finish(0);
            host.all()
        },
        |host, _, _| {
            host.card.lose(0);
            host.all()
        },
    ];
    for (i, reach) in states.into_iter().enumerate() {
        for answers in [true, false] {
            let host = Host::new();
            let before = host.card.model().mapped();
            host.card.model().answers = answers;
            let (pair, mut peer) = host.pair(0);
            let region = host.region(100, Registration::local());
            let data = Local::all(&region).unwrap();
            pair.post_send(WorkRequest::send(9, data)).unwrap();
            let mut works = reach(&host, &pair, &mut peer);
            drop(pair);
            works.extend(host.all());
            let receives =
                |(opcode, ..): &(WorkOpcode, u64, WorkStatus)| *opcode == WorkOpcode::Receive;
            let (receives, sends): (Vec<_>, Vec<_>) =
                completions(&works).into_iter().partition(receives);
            assert_eq!(receives.len(), 3, "{i}");
            let nines = sends.iter().filter(|(_, id, _)| *id == 9).count();
            assert_eq!(nines, 1, "{i} {sends:?}");
            drop(works);
            drop(Arc::into_inner(region).expect("no request keeps it"));
            assert_eq!(host.card.model().mapped(), before, "{i}");
            host.card.assert_no_violations();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 200 }))]
    /// Whatever entries a device writes, each request and each buffer comes back once, and nothing panics.
    #[test]
    fn any_entries_complete_everything_once(
        entries in prop::collection::vec((any::<[u32; 8]>(), 0_u32..7, 0_u32..2, 0_u64..12, 0_u32..10), 0..40),
    ) {
        let host = Host::new();
        host.card.model().answers = false;
        let (pair, _peer) = host.pair(0);
        for id in 0..6 {
            let request = WorkRequest::send(id, &b"12345"[..]);
            pair.post_send(if id % 3 == 1 { request.silent() } else { request }).unwrap();
        }
        let mut works = Vec::new();
        for (mut words, kind, stream, request, consumed) in entries {
            use warpline_regmap::transmit::send_event as field;
            field::KIND.put(&mut words, kind.into());
            field::STREAM.put(&mut words, stream.into());
            if kind == 5 {
                field::REQUEST.put(&mut words, request);
                field::CONSUMED.put(&mut words, consumed.into());
                field::LENGTH.put(&mut words, 5);
            }
            host.card.invent(words);
            loop {
                match host.queue.poll() {
                    Ok(None) => break,
                    Ok(Some(work)) => works.push(work),
                    Err(Error::Completion { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
        drop(pair);
        works.extend(std::iter::from_fn(|| host.queue.poll().ok().flatten()));
        let done = completions(&works);
        for id in 0..6 {
            let times = done.iter().filter(|(opcode, i, _)| *opcode == WorkOpcode::Send && *i == id).count();
            let silent = id % 3 == 1;
            prop_assert!(times == 1 || silent && times == 0, "{} {:?}", id, done);
        }
        let buffers = done.iter().filter(|(opcode, ..)| *opcode == WorkOpcode::Receive).count();
        prop_assert_eq!(buffers, 3);
    }
}

#[test]
fn a_work_queue_has_one_descriptor() {
    use std::os::fd::{AsFd, AsRawFd};
    let host = Host::new();
    assert_eq!(host.queue.as_raw_fd(), host.queue.as_fd().as_raw_fd());
}

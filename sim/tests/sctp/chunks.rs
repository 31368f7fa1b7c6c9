//! Chunks on their way into a stand-in for the device, from a peer that is written by hand.

use std::time::{Duration, Instant};

use warpline_sim::{
    AssociationEvent, AssociationHandle, AssociationOptions, Associations, Card, Error, Rule,
    SessionError,
};
use warpline_usrsctp::{Association, Event, Udp};

use crate::bench::{PATIENCE, PORT, event, options, set_up};
use crate::stand_in;

/// PPIDs (RFC 5043 §12).
const SEGMENT: u32 = 16;
const CONTROL: u32 = 17;
/// The session, on stream 0 of the device.
const SESSION: u16 = 1;

/// The card's end, and the peer.
struct Bench {
    card: Card,
    ends: Associations,
    handle: AssociationHandle,
    udp: Udp,
    peer: Association,
}

impl Bench {
    /// The peer has set up an association, and asks for a session.
    fn open(fault: u32, options: AssociationOptions) -> Self {
        let card = stand_in::card(fault);
        let ends = Associations::open(&card, options).unwrap();
        ends.listen(PORT).unwrap();
        let mut udp = Udp::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let peer = set_up(&mut udp, ends.address().unwrap());
        let mut bench = Self {
            card,
            handle: event(&ends, |handle, _| Some(handle)),
            ends,
            udp,
            peer,
        };
        // Initiate with DDP-SSN 0 and no private data (V-SCTP-2 without its octets).
        bench.send(CONTROL, &[0, 0, 0, 1]);
        let requested = AssociationEvent::Requested(SESSION, vec![]);
        event(&bench.ends, |_, found| (*found == requested).then_some(()));
        bench
    }

    fn send(&mut self, ppid: u32, user_data: &[u8]) {
        self.peer.send(SESSION, ppid, true, user_data).unwrap();
        self.udp.serve(Duration::from_millis(1)).unwrap();
    }

    /// A segment with this number.
    fn segment(&mut self, ssn: u16) {
        let mut octets = ssn.to_be_bytes().to_vec();
        octets.extend([0x5a; 100]);
        octets.extend(ssn.to_be_bytes());
        self.send(SEGMENT, &octets);
    }

    fn accept(&self) {
        self.ends.accept(self.handle, SESSION, b"").unwrap();
    }

    fn attach(&self) {
        self.ends.attach(self.handle, SESSION, 0).unwrap();
    }

    /// Lets the card's time and the peer's packets go on until `done`.
    fn until(&mut self, mut done: impl FnMut(&mut Self) -> bool) -> Result<(), Error> {
        let start = Instant::now();
        while !done(self) {
            assert!(start.elapsed() < PATIENCE, "not done");
            self.card.step(500)?;
            self.udp.serve(Duration::from_millis(1)).unwrap();
        }
        Ok(())
    }

    /// Lets time go on for some thousand cycles, and packets for as many milliseconds.
    fn run(&mut self, thousands: u32) {
        for _ in 0..thousands {
            self.card.step(1000).unwrap();
            self.udp.serve(Duration::from_millis(1)).unwrap();
        }
    }

    /// Chunks that the peer has got: user data of control messages.
    fn controls(&mut self) -> Vec<Vec<u8>> {
        let events = std::iter::from_fn(|| self.peer.next_event());
        let messages = events.filter_map(|event| match event {
            Event::Message(message) => Some((message.stream, message.ppid, message.user_data)),
            _ => None,
        });
        messages
            .map(|(stream, ppid, octets)| {
                assert_eq!((stream, ppid), (SESSION, CONTROL));
                octets
            })
            .collect()
    }
}

/// Chunks without room are presented again until they are taken; those in front of `attach` and of the armed stream first.
// req: SCTP-SSN-11, AMB-34, AMB-38
#[test]
fn chunks_wait_for_a_stream_and_for_room() {
    let mut bench = Bench::open(0, options());
    // One comes in front of the decision, and one in front of the stream.
    bench.segment(1);
    bench.accept();
    bench.segment(2);
    let mut answers = vec![];
    bench
        .until(|bench| {
            answers.extend(bench.controls());
            !answers.is_empty()
        })
        .unwrap();
    assert_eq!(answers, [[0, 0, 0, 2]], "Accept, and nothing else");
    bench.attach();
    bench.segment(3);
    bench.run(20);
    assert_eq!(bench.card.chunks_again(), 0, "the stream is not armed");
    stand_in::arm(&bench.card);
    for ssn in [7, 5, 6, 4] {
        bench.segment(ssn);
    }
    // Odd ones have no room at first: 1, 3, 5 and 7.
    bench.until(|bench| bench.card.chunks_again() >= 4).unwrap();
    bench.run(20);
    assert_eq!(bench.card.chunks_again(), 4, "and are taken then");
    assert_eq!(bench.ends.next_event(), None);
    // The peer's end is reported behind all of it; a chunk behind that is an error.
    bench.send(CONTROL, &[0, 8, 0, 4]);
    event(&bench.ends, |_, found| {
        (*found == AssociationEvent::Terminated(SESSION)).then_some(())
    });
    stand_in::close(&bench.card);
    event(&bench.ends, |_, found| {
        (*found == AssociationEvent::Detached(SESSION)).then_some(())
    });
}

/// The device finds a number that the session machine has let pass: the session ends with Terminate.
// req: SCTP-SSN-12, AMB-34
#[test]
fn an_invalid_number_ends_the_session() {
    let mut bench = Bench::open(0, options());
    stand_in::arm(&bench.card);
    bench.accept();
    bench.attach();
    bench.segment(1);
    bench.segment(41);
    let mut failed = None;
    bench
        .until(|bench| {
            failed = failed.take().or_else(|| bench.ends.next_event());
            failed.is_some()
        })
        .unwrap();
    let expected = AssociationEvent::Failed(SESSION, SessionError::Window);
    assert_eq!(failed.unwrap().1, expected);
    let mut answers = vec![];
    bench
        .until(|bench| {
            answers.extend(bench.controls());
            answers.len() == 2
        })
        .unwrap();
    assert_eq!(answers, [[0, 0, 0, 2], [0, 1, 0, 4]], "Accept, Terminate");
}

/// A peer that fills what waits for room ends its session, and costs no more.
// req: SCTP-SSN-11
#[test]
fn what_waits_is_bounded() {
    let limit = AssociationOptions {
        waiting: 500,
        ..options()
    };
    let mut bench = Bench::open(0, limit);
    stand_in::arm(&bench.card);
    bench.accept();
    bench.attach();
    let mut failed = None;
    for ssn in 32..40 {
        bench.segment(ssn);
    }
    bench
        .until(|bench| {
            failed = failed.take().or_else(|| bench.ends.next_event());
            failed.is_some()
        })
        .unwrap();
    let error = SessionError::Waiting { octets: 500 };
    assert_eq!(failed.unwrap().1, AssociationEvent::Failed(SESSION, error));

    // So does one whose session is not attached.
    let limit = AssociationOptions {
        waiting: 500,
        ..options()
    };
    let mut bench = Bench::open(0, limit);
    bench.accept();
    for ssn in 1..8 {
        bench.segment(ssn);
    }
    let found = event(&bench.ends, |_, found| Some(found.clone()));
    assert_eq!(found, AssociationEvent::Failed(SESSION, error));
}

/// What comes behind an error of the peer, on a stream with a session or without one, does not reach the device, and is not kept.
#[test]
fn nothing_behind_an_error_is_passed_or_kept() {
    let limit = AssociationOptions {
        waiting: 100_000,
        ..options()
    };
    let wrong: [&[u8]; 4] = [
        &[0xFF],          // no DDP-SSN
        &[0, 9, 0],       // no function
        &[0, 9, 0, 9],    // no such function
        &[0, 9, 0, 2, 5], // no Accept is due here
    ];
    for is_attached in [true, false] {
        let mut bench = Bench::open(0, limit.clone());
        stand_in::arm(&bench.card);
        bench.accept();
        if is_attached {
            bench.attach();
        }
        for user_data in wrong.iter().cycle().take(40) {
            bench.send(CONTROL, user_data);
        }
        bench.run(50);
        // The first one ends the session. What is passed to the stand-in would be answered, and break a rule.
        let failed = |_, found: &AssociationEvent| {
            matches!(
                found,
                AssociationEvent::Failed(SESSION, SessionError::Cause(_))
            )
            .then_some(())
        };
        event(&bench.ends, failed);
        assert_eq!(bench.ends.next_event(), None);
        // 200 KB more, twice what may wait, are no further error: nothing waits.
        for _ in 0..200 {
            bench.send(CONTROL, &[&[0, 9, 0, 9][..], &[0; 1000]].concat());
            bench.run(1);
        }
        bench.run(20);
        assert_eq!(bench.ends.next_event(), None);
        assert_eq!(bench.card.chunks_again(), 0);
    }
}

/// Rules of the port of reports: each is broken once.
#[test]
fn every_rule_of_the_reports_is_watched() {
    let chunk = |ssn, status| Rule::Chunk {
        stream: 0,
        ssn,
        status,
    };
    for (fault, expected) in [
        (1, chunk(3, 0)),
        (2, chunk(2, 0)),
        (3, Rule::PayloadChanged),
        (4, Rule::ValidFell),
        (6, chunk(2, 5)),
    ] {
        let mut bench = Bench::open(fault, options());
        stand_in::arm(&bench.card);
        bench.accept();
        bench.attach();
        // Back-pressure lets a change or a fall be seen in the first reports.
        for ssn in [2, 4, 6, 8, 10, 12, 14, 16] {
            bench.segment(ssn);
        }
        let start = Instant::now();
        let ended = bench.until(|_| start.elapsed() > Duration::from_secs(20));
        let Err(Error::Violation(violation)) = ended else {
            panic!("fault {fault}: {ended:?}");
        };
        assert_eq!(
            (violation.port, violation.rule),
            ("m_axis_chunk", expected),
            "fault {fault}"
        );
    }
    let Err(Error::Violation(violation)) = stand_in::open(5).map(|_| ()) else {
        panic!("a report in reset");
    };
    assert_eq!(violation.rule, Rule::ValidInReset);
}

//! MPA start-up: each machine alone, both against each other, and what the stream behind them needs.

#[path = "../common/mod.rs"]
mod common;

mod calls;
mod crc;
mod draft;
mod full_operation;
mod initiator;
mod kills;
mod negotiation;
mod pairs;
mod responder;

use warpline_wire::error_number::ErrorNumber;
use warpline_wire::start::{Closing, Event, Failure, Frame, Initiator, Kind, Responder, Settings};

/// Octets of a golden start frame.
fn vector(name: &str) -> Vec<u8> {
    common::octets(&common::vectors()[name]["frame"])
}

const R1: &str = "V-START-R1 request M=1 C=1 no PD";
const R2: &str = "V-START-R2 reply M=0 C=1 PD=hello";
const R3: &str = "V-START-R3 reply rejected R=1";
const R4: &str = "V-START-R4 RFC 6581 request rev 2, S=1, A=1 C=1(write RTR), IRD 16 ORD 8";

/// A frame of revision 1 without private data.
const fn plain(kind: Kind) -> Frame<'static> {
    Frame {
        kind,
        markers: false,
        crc: true,
        rejected: false,
        revision: 1,
        negotiation: None,
        private_data: &[],
    }
}

fn written(frame: &Frame<'_>) -> Vec<u8> {
    let mut octets = [0; 600];
    let len = frame.emit(&mut octets).unwrap();
    octets[..len].to_vec()
}

/// An Initiator whose Request, of revision 1, has been sent.
fn waiting_initiator(settings: Settings) -> Initiator {
    let mut machine = Initiator::new(settings, None, b"", 0, 0).unwrap();
    machine.sent(machine.output().len());
    assert_eq!(machine.output(), b"");
    machine
}

/// The failure that must be the machine's only event.
#[track_caller]
fn failure(event: Option<Event>) -> Failure {
    match event {
        Some(Event::Failed(failure)) => failure,
        other => panic!("expected a failure: {other:?}"),
    }
}

/// Both machines to the test bodies that hold for either.
trait Machine: Clone {
    fn input(&mut self, octets: &[u8]) -> usize;
    fn output(&self) -> &[u8];
    fn poll(&mut self, now: u64) -> Option<Event>;
    fn finish(&mut self);
    fn lose(&mut self);
    fn is_over(&self) -> bool;
}

macro_rules! machine {
    ($machine:ty) => {
        impl Machine for $machine {
            fn input(&mut self, octets: &[u8]) -> usize {
                <$machine>::input(self, octets)
            }
            fn output(&self) -> &[u8] {
                <$machine>::output(self)
            }
            fn poll(&mut self, now: u64) -> Option<Event> {
                <$machine>::poll(self, now)
            }
            fn finish(&mut self) {
                <$machine>::finish(self);
            }
            fn lose(&mut self) {
                <$machine>::lose(self);
            }
            fn is_over(&self) -> bool {
                <$machine>::is_over(self)
            }
        }
    };
}
machine!(Initiator);
machine!(Responder);

/// The machine refuses these octets: MPA error 4, closed at once, and nothing is sent.
#[track_caller]
fn refuses(machine: &impl Machine, octets: &[u8], what: &str) -> Failure {
    // Whole, and octet by octet.
    let failures = [octets.len().max(1), 1].map(|size| {
        let mut machine = machine.clone();
        for piece in octets.chunks(size) {
            machine.input(piece);
        }
        let failure = failure(machine.poll(0));
        assert_eq!(failure.cause.number(), ErrorNumber::MpaStart, "{what}");
        assert_eq!(failure.closing, Closing::AtOnce, "{what}");
        assert_eq!(machine.output(), b"", "{what}");
        assert!(machine.is_over(), "{what}");
        assert_eq!(machine.poll(u64::MAX), None, "one report: {what}");
        assert_eq!(machine.input(octets), 0, "nothing more is taken: {what}");
        failure
    });
    assert_eq!(failures[0], failures[1], "{what}");
    failures[0]
}

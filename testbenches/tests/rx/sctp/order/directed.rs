//! Sessions by hand: reports that are not accepted, and the end of the session of each stream.

use warpline_hdl::records::ChunkKey;
use warpline_testbenches::stimulus::{Pace, Rhythm};

use crate::random::quick;
use crate::support::{Act, Bench, Paces, key};

/// Reports that may wait.
const REPORTS: usize = 16;

#[test]
fn reports_that_are_not_accepted_stop_keys() {
    let mut bench = Bench::<4>::new(32_767, 5);
    bench.reset().unwrap();
    let mut stopped = Paces {
        reports: Rhythm::new(Pace::Percent(0)),
        ..quick()
    };
    // no stream is armed, so each key is judged and answered alone
    for number in 0..400 {
        let act = Act {
            key: (!bench.has_key()).then(|| key(1, number)),
            ..Act::default()
        };
        bench.step(act, &mut stopped).unwrap();
    }
    assert_eq!(bench.keyed.len(), REPORTS);
    let mut paces = quick();
    for _ in 0..200 {
        bench.step(Act::default(), &mut paces).unwrap();
    }
    assert_eq!(bench.keyed.len(), REPORTS + 1);
    assert!(bench.is_idle());
}

// Of the rules about the whole receiver, the part of this block: SCTP-SES-22
#[test]
fn nothing_is_issued_behind_a_terminate_of_any_stream() {
    let mut bench = Bench::<16>::new(6, 6);
    bench.reset().unwrap();
    let mut paces = quick();
    for stream in 0..16 {
        let armed = Act {
            arm: Some((stream, 1)),
            ..Act::default()
        };
        // a Terminate is a Session Control chunk (RFC 5043 §5.2.3)
        let chunk = |ssn, terminate| Act {
            key: Some(ChunkKey {
                control: terminate,
                terminate,
                ..key(stream, ssn)
            }),
            ..Act::default()
        };
        for act in [armed, chunk(1, true), chunk(2, false)] {
            bench.step(act, &mut paces).unwrap();
            for _ in 0..60 {
                bench.step(Act::default(), &mut paces).unwrap();
            }
        }
    }
    assert_eq!(bench.log.len(), 16);
    assert!(bench.log.iter().all(|(_, fpdu)| fpdu.refused.any()));
    assert!(bench.is_idle());
}

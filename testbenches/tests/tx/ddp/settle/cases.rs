//! Cases by name, and cycles.

use warpline_hdl::tx::ddp::settle::{ISSUED, PERIOD, REPORTED};
use warpline_regmap::transmit::status;

use crate::support::{Bench, Fate, Message, Paces};

fn message(request: u64, signalled: bool, fates: &[Fate]) -> Message {
    Message {
        request,
        signalled,
        fates: fates.to_vec(),
    }
}

/// Segments that were cut behind a failure do not reach the ring, and only the first failure is reported.
#[test]
fn nothing_behind_a_failure_is_sent() {
    let bounds = Fate::Refused(status::BOUNDS);
    for failing in [bounds, Fate::Bus] {
        let mut bench = Bench::<4>::new(1, Paces::ALWAYS);
        let list = vec![
            message(1, true, &[Fate::Good, Fate::Good]),
            message(
                2,
                false,
                &[Fate::Good, failing, Fate::Good, failing, Fate::Good],
            ),
            message(3, false, &[Fate::Good]),
            message(4, true, &[failing]),
        ];
        bench.streams[1].post(1, list);
        bench.run().unwrap();
        assert_eq!(bench.streams[1].sent, 3);
        let seen = bench
            .entries
            .iter()
            .map(|(_, entry)| (entry.request, entry.status));
        let own = match failing {
            Fate::Bus => status::BUS,
            _ => status::BOUNDS,
        };
        let due = [
            (1, status::OK),
            (2, own),
            (3, status::FLUSHED),
            (4, status::FLUSHED),
        ];
        assert_eq!(seen.collect::<Vec<_>>(), due);
    }
}

/// The rest of a message that has failed is not reported, whichever stream it is of.
#[test]
fn each_stream_reports_a_failure_once() {
    const STREAMS: usize = 16;
    let mut bench = Bench::<STREAMS>::new(5, Paces::ALWAYS);
    let failing = [Fate::Refused(status::BOUNDS), Fate::Good, Fate::Good];
    for stream in 0..STREAMS {
        let list = vec![message(stream as u64, false, &failing)];
        bench.streams[stream].post(stream as u8, list);
        bench.run().unwrap();
        let seen: Vec<_> = bench.entries.iter().map(|(_, entry)| entry).collect();
        assert_eq!(seen.len(), stream + 1);
        assert_eq!(seen[stream].status, status::BOUNDS);
    }
}

/// A request that is flushed does not end the stream: the last message behind it is sent (RFC 5041 §7.1).
#[test]
fn what_is_flushed_breaks_nothing() {
    let mut bench = Bench::<4>::new(2, Paces::ALWAYS);
    let flushed = Fate::Refused(status::FLUSHED);
    let list = vec![
        message(1, false, &[flushed]),
        message(2, true, &[Fate::Good, Fate::Good]),
    ];
    bench.streams[3].post(3, list);
    bench.run().unwrap();
    assert_eq!((bench.streams[3].sent, bench.entries.len()), (2, 2));
}

#[test]
fn segments_take_their_cycles() {
    let mut bench = Bench::<4>::new(3, Paces::ALWAYS);
    let unsignalled = message(7, false, &[Fate::Good; 40]);
    bench.streams[0].post(0, vec![unsignalled]);
    bench.run().unwrap();
    let cycles = bench.cycle;
    // and what is in front of the first one and behind the last one
    assert!(
        (40 * PERIOD..40 * PERIOD + 60).contains(&cycles),
        "{cycles} cycles"
    );

    let mut bench = Bench::<4>::new(4, Paces::ALWAYS);
    bench.streams[0].post(0, vec![message(7, true, &[Fate::Good])]);
    bench.run().unwrap();
    assert_eq!(bench.entries[0].0 - bench.completes[0], REPORTED);
    assert_eq!(bench.ulpdus[0] - bench.judged[0], ISSUED);
}

//! Latency and throughput, in cycles.

use warpline_hdl::rx::sctp::intake::{ASK, END, WRITE};
use warpline_hdl::rx::sctp::order::JUDGE;
use warpline_testbenches::stimulus::Pace;

use crate::random::paces;
use crate::support::{Bench, Chunk, Paces};

fn fast() -> Paces {
    Paces {
        judge: JUDGE..JUDGE + 1,
        taken: 100,
        ..paces(Pace::Always, Pace::Always, Pace::Always, Pace::Always)
    }
}

fn chunk(octets: usize) -> Chunk {
    Chunk {
        stream: 1,
        control: false,
        terminate: false,
        octets: (0..octets).map(|i| i as u8).collect(),
    }
}

#[test]
fn latencies_are_as_stated() {
    assert_eq!((ASK, WRITE, END), (1, 3, 1));
    let mut bench = Bench::<64, 8, 3>::new(1);
    bench.reset().unwrap();
    bench.sending.push_back(chunk(20));
    let mut paces = fast();
    (0..50).for_each(|_| bench.step(None, &mut paces).unwrap());
    assert_eq!(bench.keyed, [bench.entered[0] + ASK]);
    assert_eq!(bench.beats_at[0], bench.answered[0] + WRITE);
    assert_eq!(bench.beats_at.len(), 3);
    assert_eq!(bench.ends_at, [bench.beats_at[2] + END]);
}

#[test]
fn chunks_of_ten_beats_follow_each_other_without_idle_cycles() {
    let mut bench = Bench::<64, 8, 3>::new(1);
    bench.reset().unwrap();
    bench.sending.extend((0..20).map(|_| chunk(80)));
    let mut paces = fast();
    (0..300).for_each(|_| bench.step(None, &mut paces).unwrap());
    assert_eq!(bench.beats_at.len(), 200);
    // the first answers come one after the other
    let late = &bench.beats_at[20..];
    assert!(
        late.windows(2).all(|pair| pair[1] == pair[0] + 1),
        "{late:?}"
    );
}

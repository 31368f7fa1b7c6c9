//! Cycles: how long a slot takes, and how many come one behind the other.

use warpline_hdl::host::send_queues::{DOORBELL_LATENCY, REST_LATENCY, SLOT_CYCLES};
use warpline_testbenches::lockstep::on_large_stack;

use crate::memory::Manner;
use crate::model::{Consumer, Wrong};
use crate::slots;
use crate::support::{Rig, at_wider};

/// From a doorbell to AR, and from the first octets to the second burst; what `Rig` says of heads holds in every cycle.
fn latencies<const W: usize, const K: usize, const S: usize>() {
    let mut rig = Rig::<W, K, S>::new(16, Manner::quick(7), 1);
    let run = |rig: &mut Rig<W, K, S>| -> Result<(), Wrong> {
        rig.give_all(16)?;
        for stream in (0..S).rev() {
            let slot = slots::gather(&mut rig.rng, 8);
            rig.write(stream, slot);
            rig.ring(stream);
            let rung = rig.now();
            rig.drain()?;
            let [first, second] = rig.requests[..] else {
                return Err(format!("{:?}", rig.requests));
            };
            assert_eq!(first.valid - rung, DOORBELL_LATENCY as u64);
            assert_eq!(second.valid - rig.landed[0].0, REST_LATENCY as u64);
            rig.requests.clear();
            rig.landed.clear();
        }
        Ok(())
    };
    run(&mut rig).unwrap_or_else(|wrong| panic!("{W} bits: {wrong}"));
}

#[test]
fn a_slot_takes_as_long_as_is_said_at_64_bits() {
    assert_eq!((DOORBELL_LATENCY, REST_LATENCY, SLOT_CYCLES), (7, 5, 4));
    latencies::<64, 8, 4>();
}

#[test]
fn a_slot_takes_as_long_as_is_said_at_wider_buses() {
    at_wider!(latencies());
}

/// Cycles for 64 slots of `streams` streams, when the bus takes `delay` cycles and a stream is popped every `gap`.
fn cycles<const W: usize, const K: usize, const S: usize>(
    rig: &mut Rig<W, K, S>,
    streams: usize,
    delay: u64,
    gap: u64,
) -> Result<u64, Wrong> {
    const SLOTS: usize = 64;
    rig.memory.change(Manner::quick(delay));
    rig.consume(Consumer::every(gap));
    rig.pops.clear();
    // the same number of slots at the beginning and at the end, which do not count
    let each = 2 * SLOTS / streams + 16;
    for _ in 0..each {
        for stream in 0..streams {
            let slot = slots::gather(&mut rig.rng, 2);
            rig.write(stream, slot);
        }
    }
    (0..streams).for_each(|stream| rig.ring(stream));
    rig.drain()?;
    let begin = rig.pops.len() / 2 - SLOTS / 2;
    Ok(rig.pops[begin + SLOTS].0 - rig.pops[begin].0)
}

fn rates<const W: usize, const K: usize, const S: usize>() {
    let mut rig = Rig::<W, K, S>::new(16, Manner::quick(0), 2);
    let run = |rig: &mut Rig<W, K, S>| -> Result<(), Wrong> {
        rig.give_all(256)?;
        // the required rate, of one stream, and of all, which share what is under way
        assert_eq!(cycles(rig, 1, 109, 8)?, 64 * 8);
        let all = cycles(rig, S, 100, 8)?;
        assert!(if K == 8 { all == 64 * 8 } else { all < 64 * 7 }, "{all}");
        // as fast as it goes: 64 octets of the bus, or a turn, which a pop in the cycle of a return makes one cycle longer
        let (least, most) = (SLOT_CYCLES.max(64 / K), (SLOT_CYCLES + 1).max(64 / K));
        for streams in [1, S] {
            let cycles = cycles(rig, streams, 20, 0)? as usize;
            assert!((64 * least..64 * most + 1).contains(&cycles), "{cycles}");
        }
        Ok(())
    };
    run(&mut rig).unwrap_or_else(|wrong| panic!("{W} bits: {wrong}"));
}

#[test]
fn a_slot_comes_every_8_cycles_at_64_bits() {
    rates::<64, 8, 4>();
    rates::<64, 8, 16>();
}

#[test]
fn a_slot_comes_every_4_or_5_cycles_at_wider_buses() {
    at_wider!(rates());
}

/// Counts pass 2^16: the slots behind are the ones that are due.
#[test]
fn counts_wrap() {
    on_large_stack(|| {
        let mut rig = Rig::<128, 16, 1>::new(16, Manner::quick(1), 3);
        rig.quiet = true;
        rig.consume(Consumer::every(0));
        let run = |rig: &mut Rig<128, 16, 1>| -> Result<(), Wrong> {
            rig.give_all(512)?;
            let limit = rig.now() + 300_000;
            while rig.streams[0].consumed < 0x1_0040 {
                if rig.room(0) >= 256 {
                    for _ in 0..256 {
                        let octets = slots::plain(&mut rig.rng);
                        rig.write(0, octets);
                    }
                    rig.ring(0);
                }
                rig.cycle()?;
                assert!(rig.now() < limit, "{:?}", rig.streams[0].consumed);
            }
            rig.drain()
        };
        run(&mut rig).unwrap_or_else(|wrong| panic!("{wrong}"));
    });
}

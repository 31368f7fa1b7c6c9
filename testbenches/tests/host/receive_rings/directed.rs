//! Bursts, failed reads, refused buffers, closing, and rates.

use super::support::*;
use warpline_hdl::host::receive_rings::{AMPLE, SOME};
use warpline_testbenches::lockstep::on_large_stack;
use warpline_testbenches::read_bus::{Burst, Manner};
use warpline_testbenches::stimulus::{Pace, Rhythm};

/// A burst for every first descriptor and every number of them: neither the others nor the beats around are taken.
fn bursts<const W: usize, const K: usize>() {
    let mut rig = Rig::<W, K>::new(Manner::quick(3), Check::Random(0));
    rig.takes = Rhythm::new(Pace::Percent(50));
    rig.give_ring((1, 2), 0x4000, 16);
    let mut produced = 0;
    let mut expected = vec![];
    for count in (1..=SLOTS).cycle().take(64) {
        let first = produced % 16;
        let mut from = first;
        while from < first + count {
            let to = (first + count).min((from / 16 + 1) * 16);
            let octets = (16 * (from % 16), 16 * (from % 16 + to - from));
            let beats = (octets.0 / K as u32)..octets.1.div_ceil(K as u32);
            expected.push(Burst {
                address: 0x4000 + u64::from(beats.start) * K as u64,
                length: (beats.len() - 1) as u8,
            });
            from = to;
        }
        produced += count;
        rig.ring((1, 2), produced);
        while rig.rows[&(1, 2)].taken != produced {
            rig.run(1);
        }
    }
    let seen: Vec<Burst> = rig.bus.bursts.iter().map(|(_, burst)| *burst).collect();
    assert_eq!(seen, expected);
}

#[test]
fn bursts_are_whole_beats_and_as_long_as_they_can_be() {
    on_large_stack(|| {
        bursts::<64, 8>();
        #[cfg(feature = "every-width")]
        bursts::<128, 16>();
        #[cfg(feature = "every-width")]
        bursts::<256, 32>();
        bursts::<512, 64>();
    });
}

/// The largest ring, full from its first doorbell on: 32768 descriptors more are known than buffers were used, and each
/// buffer that is used makes room for one more descriptor. The counts pass 2^15 on the way.
fn full_ring(rig: &mut Rig<64, 8>) -> Result<(), Wrong> {
    const MOST: u32 = 1 << 15;
    let key = (3, 2);
    rig.takes = Rhythm::new(Pace::Percent(20));
    (rig.key, rig.key_changes) = (key, 0);
    rig.set = Some((key, Row::new(base(key), MOST)));
    while rig.set.is_some() {
        rig.cycle()?;
    }
    rig.doorbell = Some((key, MOST));
    let (mut rung, since) = (MOST, rig.now());
    while rig.rows[&key].taken < 24 {
        rig.cycle()?;
        let row = rig.rows[&key];
        if row.taken + MOST > rung && rig.doorbell.is_none() && rig.rung.is_none() {
            rung = row.taken + MOST;
            rig.doorbell = Some((key, rung));
        }
        if rig.now() > since + 4000 {
            return Err(format!("only {} buffers of 24 came", row.posted));
        }
    }
    Ok(())
}

// req: DDP-UNT-12, DDP-UNT-17
#[test]
fn a_ring_of_32768_descriptors_is_used_when_it_is_full() {
    let mut rig = Rig::<64, 8>::new(Manner::quick(3), Check::Random(0));
    full_ring(&mut rig).unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
fn counts_of_15_bits_are_seen() {
    for (name, right, wrong) in [
        (
            "known",
            "known_d = produced_key_out - taken_key_out",
            "known_d = (produced_key_out - taken_key_out) & 16'h7fff",
        ),
        (
            "behind",
            "behind_d = written_q - first_q",
            "behind_d = (written_q - first_q) & 16'h7fff",
        ),
        (
            "doorbell",
            "rung_value_d = doorbell_value",
            "rung_value_d = doorbell_value & 16'h7fff",
        ),
        (
            "coming",
            "(16'(key_distance)) < known_q",
            "$signed(16'(key_distance)) < $signed(known_q)",
        ),
    ] {
        let mut rig = Rig::with_fault(Manner::quick(3), Check::Random(0), name, right, wrong);
        let seen = full_ring(&mut rig).expect_err(name);
        println!("{name}: {seen}");
    }
}

/// A refused beat, or a burst that ends too early, ends its stream: nothing is read for it any more, what waits goes on
/// waiting (until the stream is frozen), and other streams do not notice.
// req: DDP-ERR-23, AMB-10
#[test]
fn a_failed_read_ends_its_stream() {
    on_large_stack(|| {
        for short in [false, true] {
            let mut rig = Rig::<256, 32>::new(Manner::quick(20), Check::Random(3));
            rig.takes = Rhythm::new(Pace::Percent(30));
            for key in [(0, 0), (2, 0), (2, 1)] {
                rig.give_ring(key, base(key), 16);
            }
            if short {
                rig.bus.manner.most_beats = 1;
            } else {
                rig.bus.manner.faulty = base((2, 1)) + 50..base((2, 1)) + 51;
            }
            // the second beat of four is bad, or the first one the last
            rig.ring((2, 1), 8);
            rig.run(100);
            assert_eq!(rig.faults, [2], "short: {short}");
            assert_eq!(rig.rows[&(2, 1)].posted, 2, "those of the good beat");
            rig.bus.manner = Manner::quick(20);
            rig.broken.insert(2);
            let reads = rig.bus.bursts.len();
            rig.ring((2, 0), 3);
            rig.ring((2, 1), 10);
            rig.run(200);
            assert_eq!(rig.bus.bursts.len(), reads, "the stream rests");
            let scarce = rig.sim.block.scarce[2].val();
            assert!(!scarce, "nothing comes any more that it could be held for");
            while rig.key != (2, 1) {
                rig.run(1);
            }
            rig.run(1);
            rig.ring((0, 0), 5);
            rig.drain().unwrap();
            // closed and given new rings it is as new
            rig.close(2);
            rig.give_ring((2, 1), base((2, 1)), 32);
            rig.ring((2, 1), 8);
            rig.drain().unwrap();
            assert_eq!(rig.faults, [2]);
        }
    });
}

/// A buffer that `check` refuses is a fault of its stream.
#[test]
fn a_refused_buffer_is_a_fault() {
    on_large_stack(|| {
        let mut rig = Rig::<64, 8>::new(Manner::quick(1), Check::Real);
        rig.give_ring((3, 1), 0x8000, 16);
        rig.refuse = true;
        rig.ring((3, 1), 1);
        rig.run(60);
        assert_eq!(rig.faults, [3]);
    });
}

/// A close during a slow read: the rings are gone at once, `quiet` comes with the last beat, nothing of it is posted.
// req: DDP-TEAR-15
#[test]
fn close_waits_for_its_read_only() {
    on_large_stack(|| {
        for closed in [1, 0] {
            let mut rig = Rig::<64, 8>::new(Manner::quick(700), Check::Real);
            rig.give_ring((0, 3), 0x8000, 16);
            rig.give_ring((1, 3), 0x9000, 16);
            rig.ring((1, 3), 4);
            while rig.bus.bursts.is_empty() {
                rig.run(1);
            }
            let asked = rig.now();
            rig.close(closed);
            let waited = rig.now() - asked;
            if closed == 1 {
                assert!((700..730).contains(&waited), "{waited}");
                rig.run(200);
                assert!(rig.posts.is_empty());
            } else {
                assert!(
                    waited < 10,
                    "the read of another stream is none of its business"
                );
                rig.drain().unwrap();
            }
        }
    });
}

/// Cycles from a doorbell to AR and on to the first buffer when the pointer stands at the row: the shortest of 16 times.
fn latency<const W: usize, const K: usize>() -> (u64, u64) {
    let mut rig = Rig::<W, K>::new(Manner::quick(0), Check::Real);
    rig.takes = Rhythm::new(Pace::Always);
    (rig.key, rig.key_changes) = ((0, 0), 0);
    rig.give_ring((0, 0), 0x8000, 16);
    let mut best = (u64::MAX, u64::MAX);
    for count in 1..=16 {
        while rig.rows[&(0, 0)].taken + 1 != count {
            rig.run(1);
        }
        rig.run(40); // the row is seen to have caught up
        while !rig.now().is_multiple_of(16) {
            rig.run(1);
        }
        rig.run(count.into()); // another place of the pointer each time
        let (bell, seen) = (rig.now(), rig.bus.bursts.len());
        rig.ring((0, 0), count);
        while rig.shown.is_none() {
            rig.run(1);
        }
        let address = rig.bus.bursts[seen].0;
        let buffer = rig.now() - 1 - address;
        best = (best.0.min(address - bell), best.1.min(buffer));
        rig.drain().unwrap();
    }
    best
}

/// Cycles a buffer, and a burst of 16, when what is posted is used at once.
fn throughput<const W: usize, const K: usize>(delay: u64) -> (u64, u64) {
    let mut rig = Rig::<W, K>::with_slots(Manner::quick(delay), Check::Real, 64);
    rig.takes = Rhythm::new(Pace::Always);
    (rig.key, rig.key_changes) = ((0, 0), 0);
    rig.give_ring((0, 0), 0x8000, 256);
    rig.ring((0, 0), 112);
    while rig.posts.len() < 112 {
        rig.run(1);
    }
    assert!(
        rig.bus
            .bursts
            .iter()
            .all(|(_, b)| usize::from(b.length) == 256 / K - 1)
    );
    let bursts = &rig.bus.bursts;
    (
        (rig.posts[111] - rig.posts[47]) / 64,
        (bursts[6].0 - bursts[4].0) / 2,
    )
}

#[test]
fn latencies() {
    let latencies = on_large_stack(latency::<64, 8>);
    assert_eq!(latencies, (8, 4));
}

/// 16 buffers take 192 cycles to be posted.
#[test]
fn throughput_of_a_quick_bus() {
    assert_eq!(on_large_stack(|| throughput::<64, 8>(0)), (12, 192));
}

/// A burst takes 41 cycles and what the bus takes.
#[test]
fn throughput_of_a_slow_bus() {
    assert_eq!(on_large_stack(|| throughput::<64, 8>(250)), (18, 291));
}

/// The supply of a queue of 64 buffers while they are posted and used, at each number of unused ones; of two queues the worse
/// one counts.
#[test]
fn the_supply_follows_the_buffers() {
    on_large_stack(|| {
        let mut rig = Rig::<64, 8>::with_slots(Manner::quick(5), Check::Real, 64);
        rig.takes = Rhythm::new(Pace::Percent(0));
        let levels = |rig: &Rig<64, 8>| {
            let b = &rig.sim.block;
            [b.scarce[1].val(), b.few[1].val(), b.empty[1].val()]
        };
        rig.give_ring((1, 0), base((1, 0)), 128);
        rig.give_ring((1, 3), base((1, 3)), 16);
        rig.ring((1, 0), 100);
        rig.run(5);
        assert_eq!(levels(&rig), [true; 3], "rung, and not read yet");
        rig.run(2000);
        assert_eq!(rig.rows[&(1, 0)].done, 64);
        assert_eq!(levels(&rig), [false; 3], "a full queue");
        rig.ring((1, 3), 1);
        rig.run(5);
        assert_eq!(levels(&rig), [true; 3], "the other queue");
        rig.run(200);
        assert_eq!(levels(&rig), [false; 3], "it has caught up");
        // a bus that does not answer any more: what is used is not replaced, but for what was read at once
        rig.bus.manner.delay = 30_000..30_001;
        (rig.key, rig.key_changes) = ((1, 0), 0);
        let mut seen = 0;
        while rig.rows[&(1, 0)].done > rig.rows[&(1, 0)].taken {
            let used = rig.rows[&(1, 0)].taken + 1;
            rig.takes = Rhythm::new(Pace::Always);
            while rig.rows[&(1, 0)].taken < used {
                rig.run(1);
            }
            rig.takes = Rhythm::new(Pace::Percent(0));
            rig.run(POSTED as u64);
            let row = rig.rows[&(1, 0)];
            let unused = (row.done - row.taken) as usize;
            let expected = [unused < AMPLE, unused < SOME, unused == 0];
            assert_eq!(levels(&rig), expected, "{unused} unused");
            seen += 1;
        }
        assert!(seen >= 64, "{seen}");
        rig.bus.manner.delay = 0..1;
        rig.run(31_000);
        rig.drain().unwrap();
        rig.close(1);
        assert_eq!(levels(&rig), [false; 3], "closed");
    });
}

/// What makes the supply too good or too late is seen.
#[test]
fn a_wrong_supply_is_seen() {
    let faults = [
        ("few", "unused_q < some", "unused_q < (some - 9'h1)"),
        (
            "order",
            "if (used_one_q) begin\n            count_row_d",
            "if (used_one_q & (~rung_q)) begin\n            count_row_d",
        ),
        (
            "forgotten",
            "posted_waits = posted_one_q &",
            "posted_waits = 1'b0 &",
        ),
    ];
    for (name, right, wrong) in faults {
        let run = || {
            let mut rig =
                Rig::<64, 8>::with_fault(Manner::quick(0), Check::Random(0), name, right, wrong);
            rig.takes = Rhythm::new(Pace::Percent(50));
            for key in [(0, 0), (1, 1)] {
                rig.give_ring(key, base(key), 16);
            }
            let mut produced = 0;
            for _ in 0..400 {
                produced += 1;
                for key in [(0, 0), (1, 1)] {
                    while rig.rows[&key].taken + 16 < produced {
                        rig.cycle()?;
                    }
                    rig.doorbell = Some((key, produced));
                    rig.cycle()?;
                    rig.cycle()?;
                }
            }
            Ok::<(), Wrong>(())
        };
        println!("{name}: {}", run().expect_err(name));
    }
}

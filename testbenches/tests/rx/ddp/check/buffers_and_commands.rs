//! Buffers, faults and commands around the judgement, its latency and its rate.

use super::bench::*;
use super::cases::*;
use super::model::*;
use super::stimulus::*;
use warpline_regmap::layout::error_record;
use warpline_testbenches::lockstep::on_large_stack;
use warpline_testbenches::stimulus::{Pace, Rhythm};
use warpline_wire::receive::Scope;

// req: DDP-ERR-07, DDP-UNT-12, DDP-UNT-17
#[test]
fn buffers_are_consumed_in_the_order_they_were_posted() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 8);
        bench.command(arm(1, 7, true, 1, 0xffff_fffe)).unwrap();
        let message = |bench: &mut Bench<4>, msn: u32| {
            let header = untagged_header(0x41, [0x43, 1, 2, 3, 4], 0, msn, 0);
            let text: String = header.iter().map(|octet| format!("{octet:02x}")).collect();
            one(bench, 1, &text, 1)
        };
        for round in 0..3_u64 {
            for slot in 0..4 {
                bench
                    .command(post(1, 0, 1, 0x1000 * (4 * round + slot)))
                    .unwrap();
            }
            let refused = bench.seen.refused;
            bench.command(post(1, 0, 1, 0)).unwrap();
            assert_eq!(bench.seen.refused, refused + 1, "the queue is full");
            for slot in 0..4 {
                let number = 4 * round + slot;
                let (pair, failed) =
                    message(&mut bench, 0xffff_fffe_u32.wrapping_add(number as u32));
                assert_eq!((pair.write, failed), (Some((20, 0x1000 * number, 1)), None));
            }
        }
        let (_, failed) = message(&mut bench, 10);
        assert_eq!(failed, Some((0x202, checks("nobuf"))));
    });
}

/// Regions that end at 2^64, an octet behind it, and there again with zeros in the low or the high half of the end.
#[test]
fn regions_that_end_behind_the_address_space_are_refused() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 8);
        let top = 0x1_0000_0000_u64.wrapping_neg();
        for (base, length, is_refused) in [
            (top, 0x1_0000_0000, false),
            (top, 0x1_0000_0001, true),
            (top, 0x2_0000_0000, true),
            (top, 0x2_0000_0001, true),
            (u64::MAX, 1, false),
            (u64::MAX, 2, true),
        ] {
            let refused = bench.seen.refused;
            let region = Region {
                stag: 0x100,
                scope: Scope::ProtectionDomain(7),
                remote_write: true,
                base,
                length,
                address: 0x7000,
            };
            bench.command(write_stag(region)).unwrap();
            let refused = bench.seen.refused - refused;
            assert_eq!(refused, u32::from(is_refused), "{base:#x} + {length:#x}");
        }
    });
}

// req: DDP-ERR-23, AMB-09, AMB-10
#[test]
fn faults_of_all_streams_in_a_row_are_kept() {
    on_large_stack(|| [false, true].into_iter().for_each(keeps_faults));
}

/// Each of 16 streams has two refused writes, or reads of descriptors, while an FPDU holds the block up; all are frozen then, once.
fn keeps_faults(of_reads: bool) {
    let mut bench = Bench::<16>::new(config(16, 512, 8, 4), 9);
    for stream in 0..16 {
        bench.command(arm(stream, 7, true, 1, 1)).unwrap();
    }
    // an FPDU that waits at the output holds the block up
    bench.ready_pace = Rhythm::new(Pace::Percent(0));
    for stream in [3, 3, 5] {
        let header = tagged_header(0xc1, 0, 0, 0);
        let sent = fpdu(&mut bench.rng, stream, &header, 0);
        bench.send(sent);
    }
    (0..40).for_each(|_| bench.cycle().unwrap());
    for stream in 0..32 {
        let block = &mut bench.lockstep.block;
        block.bus_fault.next = !of_reads;
        block.bus_fault_stream.next = (stream % 16).into();
        block.read_fault.next = of_reads;
        block.read_fault_stream.next = (stream % 16).into();
        bench.lockstep.settle().unwrap();
        assert!(!bench.lockstep.block.errors.val());
        bench.lockstep.edge().unwrap();
    }
    bench.lockstep.block.bus_fault.next = false;
    bench.lockstep.block.read_fault.next = false;
    let mut errors = 0;
    for _ in 0..1000 {
        bench.lockstep.block.m_ready.next = true;
        bench.lockstep.settle().unwrap();
        errors += u32::from(bench.lockstep.block.errors.val());
        bench.lockstep.edge().unwrap();
    }
    assert_eq!(errors, 16);
    // the scoreboard has not looked on
    (bench.held, bench.under_way, bench.pairs) = Default::default();
    for stream in 0..16 {
        let mut want = [0; error_record::WORDS];
        error_record::VALID.put(&mut want, 1);
        assert_eq!(bench.read_record(stream).unwrap(), want, "stream {stream}");
    }
}

/// While a buffer is coming, a segment without one holds up FPDUs, but no command and no fault; whatever comes first
/// decides about it.
// req: DDP-UNT-17, DDP-UNT-18, DDP-ERR-04, DDP-ERR-23
#[test]
fn a_segment_waits_for_a_buffer_that_is_coming() {
    on_large_stack(|| {
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum End {
            Post,
            Freeze,
            Fault,
            ReadFault,
            Nothing,
        }
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 12);
        for end in [
            End::Post,
            End::Freeze,
            End::Fault,
            End::ReadFault,
            End::Nothing,
        ] {
            bench.command(arm(1, 7, true, 0b11, 5)).unwrap();
            bench.command(arm(2, 7, true, 0b1, 1)).unwrap();
            bench.command(post(2, 0, 10, 0x4000)).unwrap();
            bench.command(post(1, 1, 10, 0x5000)).unwrap(); // of another queue
            let taken = bench.done_times.len();
            bench.promise(1, 0, 10, 0x6000);
            bench.pair_times.clear();
            let waiting = message(&mut bench, 1, 0, 5);
            let behind = message(&mut bench, 2, 0, 1);
            bench.send(waiting);
            bench.send(behind);
            for _ in 0..200 {
                bench.cycle().unwrap();
            }
            assert!(bench.pair_times.is_empty(), "{end:?}: neither of them");
            // commands go on
            bench.orders.extend([revoke_stag(0x100), fence()]);
            for _ in 0..60 {
                bench.cycle().unwrap();
            }
            assert_eq!(
                (bench.done_times.len() - taken, bench.pair_times.len()),
                (2, 1)
            );
            match end {
                End::Post => bench.keep_promise(),
                End::Freeze => bench.orders.push_back(freeze(1)),
                End::Fault | End::ReadFault => {
                    bench.fault_of_read = end == End::ReadFault;
                    bench.raise_fault(1);
                    let Seen {
                        faults,
                        read_faults,
                        ..
                    } = bench.seen;
                    while bench.seen.faults == faults {
                        bench.cycle().unwrap();
                    }
                    let reported = u32::from(end == End::ReadFault);
                    assert_eq!(bench.seen.read_faults, read_faults + reported);
                }
                End::Nothing => bench.promises.clear(), // the ring is gone
            }
            for _ in 0..100 {
                bench.cycle().unwrap();
            }
            assert!(bench.under_way.is_empty(), "{end:?}");
            bench.promises.clear();
            bench.drain().unwrap();
            let error = error_record::VALID.get(&bench.model.streams[1].record);
            let number = error_record::CODE.get(&bench.model.streams[1].record);
            match end {
                End::Post | End::Freeze => assert_eq!(error, 0),
                End::Fault | End::ReadFault => assert_eq!((error, number), (1, 0)),
                End::Nothing => assert_eq!((error, number), (1, 0x02)),
            }
            bench.compare_records().unwrap();
            bench.command(freeze(1)).unwrap();
            bench.command(freeze(2)).unwrap();
        }
        // a wrong MSN is no matter of buffers
        bench.command(arm(1, 7, true, 0b11, 5)).unwrap();
        bench.promise(1, 0, 10, 0x6000);
        let wrong = message(&mut bench, 1, 0, 6);
        bench.send(wrong);
        for _ in 0..40 {
            bench.cycle().unwrap();
        }
        assert!(bench.under_way.is_empty());
        assert_eq!(error_record::CODE.get(&bench.model.streams[1].record), 0x03);
    });
}

// req: AMB-42, DDP-SEC-10, DDP-SEC-22
#[test]
fn nothing_is_accepted_before_arm_or_behind_reset_and_revoke() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 10);
        let region = Region {
            stag: 0x1234_5678,
            scope: Scope::ProtectionDomain(7),
            remote_write: true,
            base: 0,
            length: 64,
            address: 0x10_0000,
        };
        let header: String = tagged_header(0xc1, 0, region.stag, 0)
            .iter()
            .map(|octet| format!("{octet:02x}"))
            .collect();
        bench.command(write_stag(region)).unwrap();
        let discarded = Pair::default();
        let placed = Some((16, 0x10_0000, 8));
        let (pair, _) = one(&mut bench, 0, &header, 8);
        assert_eq!(
            (pair.write, pair.action),
            (discarded.write, discarded.action)
        );
        bench.command(arm(0, 7, false, 0, 1)).unwrap();
        let (pair, failed) = one(&mut bench, 0, &header, 8);
        // no event: the stream does not want tagged completions
        assert_eq!((pair.write, pair.action, failed), (placed, 0, None));
        // another key, the same slot: not this STag
        bench.command(revoke_stag(region.stag ^ 1)).unwrap();
        assert_eq!(one(&mut bench, 0, &header, 8).0.write, placed);
        bench.command(revoke_stag(region.stag)).unwrap();
        bench.command(fence()).unwrap();
        let (_, failed) = one(&mut bench, 0, &header, 8);
        assert_eq!(failed, Some((0x100, checks("stag"))));
        // a reset forgets streams, STags and records
        bench.command(write_stag(region)).unwrap();
        bench.lockstep.block.reset.next = true;
        bench.cycle().unwrap();
        bench.lockstep.block.reset.next = false;
        bench.model = Model::new(bench.model.config, 4);
        bench.command(post(0, 0, 1, 0)).unwrap();
        bench.compare_records().unwrap();
        bench.command(arm(0, 7, false, 0, 1)).unwrap();
        let (_, failed) = one(&mut bench, 0, &header, 8);
        assert_eq!(failed, Some((0x100, checks("stag"))));
    });
}

#[test]
fn latency_and_throughput() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 11);
        bench.command(arm(0, 7, true, 1, 1)).unwrap();
        assert_eq!(
            bench.done_times.last().map(|(from, to)| to - from),
            Some(28),
            "arm"
        );
        bench.command(post(0, 0, 100, 0)).unwrap();
        assert_eq!(
            bench.done_times.last().map(|(from, to)| to - from),
            Some(5),
            "post"
        );
        // tagged ones follow each other every cycle
        let header = tagged_header(0xc1, 0, 0, 0);
        for _ in 0..100 {
            let sent = fpdu(&mut bench.rng, 0, &header, 0);
            bench.send(sent);
        }
        let first_error = fpdu(&mut bench.rng, 0, &header, 1);
        bench.send(first_error);
        for _ in 0..5 {
            let discarded = fpdu(&mut bench.rng, 0, &header, 1);
            bench.send(discarded);
        }
        let begin = bench.lockstep.cycles();
        bench.pair_times.clear();
        bench.drain().unwrap();
        let times = &bench.pair_times;
        assert_eq!(times[0] - begin, LATENCY);
        for pair in times[..100].windows(2) {
            assert_eq!(pair[1] - pair[0], 1);
        }
        assert_eq!(
            times[100] - times[99],
            RECORD,
            "the record is written first"
        );
        assert_eq!(times[105] - times[100], 6);
        // what the tables say waits for the verdict, and costs nothing then
        bench.command(arm(0, 7, true, 1, 1)).unwrap();
        let late: Vec<Fpdu> = (0..30)
            .map(|_| fpdu(&mut bench.rng, 0, &header, 0))
            .collect();
        for lead in [6, 40] {
            bench.segments.extend(&late);
            (0..lead).for_each(|_| bench.cycle().unwrap());
            bench.verdicts.extend(&late);
            let begin = bench.lockstep.cycles();
            bench.pair_times.clear();
            bench.drain().unwrap();
            let first = LATENCY.saturating_sub(lead).max(FROM_VERDICT);
            assert_eq!(bench.pair_times[0] - begin, first);
            for pair in bench
                .pair_times
                .windows(2)
                .take(if lead == 6 { 30 } else { 10 })
            {
                assert_eq!(pair[1] - pair[0], 1);
            }
        }
        // untagged ones hold the key until they have changed their queue
        for _ in 0..4 {
            bench.command(post(0, 0, 100, 0)).unwrap();
        }
        for msn in 1..=4 {
            let sent = message(&mut bench, 0, 0, msn);
            bench.send(sent);
        }
        let begin = bench.lockstep.cycles();
        bench.pair_times.clear();
        bench.drain().unwrap();
        let times = &bench.pair_times;
        assert_eq!(times[0] - begin, LATENCY);
        for pair in times.windows(2) {
            assert_eq!(pair[1] - pair[0], PER_UNTAGGED);
        }
    });
}

/// A command waits for what has entered, and one FPDU goes between two commands.
#[test]
fn neither_commands_nor_fpdus_starve_the_other() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 13);
        bench.command(arm(0, 7, true, 1, 1)).unwrap();
        let header = tagged_header(0xc1, 0, 0, 0);
        let (mut longest, mut offered, mut taken) = (0, None, 0);
        bench.pair_times.clear();
        for _ in 0..2000 {
            while bench.segments.len() < 2 {
                let sent = fpdu(&mut bench.rng, 0, &header, 0);
                bench.send(sent);
            }
            if bench.orders.is_empty() {
                bench.orders.push_back(revoke_stag(0x100));
            }
            let now = bench.lockstep.cycles();
            if bench.running.is_none() && offered.is_none() {
                offered = Some(now);
            }
            bench.cycle().unwrap();
            if let (Some(since), true) = (offered, bench.running.is_some()) {
                longest = longest.max(now - since);
                taken += 1;
                offered = None;
            }
        }
        println!(
            "{taken} commands, {} FPDUs, {longest} cycles",
            bench.pair_times.len()
        );
        assert!(longest <= 13, "a command waited {longest} cycles");
        assert!(taken >= 2000 / 24);
        assert!(bench.pair_times.len() >= taken - 1, "an FPDU a command");
        bench.drain().unwrap();
    });
}

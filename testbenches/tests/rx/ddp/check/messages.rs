//! Messages: holes, offsets, lengths, and the window of message sequence numbers.

use super::bench::*;
use super::cases::*;
use super::stimulus::*;
use fastrand::Rng;
use warpline_hdl::rx::ddp::check::receive_queues::{MessageState, QueueState, ReceiveBuffer};
use warpline_hdl::rx::ddp::check::untagged::{self, UntaggedChecks};
use warpline_regmap::layout::error_record;
use warpline_testbenches::lockstep::{Lockstep, on_large_stack};
use warpline_testbenches::stimulus::chance;

/// The octets placed against the length; what a former message or owner left in the slot does not count.
// req: AMB-05, AMB-06, AMB-07, DDP-ORD-03, DDP-ORD-04, DDP-SEG-12
#[test]
fn holes_are_told() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 13);
        let free = Options::default();
        let (whole, holed) = (Some(false), Some(true));
        for list in [
            &[(0, true, 100, 0, whole)][..],
            &[(0, true, 0, 0, whole)],
            &[(1, true, 99, 0, holed)],
            &[(100, true, 0, 0, holed)],
            &[(0, false, 60, 0, None), (60, true, 40, 0, whole)],
            &[
                (30, false, 30, 0, None),
                (0, false, 30, 0, None),
                (60, true, 1, 0, whole),
            ],
            &[(0, false, 60, 0, None), (61, true, 39, 0, holed)],
            &[
                (0, false, 60, 0, None),
                (0, false, 60, 0, None),
                (60, true, 40, 0, holed),
            ],
            &[
                (0, false, 60, 0, None),
                (7, false, 0, 0, None),
                (60, true, 0, 0, whole),
            ],
            // left behind by an owner that is gone
            &[(0, false, 99, 0, None)],
            &[(0, true, 100, 0, whole)],
        ] {
            pieces(&mut bench, free, list);
        }
        // all slots, and once more round
        bench.command(arm_with(1, 7, free, 0b1, 5)).unwrap();
        for msn in 5..14 {
            bench.command(post(1, 0, 100, 0x4000)).unwrap();
            for (control, offset, length) in [(0x01, 0, msn), (0x41, msn, 1)] {
                let header = untagged_header(control, [0; 5], 0, msn, offset);
                let sent = fpdu(&mut bench.rng, 1, &header, length as usize);
                bench.send(sent);
            }
            bench.drain().unwrap();
        }
        assert_eq!(bench.seen.holes, 4);
    });
}

// req: AMB-07, DDP-ERR-32
#[test]
fn strict_offsets_follow_the_octets_placed() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 14);
        let strict = Options {
            strict_mo: true,
            ..Options::default()
        };
        let whole = Some(false);
        for list in [
            &[(0, true, 100, 0, whole)][..],
            &[(0, true, 0, 0, whole)],
            &[(1, true, 1, 0x204, None)],
            &[(1, true, 0, 0x204, None)],
            &[(0, false, 60, 0, None), (60, true, 40, 0, whole)],
            &[
                (0, false, 60, 0, None),
                (60, false, 0, 0, None),
                (60, true, 0, 0, whole),
            ],
            &[(0, false, 100, 0, None), (100, true, 0, 0, whole)],
            &[(0, false, 60, 0, None), (61, true, 39, 0x204, None)],
            &[(0, false, 60, 0, None), (59, true, 1, 0x204, None)],
            &[(0, false, 60, 0, None), (0, false, 60, 0x204, None)],
            &[(0, false, 60, 0, None), (60, true, 41, 0x205, None)],
            // left behind by an owner that is gone
            &[(0, false, 99, 0, None)],
            &[(0, true, 100, 0, whole)],
        ] {
            pieces(&mut bench, strict, list);
        }
    });
}

/// The arithmetic on its own, near its ends: a message in which octets were placed again and again, up to 2^32 and
/// beyond, needs more FPDUs than a test of the whole block has time for.
// req: AMB-04, AMB-05, AMB-07, AMB-24, DDP-ERR-04, DDP-ERR-05, DDP-ERR-06
#[test]
fn octets_are_counted_up_to_the_longest_message_and_beyond() {
    on_large_stack(|| {
        let block = Box::new(UntaggedChecks::default());
        let clock = |b: &mut UntaggedChecks, level: bool| b.clock.next = level.into();
        let mut lockstep = Lockstep::new("untagged_checks", block, clock).unwrap();
        let rng = &mut Rng::with_seed(15);
        let mut seen = [0; 5];
        for _ in 0..4000 {
            let near = |rng: &mut Rng| match rng.u8(..4) {
                0 => rng.u32(..4),
                1 => 0_u32.wrapping_sub(rng.u32(..4)),
                2 => 1_u32 << rng.u8(..32),
                _ => rng.u32(..),
            };
            let (capacity, payload) = (near(rng), near(rng) as u16);
            let placed = if chance(rng, 20) { capacity } else { near(rng) };
            let offset = match rng.u8(..4) {
                0 => placed,
                1 => capacity,
                2 => capacity.wrapping_sub(payload.into()),
                _ => near(rng),
            };
            let (countless, strict) = (chance(rng, 10), rng.bool());
            let (first, window) = (rng.u32(..), rng.bool());
            let posted = [0, 1, rng.u32(..256), 256][rng.usize(..4)];
            let distance = match rng.u8(..4) {
                0 => posted.wrapping_sub(rng.u32(..2)),
                1 => (1 << 31) - rng.u32(..2),
                _ => near(rng),
            };
            let block = &mut *lockstep.block;
            block.msn.next = u64::from(first.wrapping_add(distance)).into();
            block.window.next = window;
            block.offset.next = u64::from(offset).into();
            block.length.next = u64::from(payload).into();
            block.state.next = QueueState {
                msn: u64::from(first).into(),
                posted: u64::from(posted).into(),
                ..QueueState::default()
            };
            block.buffer.next = ReceiveBuffer {
                length: u64::from(capacity).into(),
                address: 0.into(),
            };
            block.message.next = MessageState {
                placed: u64::from(placed).into(),
                countless,
                ..MessageState::default()
            };
            block.strict_offset.next = strict;
            for _ in 0..untagged::LATENCY {
                lockstep.settle().unwrap();
                lockstep.edge().unwrap();
            }
            lockstep.settle().unwrap();
            let block = &lockstep.block;
            assert_eq!(block.distance.val().to_u32(), distance);
            let behind = window && distance >= 1 << 31;
            assert_eq!(block.fails_msn.val(), behind || !window && distance != 0);
            assert_eq!(block.fails_buffer.val(), distance >= posted);
            let end = u64::from(offset) + u64::from(payload);
            let before = u64::from(placed) + (u64::from(countless) << 40);
            let total = before + u64::from(payload);
            let inside = offset < capacity || (offset == capacity && payload == 0);
            let moved = strict && u64::from(offset) != before;
            let fails_length = end > u64::from(capacity);
            assert_eq!(block.fails_offset.val(), !inside || moved);
            assert_eq!(block.fails_length.val(), fails_length);
            if !fails_length {
                assert_eq!(block.hole.val(), total != end, "{total} of {end}");
            }
            let progress = block.progress.val();
            assert_eq!(progress.countless, total >> 32 != 0);
            assert_eq!(progress.placed.to_u32(), total as u32);
            let overflows = !countless && progress.countless;
            for (seen, now) in seen.iter_mut().zip([
                !fails_length && total == end,
                !fails_length && total != end,
                moved && inside && !fails_length,
                overflows,
                countless,
            ]) {
                *seen += u32::from(now);
            }
        }
        assert!(seen.iter().all(|seen| *seen > 20), "{seen:?}");
    });
}

/// Whatever order messages are closed in, they are delivered in that of their MSNs, 6 cycles each.
// req: AMB-04, AMB-06, AMB-08, AMB-24, DDP-UNT-12, DDP-UNT-16, DDP-ORD-03, DDP-ORD-05, DDP-ORD-06
#[test]
fn messages_that_overtake_are_delivered_in_order() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 16);
        let first: u32 = 0xffff_fffe;
        let msn = |i: u32| first.wrapping_add(i);
        let mut followers = 0;
        for (order, behind) in [
            (&[0, 1, 2, 3][..], 0),
            (&[3, 2, 1, 0], 3),
            (&[1, 0, 3, 2], 2),
            (&[2, 0, 3, 1], 2),
            (&[3, 1, 0, 2], 2),
        ] {
            window(&mut bench, first, 4);
            bench.pair_times.clear();
            for i in order {
                last(&mut bench, msn(*i), *i as usize + 1);
            }
            bench.drain().unwrap();
            let record = bench.model.streams[1].record;
            assert_eq!(error_record::VALID.get(&record), 0);
            followers += behind;
            assert_eq!(bench.seen.followers, followers);
            assert_eq!(bench.pair_times.len(), 4 + behind as usize);
            bench.command(freeze(1)).unwrap();
        }
        // the cost: none as long as messages come in order, then what is in front is settled first, and 6 cycles each
        window(&mut bench, first, 4);
        bench.pair_times.clear();
        for i in [0, 3, 2, 1] {
            last(&mut bench, msn(i), 1);
        }
        bench.drain().unwrap();
        let gaps: Vec<u64> = bench.pair_times.windows(2).map(|t| t[1] - t[0]).collect();
        assert_eq!(
            gaps,
            [PER_UNTAGGED, PER_UNTAGGED, PER_UNTAGGED, FIRST_FOLLOWER, 6]
        );
        // closed, and never delivered: the error comes first; nothing of it is left for the next owner
        bench.command(freeze(1)).unwrap();
        window(&mut bench, 1, 4);
        last(&mut bench, 2, 1);
        last(&mut bench, 3, 101);
        last(&mut bench, 1, 1);
        bench.drain().unwrap();
        let record = bench.model.streams[1].record;
        assert_eq!(error_record::CODE.get(&record), 0x05);
        let delivered = bench.seen.delivered;
        window(&mut bench, 1, 4);
        last(&mut bench, 1, 1);
        bench.drain().unwrap();
        assert_eq!(bench.seen.delivered, delivered + 1);
    });
}

// req: AMB-06, AMB-07, DDP-ORD-04
#[test]
fn segments_behind_the_last_one_are_an_anomaly() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 17);
        let segment = |bench: &mut Bench<4>, msn, last, offset, length, rsvd_ulp: u8| {
            let control = if last { 0x41 } else { 0x01 };
            let header = untagged_header(control, [rsvd_ulp; 5], 0, msn, offset);
            let sent = fpdu(&mut bench.rng, 1, &header, length);
            bench.send(sent);
        };
        for (rest, hole) in [
            // what comes behind fills the hole, or makes one, or is nothing
            (&[(false, 0, 60)][..], false),
            (&[(true, 0, 60)], false),
            (&[(false, 0, 60), (true, 0, 100)], true),
            (&[(false, 0, 0)], true),
            (&[], true),
        ] {
            window(&mut bench, 1, 2);
            segment(&mut bench, 2, true, 60, 40, 0x11);
            for (last, offset, length) in rest {
                segment(&mut bench, 2, *last, *offset, *length, 0x22);
            }
            bench.drain().unwrap();
            let Seen {
                holes, anomalies, ..
            } = bench.seen;
            last(&mut bench, 1, 1);
            bench.drain().unwrap();
            assert_eq!(bench.seen.holes - holes, u32::from(hole));
            assert_eq!(
                bench.seen.anomalies - anomalies,
                u32::from(!rest.is_empty())
            );
            // delivered, it is behind the window
            segment(&mut bench, 2, true, 60, 40, 0);
            bench.drain().unwrap();
            let record = bench.model.streams[1].record;
            assert_eq!(error_record::CODE.get(&record), 0x03);
        }
    });
}

/// A segment waits only for a buffer that will be its own.
// req: AMB-04, DDP-ERR-03, DDP-ERR-30
#[test]
fn in_a_window_the_buffer_of_the_very_message_has_to_be_coming() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 18);
        // buffers posted, buffers promised, distance, waits
        for (buffers, promised, distance, waits) in [
            (0, 1, 0, true),
            (0, 1, 1, false),
            (1, 1, 1, true),
            (1, 1, 2, false),
            (0, 3, 2, true),
            // more than the device has slots for
            (4, 1, 4, false),
            (3, 2, 4, false),
            (3, 1, 0x100, false),
            (3, 1, 0x103, false),
        ] {
            let name = format!("{buffers} and {promised}, {distance}");
            bench.promises.clear();
            window(&mut bench, 9, buffers);
            for i in 0..promised {
                bench.promise(1, 0, 100, 0x10_0000 * (i + 1));
            }
            (0..40).for_each(|_| bench.cycle().unwrap());
            last(&mut bench, 9 + distance, 1);
            (0..60).for_each(|_| bench.cycle().unwrap());
            assert_eq!(bench.under_way.len(), usize::from(waits), "{name}");
            bench.drain().unwrap();
            let record = bench.model.streams[1].record;
            let number = (
                error_record::VALID.get(&record),
                error_record::CODE.get(&record),
            );
            assert_eq!(number, if waits { (0, 0) } else { (1, 2) }, "{name}");
            bench.command(freeze(1)).unwrap();
        }
    });
}

//! `delay`, `lane_mask`, `keep_count`, `heads`, `turn` and `shift`: every length, every range, every count, every lane, every
//! choice.

use rust_hdl_core::prelude::*;
use warpline_hdl::parts::delay::Delay;
use warpline_hdl::parts::keep_count::KeepCount;
use warpline_hdl::parts::lane_mask::LaneMask;
use warpline_hdl::parts::round_robin::RoundRobin;
use warpline_hdl::rx::mpa::admit::shift::Shift;
use warpline_hdl::rx::mpa::dword_heads::DwordHeads;
use warpline_hdl::rx::mpa::fetch::FpduBeat;
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack};
use warpline_testbenches::octets::{lowest, octets};
use warpline_testbenches::stimulus::{self, chance};

/// Values that came out of a line of `cycles` registers and had not gone in `late` cycles before.
fn out_of_step<T: Synth>(
    cycles: usize,
    late: usize,
    value: impl Fn(&mut fastrand::Rng) -> T,
) -> usize {
    let mut rng = fastrand::Rng::with_seed(cycles as u64);
    let block = Box::new(Delay::<T>::new(cycles));
    let top = format!("delay_{cycles}_{}", T::BITS);
    let mut bench = Lockstep::new(&top, block, |b, level| b.clock.next = level.into()).unwrap();
    let mut went_in = vec![];
    let mut wrong = 0;
    for cycle in 0..300 {
        went_in.push(value(&mut rng));
        bench.block.d.next = went_in[cycle];
        bench.settle().unwrap();
        // zeros are in the line at first
        let expected = cycle
            .checked_sub(late)
            .map_or(T::default(), |at| went_in[at]);
        wrong += bench.mismatch(bench.block.q.val() != expected);
        bench.edge().unwrap();
    }
    wrong
}

#[test]
fn a_delay_holds_what_went_in_for_its_cycles() {
    for cycles in [1, 2, 3, 7] {
        assert_eq!(out_of_step::<Bits<8>>(cycles, cycles, stimulus::bits), 0);
    }
    assert_eq!(out_of_step::<Bits<100>>(4, 4, stimulus::bits), 0);
    assert_eq!(out_of_step::<Bit>(2, 2, |rng| chance(rng, 50)), 0);
    // a line that is a cycle early or late is seen
    assert!(out_of_step::<Bits<8>>(3, 2, stimulus::bits) > 100);
    assert!(out_of_step::<Bits<8>>(3, 4, stimulus::bits) > 100);
}

#[test]
fn a_delay_takes_records() {
    let beat = |rng: &mut fastrand::Rng| FpduBeat {
        valid: chance(rng, 50),
        first: chance(rng, 50),
        last: chance(rng, 50),
        count: stimulus::bits(rng),
        marker: chance(rng, 50),
        marker_lane: stimulus::bits(rng),
        marker_pointer: stimulus::bits(rng),
    };
    assert_eq!(out_of_step::<FpduBeat>(5, 5, beat), 0);
}

#[test]
#[should_panic(expected = "a delay of no cycles is a wire")]
fn a_delay_of_no_cycles_is_refused() {
    let _ = Delay::<Bit>::new(0);
}

/// The mask by its definition: lane by lane, each W/N bits wide.
fn mask<const W: usize, const N: usize>(from: usize, to: usize) -> Bits<W> {
    (0..W).fold(Bits::default(), |mask: Bits<W>, bit| {
        let lane = bit * N / W;
        mask.replace_bit(bit, from <= lane && lane < to)
    })
}

/// Ranges whose mask is wrong, of all with both ends from 0 to N, and with the highest ends that are allowed.
fn wrong_masks<const W: usize, const N: usize>() -> usize {
    let block = Box::new(LaneMask::<W, N>::default());
    let mut bench = Lockstep::new(&format!("lane_mask_{W}_{N}"), block, |_, _| {}).unwrap();
    let mut wrong = 0;
    for from in (0..=N).chain([128]) {
        for to in (0..=N).chain([128]) {
            bench.block.from.next = (from as u64).into();
            bench.block.to.next = (to as u64).into();
            bench.settle().unwrap();
            wrong += bench.mismatch(bench.block.mask.val() != mask::<W, N>(from, to));
        }
    }
    wrong
}

#[test]
fn every_range_of_lanes_at_64_bits() {
    assert_eq!(wrong_masks::<8, 8>(), 0);
    assert_eq!(wrong_masks::<8, 2>(), 0);
    assert_eq!(wrong_masks::<64, 2>(), 0);
}

#[test]
fn every_range_of_lanes_at_512_bits() {
    on_large_stack(|| {
        assert_eq!(wrong_masks::<64, 64>(), 0);
        assert_eq!(wrong_masks::<64, 16>(), 0);
        assert_eq!(wrong_masks::<512, 16>(), 0);
    });
}

/// Counts of `tkeep` that are wrong, of all that AXI4-Stream packets of this device have.
fn wrong_counts<const K: usize>() -> usize {
    let block = Box::new(KeepCount::<K>::default());
    let mut bench = Lockstep::new(&format!("keep_count_{K}"), block, |_, _| {}).unwrap();
    let count = |octets| {
        bench.block.keep.next = lowest(octets);
        bench.settle().unwrap();
        usize::from(bench.block.count.val() != octets as u64)
    };
    (0..=K).map(count).sum()
}

#[test]
fn every_count_of_octets() {
    assert_eq!(wrong_counts::<8>(), 0);
    assert_eq!(wrong_counts::<16>(), 0);
    assert_eq!(wrong_counts::<32>(), 0);
    assert_eq!(wrong_counts::<64>(), 0);
}

/// Beats of noise whose dwords' first two octets do not come out one behind the other.
fn wrong_heads<const W: usize, const H: usize>() -> usize {
    let block = Box::new(DwordHeads::<W, H>::default());
    let mut bench = Lockstep::new(&format!("heads_{W}"), block, |_, _| {}).unwrap();
    let mut rng = fastrand::Rng::with_seed(W as u64);
    let mut beat = |_| {
        let data: Bits<W> = stimulus::bits(&mut rng);
        bench.block.data.next = data;
        bench.settle().unwrap();
        let expected: Vec<u8> = octets(data)
            .chunks(4)
            .flat_map(|dword| dword[..2].to_vec())
            .collect();
        usize::from(octets(bench.block.octets.val()) != expected)
    };
    (0..100).map(&mut beat).sum()
}

#[test]
fn the_first_two_octets_of_each_dword() {
    assert_eq!(wrong_heads::<64, 32>(), 0);
    assert_eq!(wrong_heads::<128, 64>(), 0);
    on_large_stack(|| {
        assert_eq!(wrong_heads::<256, 128>(), 0);
        assert_eq!(wrong_heads::<512, 256>(), 0);
    });
}

/// Whether lockstep ends when `from` becomes `to` in the text of `block`.
fn fault_is_seen<B: Block>(
    top: &str,
    block: B,
    fault: (&str, &str),
    drive: impl Fn(&mut B),
) -> bool {
    let block = Box::new(block);
    let mut design = writer::write(&*block, top).unwrap();
    let text = &mut design.modules[0].text;
    assert!(text.contains(fault.0), "{text}");
    *text = text.replace(fault.0, fault.1);
    let mut bench = Lockstep::with_fault(top, block, &design, |_, _| {}).unwrap();
    drive(&mut bench.block);
    matches!(bench.settle(), Err(LockstepError::Differ { .. }))
}

/// Choices among five that are not the first one who asks, going down and round from the one `below` the last one.
fn wrong_turns(below: usize) -> usize {
    let block = Box::new(RoundRobin::<5>::default());
    let mut bench = Lockstep::new("round_robin_5", block, |_, _| ()).unwrap();
    let mut wrong = 0;
    for asks in 0..32_u64 {
        for last in 0..5 {
            for (i, port) in bench.block.asks.iter_mut().enumerate() {
                port.next = asks >> i & 1 == 1;
            }
            bench.block.last.next = (last as u64).into();
            bench.settle().unwrap();
            let round = (0..5).map(|down| (last + 10 - below - down) % 5);
            let expected = round.into_iter().find(|i| asks >> i & 1 == 1);
            let found = bench
                .block
                .any
                .val()
                .then(|| bench.block.choice.val().index());
            wrong += bench.mismatch(found != expected);
        }
    }
    wrong
}

#[test]
fn every_turn_of_five() {
    assert_eq!(wrong_turns(1), 0);
    // a model that begins with the last one itself is seen
    assert!(wrong_turns(0) > 50);
}

/// Choices of `shift` that are not what a list gives, of which an item is taken out, or put in front of another one.
/// `beyond` stands behind the items there.
fn wrong_shifts(beyond: usize) -> usize {
    let block = Box::new(Shift::<Bits<8>, 4>::default());
    let mut bench = Lockstep::new("shift_4", block, |_, _| ()).unwrap();
    let mut rng = fastrand::Rng::with_seed(4);
    let mut wrong = 0;
    for choices in 0..256_usize {
        let choice = |k: usize| choices >> (2 * k) & 3;
        let [stay, items] = [(); 2].map(|()| [(); 4].map(|()| rng.u8(..)));
        let [own, behind] = [(); 2].map(|()| rng.u8(..));
        for k in 0..4 {
            let b = &mut bench.block;
            b.high[k].next = choice(k) & 2 != 0;
            b.low[k].next = choice(k) & 1 != 0;
            b.stay[k].next = u64::from(stay[k]).into();
            b.items[k].next = u64::from(items[k]).into();
            b.own.next = u64::from(own).into();
            b.beyond.next = u64::from(behind).into();
        }
        bench.settle().unwrap();
        let mut list = items.to_vec();
        list.insert(beyond, behind);
        for k in 0..4 {
            let expected = match choice(k) {
                0 => stay[k],
                1 => list[k + 1],
                // nothing is in front of the first one
                2 if k == 0 => stay[k],
                2 => items[k - 1],
                _ => own,
            };
            wrong += bench.mismatch(bench.block.out[k].val() != Bits::from(u64::from(expected)));
        }
    }
    wrong
}

#[test]
fn every_shift_of_four() {
    assert_eq!(wrong_shifts(4), 0);
    // a model that has another item behind the last one is seen
    assert!(wrong_shifts(3) > 50);
}

#[test]
fn a_lane_too_many_is_seen() {
    let fault = ("to > 8'd3", "to >= 8'd3");
    assert!(fault_is_seen(
        "lane_mask_fault",
        LaneMask::<8, 8>::default(),
        fault,
        |b| {
            b.to.next = 3.into();
        }
    ));
    let fault = ("keep >> 1", "keep >> 2");
    assert!(fault_is_seen(
        "keep_count_fault",
        KeepCount::<8>::default(),
        fault,
        |b| {
            b.keep.next = 0b11.into();
        }
    ));
    let fault = ("data[47:32], data[15:0]", "data[15:0], data[47:32]");
    assert!(fault_is_seen(
        "heads_fault",
        DwordHeads::<64, 32>::default(),
        fault,
        |b| {
            b.data.next = 1_u64.into();
        }
    ));
}

//! `rotate`: random lanes and amounts, a rotation a cycle, against indexing, at the lane counts the device uses.

use rust_hdl_core::prelude::*;
use warpline_hdl::parts::rotate::{Rotate, latency};
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack};
use warpline_testbenches::stimulus;

/// Lanes of `width` octets, lane i of the result being lane i + amount.
fn rotated(octets: &[u8], width: usize, amount: usize) -> Vec<u8> {
    let lanes: Vec<&[u8]> = octets.chunks(width).collect();
    let from = |lane: usize| lanes[(lane + amount) % lanes.len()];
    (0..lanes.len())
        .flat_map(|lane| from(lane).to_vec())
        .collect()
}

fn octets<const W: usize>(bits: Bits<W>) -> Vec<u8> {
    (0..W / 8)
        .map(|octet| bits.get_bits::<8>(8 * octet).to_u8())
        .collect()
}

/// Rotations that came out `late` cycles after they went in and were not what indexing says.
fn mismatches<const W: usize, const N: usize, const L: usize>(late: usize, cycles: usize) -> usize {
    let mut rng = fastrand::Rng::with_seed(0x0707 + W as u64);
    let top = format!("rotate_{W}_{N}");
    let block = Box::new(Rotate::<W, N, L>::default());
    let mut bench = Lockstep::new(&top, block, |b, level| b.clock.next = level.into()).unwrap();
    let mut expected = vec![];
    let mut wrong = 0;
    for cycle in 0..cycles {
        // every amount first, then any
        let amount = if cycle < N { cycle } else { rng.usize(0..N) };
        let data: Bits<W> = if cycle < N {
            wide_count()
        } else {
            stimulus::bits(&mut rng)
        };
        bench.block.data.next = data;
        bench.block.amount.next = (amount as u64).into();
        expected.push(rotated(&octets(data), W / 8 / N, amount));
        bench.settle().unwrap();
        if cycle >= late {
            wrong += bench.mismatch(octets(bench.block.out.val()) != expected[cycle - late]);
        }
        bench.edge().unwrap();
    }
    wrong
}

/// Octets 0, 1, 2 …
fn wide_count<const W: usize>() -> Bits<W> {
    let mut bits = Bits::default();
    (0..W / 8).for_each(|octet| bits.set_bits::<8>(8 * octet, (octet as u64).into()));
    bits
}

#[test]
fn dword_lanes_of_64_bits() {
    assert_eq!(mismatches::<64, 2, 1>(latency(2), 1000), 0);
}

#[test]
fn octet_lanes_of_64_bits() {
    assert_eq!(mismatches::<64, 8, 3>(latency(8), 1000), 0);
}

#[test]
fn lanes_of_128_and_256_bits() {
    assert_eq!(mismatches::<128, 4, 2>(latency(4), 500), 0);
    assert_eq!(mismatches::<128, 16, 4>(latency(16), 500), 0);
    on_large_stack(|| assert_eq!(mismatches::<256, 8, 3>(latency(8), 500), 0));
    on_large_stack(|| assert_eq!(mismatches::<256, 32, 5>(latency(32), 500), 0));
}

#[test]
fn dword_lanes_of_512_bits() {
    on_large_stack(|| assert_eq!(mismatches::<512, 16, 4>(latency(16), 500), 0));
}

#[test]
fn octet_lanes_of_512_bits() {
    on_large_stack(|| assert_eq!(mismatches::<512, 64, 6>(latency(64), 500), 0));
}

#[test]
fn latency_is_a_cycle_for_two_bits_of_the_amount() {
    let stated = [2, 4, 8, 16, 32, 64].map(latency);
    assert_eq!(stated, [1, 1, 2, 2, 3, 3]);
    // the scoreboard sees a rotator that is a cycle early or late
    assert!(mismatches::<64, 8, 3>(latency(8) - 1, 100) > 50);
    assert!(mismatches::<64, 8, 3>(latency(8) + 1, 100) > 50);
}

#[test]
fn a_level_on_the_wrong_bit_of_the_amount_is_seen() {
    let block = Box::new(Rotate::<64, 8, 3>::default());
    let mut design = writer::write(&*block, "rotate_fault").unwrap();
    let text = &mut design.modules[0].text;
    let faulty = text.replace("amount[1] ?", "amount[0] ?");
    assert_ne!(*text, faulty);
    *text = faulty.replace("amount[2:2];", "amount[2:2] ^ (amount[1] & 1'b0);");
    let clock: fn(&mut Rotate<64, 8, 3>, bool) = |b, level| b.clock.next = level.into();
    let mut bench = Lockstep::with_fault("rotate_fault", block, &design, clock).unwrap();
    bench.block.data.next = wide_count();
    bench.block.amount.next = 2.into();
    let seen = (0..5).find_map(|_| bench.settle().and_then(|()| bench.edge()).err());
    assert!(matches!(seen, Some(LockstepError::Differ { .. })));
}

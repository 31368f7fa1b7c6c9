//! One thing at a time.

use crate::memory::Manner;
use crate::slots;
use crate::support::{Consumer, Rig, at_wider};

/// Slots of every size, one after the other.
fn sizes<const W: usize, const K: usize, const S: usize>() {
    let mut rig = Rig::<W, K, S>::new(16, Manner::quick(3), 1);
    let run = |rig: &mut Rig<W, K, S>| {
        rig.give_all(128)?;
        for count in 0..=8 {
            let slot = slots::gather(&mut rig.rng, count);
            rig.write(count % S, slot);
        }
        for count in 0..=64 {
            let slot = slots::inline(&mut rig.rng, count);
            rig.write(count % S, slot);
        }
        (0..S).for_each(|stream| rig.ring(stream));
        rig.drain()
    };
    run(&mut rig).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(rig.pops.len(), 9 + 65);
    assert_eq!(rig.seconds, 6 + 32);
}

#[test]
fn slots_of_every_size_are_read_at_64_bits() {
    sizes::<64, 8, 4>();
}

#[test]
fn slots_of_every_size_are_read_at_128_256_and_512_bits() {
    at_wider!(sizes());
}

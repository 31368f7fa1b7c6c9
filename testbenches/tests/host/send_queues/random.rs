//! Everything at once: hosts that post, close and set rings again, a consumer and a bus of changing manners.

use warpline_testbenches::lockstep::on_large_stack;
use warpline_testbenches::stimulus::{Pace, chance};

use crate::memory::Manner;
use crate::model::{Consumer, Ring, Wrong, base};
use crate::slots;
use crate::support::Rig;

/// What a run has come across.
#[derive(Default, Debug)]
pub struct Cover {
    closes: u32,
    /// Freezes with slots that were announced and not popped.
    with_work: u32,
}

fn manner<const W: usize, const K: usize, const S: usize>(rig: &mut Rig<W, K, S>) {
    let manner = match rig.rng.u8(0..5) {
        0 => Manner::quick(0),
        1 => Manner {
            delay: 0..120,
            ..Manner::quick(0)
        },
        2 => Manner {
            ar: Pace::Percent(10),
            ..Manner::rough()
        },
        _ => Manner::rough(),
    };
    rig.memory.change(manner);
    let consumer = match rig.rng.u8(0..6) {
        0 => Consumer::ALL,
        1 => Consumer::every(0),
        2 => Consumer {
            pace: Pace::Percent(8),
            ..Consumer::ALL
        },
        3 => Consumer {
            pace: Pace::Bursts(200),
            ..Consumer::ALL
        },
        _ => Consumer {
            pace: Pace::Percent(60),
            ..Consumer::ALL
        },
    };
    rig.consume(consumer);
}

/// Gives a ring to a stream that has none, or one that is refused.
fn set<const W: usize, const K: usize, const S: usize>(rig: &mut Rig<W, K, S>) {
    let stream = rig.rng.usize(0..S);
    let vacant = rig.streams[stream].ring.is_none();
    let mut entries = 4 << rig.rng.u32(0..6);
    let mut at = base(stream as u64) + 256 * rig.rng.u64(0..9);
    let mut number = stream as u8;
    if vacant && chance(&mut rig.rng, 30) {
        match rig.rng.u8(0..3) {
            0 => {
                let wrong = [0, 1, 2, 3, 5, 6, 24, 4095, 8192, 0x8000];
                entries = *rig.rng.choice(&wrong).unwrap();
            }
            1 => at += 1 << rig.rng.u32(0..8),
            _ => number = rig.rng.u8(S as u8..),
        }
    }
    let memory = (0..entries).map(|_| slots::noise(&mut rig.rng)).collect();
    let ring = Ring {
        base: at,
        entries,
        memory,
    };
    rig.set = Some((number, ring));
}

fn post<const W: usize, const K: usize, const S: usize>(rig: &mut Rig<W, K, S>) {
    let stream = rig.rng.usize(0..S);
    let room = rig.room(stream);
    let most = if chance(&mut rig.rng, 10) { 40 } else { 4 };
    let count = rig.rng.usize(0..=room.min(most));
    for _ in 0..count {
        let slot = slots::random(&mut rig.rng);
        rig.write(stream, slot);
    }
    // a doorbell without a new slot is legal, too
    if room > 0 {
        rig.ring(stream);
    }
}

/// Posts, closes and sets for so many cycles, then drains.
pub fn mixture<const W: usize, const K: usize, const S: usize>(
    rig: &mut Rig<W, K, S>,
    cycles: u64,
) -> Result<Cover, Wrong> {
    let mut cover = Cover::default();
    let mut closing: Option<(usize, u64)> = None;
    let limit = rig.now() + cycles;
    while rig.now() < limit {
        if chance(&mut rig.rng, 1) && chance(&mut rig.rng, 20) {
            manner(rig);
        }
        let posts = if rig.now() % 2000 < 1000 { 12 } else { 2 };
        if chance(&mut rig.rng, posts) {
            post(rig);
        }
        if rig.set.is_none() && chance(&mut rig.rng, 3) {
            set(rig);
        }
        match closing {
            Some((stream, at)) if rig.now() >= at + 2 => {
                // a ring that is being refused since there is one keeps that meaning
                let set = rig.set.as_ref().map(|set| usize::from(set.0));
                if rig.sim.block.idle[stream].val() && set != Some(stream) {
                    rig.detach = Some(stream as u8);
                    rig.doorbells.retain(|(of, _)| usize::from(*of) != stream);
                    closing = None;
                    cover.closes += 1;
                }
            }
            None if chance(&mut rig.rng, 1) => {
                let stream = rig.rng.usize(0..S);
                let model = &rig.streams[stream];
                let set = rig.set.as_ref().map(|set| usize::from(set.0));
                if model.ring.is_some() && set != Some(stream) {
                    cover.with_work += u32::from(!model.is_done());
                    rig.freeze = Some(stream as u8);
                    closing = Some((stream, rig.now()));
                }
            }
            _ => {}
        }
        rig.cycle()?;
    }
    rig.memory.change(Manner::quick(2));
    rig.consume(Consumer::ALL);
    rig.drain()?;
    Ok(cover)
}

fn random<const W: usize, const K: usize, const S: usize>(slots: usize, cycles: u64) {
    let mut rig = Rig::<W, K, S>::new(slots, Manner::rough(), (W + S) as u64);
    let cover = mixture(&mut rig, cycles).unwrap_or_else(|wrong| panic!("{W} bits: {wrong}"));
    let pops = rig.pops.len() as u64;
    assert!(pops > cycles / 60, "{pops} slots");
    assert!(rig.failures > 5 && u64::from(rig.seconds) > pops / 8 && rig.refused_sets > 5);
    assert!(cover.closes > 3 && cover.with_work > 2, "{cover:?}");
}

#[test]
fn a_mixture_is_read_at_64_bits() {
    random::<64, 8, 4>(16, 20_000);
    random::<64, 8, 16>(8, 20_000);
}

#[test]
fn a_mixture_is_read_at_wider_buses() {
    #[cfg(feature = "every-width")]
    on_large_stack(|| random::<128, 16, 4>(4, 15_000));
    #[cfg(feature = "every-width")]
    on_large_stack(|| random::<256, 32, 16>(16, 15_000));
    on_large_stack(|| random::<512, 64, 4>(16, 15_000));
}

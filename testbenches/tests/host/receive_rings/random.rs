//! Random rounds at all widths, and planted mistakes.

use super::support::*;
use warpline_testbenches::lockstep::on_large_stack;
use warpline_testbenches::read_bus::Manner;
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};

fn rough() -> Manner {
    Manner {
        ar: Pace::Percent(50),
        r: Pace::Bursts(6),
        delay: 0..40,
        ..Manner::quick(0)
    }
}

struct Outcome {
    posted: u32,
    wrapped: u32,
    closes: u32,
    refused_sets: u32,
    drained_reads: u32,
    shortages: [u32; 4],
}

fn random_run<const W: usize, const K: usize>(
    cycles: u64,
    plant: Option<Plant>,
) -> Result<Outcome, Wrong> {
    let mut rig = Rig::<W, K>::new(rough(), Check::Random(6));
    rig.plant = plant;
    let mut outcome = Outcome {
        posted: 0,
        wrapped: 0,
        closes: 0,
        refused_sets: 0,
        drained_reads: 0,
        shortages: [0; 4],
    };
    let mut last_bell = 0;
    while rig.now() < cycles {
        if rig.now().is_multiple_of(512) {
            let paces = [5, 20, 50].map(Pace::Percent);
            rig.takes = Rhythm::new(*rig.rng.choice(&paces).unwrap());
        }
        let key = (rig.rng.u8(0..STREAMS as u8), rig.rng.u8(0..4));
        let quiet = rig.closing.is_none();
        if quiet && rig.set.is_none() && chance(&mut rig.rng, 2) {
            let entries = 16 << rig.rng.u32(0..2);
            rig.set = Some((key, Row::new(base(key), entries)));
        }
        let setting = rig.set.map(|(key, _)| key);
        if rig.now() > last_bell + 2 && chance(&mut rig.rng, 20) && setting != Some(key) {
            // never more than the ring holds; also for queues that have no ring
            let produced = rig.rows.get(&key).map_or(77, |row| {
                let most = row.taken + row.entries;
                most.min(row.produced + rig.rng.u32(1..24))
            });
            rig.doorbell = Some((key, produced));
            last_bell = rig.now();
        }
        if quiet && rig.set.is_none() && chance(&mut rig.rng, 1) && chance(&mut rig.rng, 20) {
            rig.close = Some(key.0);
            outcome.closes += 1;
            for row in rig.of_stream(&rig.rows, key.0) {
                outcome.posted += row.posted;
                outcome.wrapped += u32::from(row.posted > row.entries);
            }
        }
        rig.cycle()?;
    }
    rig.takes = Rhythm::new(Pace::Percent(50));
    rig.drain()?;
    for row in rig.rows.values() {
        outcome.posted += row.posted;
        outcome.wrapped += u32::from(row.posted > row.entries);
    }
    assert!(rig.faults.is_empty());
    outcome.refused_sets = rig.refused_sets;
    outcome.drained_reads = rig.drained_reads;
    outcome.shortages = rig.shortages;
    Ok(outcome)
}

fn rounds<const W: usize, const K: usize>() {
    let outcome = random_run::<W, K>(16_000, None).unwrap_or_else(|wrong| panic!("{wrong}"));
    println!(
        "{W}: {} posted, {} rings wrapped, {} closes, {} cycles of reads waited for",
        outcome.posted, outcome.wrapped, outcome.closes, outcome.drained_reads
    );
    assert!(outcome.posted > 200 && outcome.wrapped > 0 && outcome.closes > 3);
    assert!(outcome.refused_sets > 5 && outcome.drained_reads > 5);
    let shortages = outcome.shortages;
    assert!(shortages.iter().min() > Some(&100), "{shortages:?}");
}

// req: DDP-UNT-12, DDP-UNT-17, DDP-TEAR-15
#[test]
fn rounds_64() {
    on_large_stack(rounds::<64, 8>);
}

// req: DDP-UNT-12, DDP-UNT-17, DDP-TEAR-15
#[cfg(feature = "every-width")]
#[test]
fn rounds_128() {
    on_large_stack(rounds::<128, 16>);
}

// req: DDP-UNT-12, DDP-UNT-17, DDP-TEAR-15
#[cfg(feature = "every-width")]
#[test]
fn rounds_256() {
    on_large_stack(rounds::<256, 32>);
}

// req: DDP-UNT-12, DDP-UNT-17, DDP-TEAR-15
#[test]
fn rounds_512() {
    on_large_stack(rounds::<512, 64>);
}

#[test]
fn planted_mistakes_are_seen() {
    on_large_stack(|| {
        for plant in [
            Plant::DoorbellLost,
            Plant::StuckBit,
            Plant::TookTwice,
            Plant::CloseLost,
            Plant::SupplyEarly,
            Plant::PostedUnseen,
        ] {
            let wrong = random_run::<64, 8>(5_000, Some(plant)).err();
            let wrong = wrong.unwrap_or_else(|| panic!("{plant:?}"));
            println!("{plant:?}: {wrong}");
            let of_supply = matches!(plant, Plant::SupplyEarly | Plant::PostedUnseen);
            assert!(!of_supply || wrong.contains("supply"), "{plant:?}: {wrong}");
        }
    });
}

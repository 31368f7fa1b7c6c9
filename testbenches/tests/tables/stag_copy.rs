//! The copy of the STag table: every lookup finds what the table held, and one in the cycle of a change finds nothing.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::tables::stag_copy::StagCopy;
use warpline_hdl::tables::stag_table::{LATENCY, StagEntry};
use warpline_regmap::register::stag_slot;
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant};
use warpline_testbenches::stimulus::{self, chance};

const SLOTS: u32 = 16;

fn entry(rng: &mut Rng) -> StagEntry {
    StagEntry {
        valid: chance(rng, 80),
        stag: stimulus::bits(rng),
        protection_domain: stimulus::bits(rng),
        stream: stimulus::bits(rng),
        stream_scope: rng.bool(),
        remote_write: rng.bool(),
        remote_read: rng.bool(),
        empty: rng.bool(),
        base: stimulus::bits(rng),
        limit: stimulus::bits(rng),
        shift: stimulus::bits(rng),
    }
}

/// Lookups and changes in every cycle or now and then. Returns how many lookups met a change of their slot.
fn run(fault: Option<(&str, &str)>) -> Result<u32, String> {
    let block = StagCopy::new(SLOTS as usize);
    let mut design = write(&block, "stag_copy").map_err(|e| e.to_string())?;
    if let Some((right, wrong)) = fault {
        plant(&mut design, right, wrong);
    }
    let set_clock = |b: &mut StagCopy, level: bool| b.clock.next = level.into();
    let mut lockstep = Lockstep::with_design("stag_copy", Box::new(block), &design, set_clock)
        .map_err(|e| e.to_string())?;
    let mut rng = Rng::with_seed(1);
    let mut table = vec![StagEntry::default(); SLOTS as usize];
    let mut due: VecDeque<Option<StagEntry>> = VecDeque::new();
    let mut met = 0;
    for _ in 0..4000 {
        let change = chance(&mut rng, 40);
        // slots are the low bits of both
        let (slot, content) = (rng.u32(0..4096), entry(&mut rng));
        let stag = match chance(&mut rng, 30) {
            true => slot << 8 | rng.u32(0..256),
            false => rng.u32(..),
        };
        let b = &mut lockstep.block;
        b.change.next = change;
        b.change_slot.next = u64::from(slot).into();
        b.change_entry.next = content;
        b.stag.next = u64::from(stag).into();
        lockstep.settle().map_err(|e| e.to_string())?;
        if due.len() == LATENCY as usize {
            let found = lockstep.block.entry.val();
            match due.pop_front().flatten() {
                Some(should) if found == should => {}
                None if !found.valid => {}
                should => return Err(format!("{found:?} instead of {should:?}")),
            }
        }
        let (looked_up, changed) = (stag_slot(stag, SLOTS), slot % SLOTS);
        let meets = change && looked_up == changed;
        met += u32::from(meets);
        due.push_back((!meets).then(|| table[looked_up as usize]));
        if change {
            table[changed as usize] = content;
        }
        lockstep.edge().map_err(|e| e.to_string())?;
    }
    Ok(met)
}

// req: DDP-SEC-22
#[test]
fn lookups_find_the_table_or_nothing() {
    assert!(run(None).unwrap() > 300);
}

#[test]
fn planted_faults_are_seen() {
    for (right, wrong) in [
        ("(~collides_2_q)", "(~1'b0)"),
        ("collides_2_d = collides_1_q;", "collides_2_d = 1'b0;"),
        (
            ".write_row  (change_slot),",
            ".write_row  (change_slot ^ 12'h1),",
        ),
    ] {
        assert!(run(Some((right, wrong))).is_err(), "{wrong}");
    }
}

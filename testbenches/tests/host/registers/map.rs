//! The map as described: reset values, strobes, identity, and counters.

use super::support::*;
use rust_hdl_core::prelude::Block;
use warpline_hdl::Config;
use warpline_hdl::host::registers::{Counter, Registers};
use warpline_regmap::register;
use warpline_regmap::register_list;
use warpline_regmap::transmit::{CAPABILITIES, SEND_PRODUCER, SEND_PRODUCER_STREAM};
use warpline_regmap::{Access, Register};
use warpline_testbenches::lockstep::{Lockstep, sources};
use warpline_testbenches::stimulus::Pace;

/// What a word reads when nothing has happened since reset.
fn after_reset(offset: u32) -> u32 {
    match locate(offset) {
        None => 0,
        // the bench's own numbers stand in for what `check` would have
        Some((r, index, word)) if r.name == "ERROR_RECORD" && index < STREAMS => {
            record_word(16 * index + word)
        }
        // as the bench has them
        Some((r, ..)) if matches!(r.name, "STREAM_LIMIT" | "TRANSMIT_STATE") => 0,
        Some((r, ..)) if identity(r).is_some() => identity(r).unwrap_or(0),
        Some((r, ..)) => r.reset.or_else(|| identity(r)).unwrap_or_else(|| {
            panic!(
                "{} has no reset value, and no configuration says one",
                r.name
            )
        }),
    }
}

/// Bits of a word that a write of `data` with all octets leaves readable; `None`: the word does not change.
fn after_write(offset: u32, data: u32) -> Option<u32> {
    let (register, ..) = locate(offset)?;
    match register.access {
        // the pattern is no power of two
        Access::ReadWrite if register.name == "COMPLETION_ENTRIES" => Some(0),
        // a command is over at once in this bench, and not refused
        Access::ReadWrite => Some(data & register.writable()),
        Access::ReadOnly | Access::WriteOnly | Access::WriteOneToClear => None,
    }
}

#[test]
fn the_map_is_as_described() {
    let mut bench = Bench::new("registers", 1, Pace::Percent(80));
    let pattern = |offset: u32| (offset + 4).wrapping_mul(0x0101_4359) | 0x8000_0001;
    let offsets = || (0..register::SPACE).step_by(4);
    for offset in offsets() {
        let (is, should) = (bench.read_now(offset), after_reset(offset));
        assert_eq!(is, should, "{offset:#05x} after reset");
    }
    for offset in offsets() {
        bench.write(offset, pattern(offset), 15);
    }
    bench.finish().unwrap();
    let mut kept = 0;
    for offset in offsets() {
        // a write to ENTRIES takes CONSUMER back, but here CONSUMER is written behind it
        let should = after_write(offset, pattern(offset));
        let is = bench.read_now(offset);
        assert_eq!(
            is,
            should.unwrap_or(after_reset(offset)),
            "{offset:#05x} after a write"
        );
        kept += usize::from(should.is_some());
    }
    let writable = |r: &&Register| r.access == Access::ReadWrite;
    let words = |r: &Register| (r.count * r.words()) as usize;
    let described: usize = register_list::of_register_block()
        .filter(writable)
        .map(words)
        .sum();
    assert_eq!(kept, described, "words that can be read and written");
}

#[test]
fn every_register_heeds_its_octet_strobes() {
    let mut bench = Bench::new("registers", 8, Pace::Always);
    // in ascending order, CONSUMER is looked at behind ENTRIES, which clears it
    for register in register_list::of_register_block() {
        for index in [0, register.count - 1] {
            let offset = register.at(index);
            for strobe in 0..16 {
                let (before, data) = (bench.read_now(offset), bench.rng.u32(..));
                bench.write(offset, data, strobe);
                bench.finish().unwrap();
                let expected = match (register.name, register.access) {
                    ("COMMAND", _) if strobe & 1 == 1 => data & 0xff,
                    ("COMMAND", _) => before,
                    ("COMPLETION_ENTRIES", _) => 0, // the base was given any number before
                    (_, Access::ReadWrite) => {
                        let mask = octets(strobe);
                        (before & !mask | data & mask) & register.mask()
                    }
                    _ => before,
                };
                let name = register.name;
                let is = bench.read_now(offset);
                assert_eq!(is, expected, "{name} with strobes {strobe:#06b}");
            }
        }
    }
    // one set of strobes of 16 makes an ARM; with the low two of four set, there are four of each first doorbell
    assert_eq!((bench.arms, bench.doorbells), (2, 4));
}

/// A queue that cannot be is refused: `COMPLETION_ENTRIES` reads 0. What the other outputs show meanwhile the model knows.
#[test]
fn a_completion_queue_that_cannot_be_is_refused() {
    let mut bench = Bench::new("registers", 10, Pace::Always);
    let [low, high, entries] = [
        register::COMPLETION_BASE_LOW.offset,
        register::COMPLETION_BASE_HIGH.offset,
        register::COMPLETION_ENTRIES.offset,
    ];
    let numbers = (0..32).map(|bit| 1_u32 << bit);
    let others = [0, 3, 6, 0xffff, 0x1_0001, 0x1_8000, 0x8000_0002, u32::MAX];
    let numbers: Vec<u32> = numbers.chain(others).collect();
    let mut queues = 0;
    for base in [0x1000, 0x40, 0x20, 0x1, 0xffff_ffc0, 0xffff_ffff] {
        bench.write(low, base, 15);
        for &number in &numbers {
            bench.write(entries, number, 15);
            bench.finish().unwrap();
            let is = bench.read_now(entries);
            let should = if is_queue(number, base) { number } else { 0 };
            assert_eq!(is, should, "{number} entries at {base:#x}");
            queues += usize::from(is != 0);
        }
    }
    assert_eq!(queues, 3 * 17);
    // octet by octet
    bench.write(low, 0x1000, 15);
    for (data, strobe, should) in [
        (0x100, 0b0010, 0x100),
        (0x101, 0b0001, 0), // 0x101
        (0x1_0100, 0b0100, 0x1_0000),
        (0, 0b0000, 0x1_0000),
    ] {
        bench.write(entries, data, strobe);
        bench.finish().unwrap();
        assert_eq!(bench.read_now(entries), should);
    }
    // a write to the base ends the queue, whatever it writes
    for (offset, data, strobe, should) in [
        (high, 0, 0b0000, 16),
        (high, 0, 0b0001, 0),
        (low, 0x1000, 0b1000, 0),
        (low, 0x1001, 0b1111, 0),
    ] {
        bench.write(low, 0x1000, 15);
        bench.write(entries, 16, 15);
        bench.write(offset, data, strobe);
        bench.finish().unwrap();
        assert_eq!(
            bench.read_now(entries),
            should,
            "{offset:#x}, {strobe:#06b}"
        );
    }
}

#[test]
fn every_doorbell_rings_for_its_own_queue() {
    let mut bench = Bench::new("registers", 9, Pace::Always);
    let bells = register::RECEIVE_PRODUCER;
    for index in 0..bells.count {
        let value = bench.rng.u32(..);
        bench.write(bells.at(index), value, 15);
        bench.finish().unwrap(); // the model says which, the bench compares in every cycle
    }
    assert_eq!(bench.doorbells, 8 * STREAMS);
    // the stream is in the value; `send_queues` ignores one that does not exist
    for stream in [0, 1, STREAMS as u64, 255, 256, 0x8001] {
        let mut value = [bench.rng.u32(..)];
        SEND_PRODUCER_STREAM.put(&mut value, stream);
        bench.write(SEND_PRODUCER.offset, value[0], 15);
        bench.finish().unwrap();
    }
    assert_eq!(bench.send_doorbells, 4);
}

/// A device that receives only says so.
#[test]
fn the_capabilities_are_those_of_the_device() {
    for (transmit, should) in [(false, 0), (true, 0b101)] {
        let config = Config { transmit, ..CONFIG };
        let mut bench = Bench::of("registers_capabilities", 11, Pace::Always, &config);
        assert_eq!(bench.read_now(CAPABILITIES.offset), should);
    }
}

#[test]
fn counters_wrap() {
    let mut sim = Lockstep::new("counter", Box::new(Counter::default()), |b, level| {
        b.clock.next = level.into();
    })
    .unwrap_or_else(|e| panic!("{e}"));
    let additions = (1_u64 << 32) / 0xffff + 5;
    for _ in 0..additions {
        sim.cycle(|b| b.amount.next = 0xffff_u64.into(), |_| ())
            .unwrap();
    }
    for _ in 0..2 {
        sim.cycle(|b| b.amount.next = 0.into(), |_| ()).unwrap();
    }
    let sum = additions * 0xffff;
    assert!(sum > u64::from(u32::MAX));
    assert_eq!(u64::from(sim.block.count.val()), sum & 0xffff_ffff);
}

fn lint<B: Block>(top: &str, block: B) {
    let design = warpline_sv_writer::write(&block, top).unwrap();
    assert_eq!(sources(top, &design).lint().unwrap(), []);
}

#[test]
fn other_sizes_are_free_of_warnings() {
    let config = |streams| Config { streams, ..CONFIG };
    lint("registers_1", Registers::<1>::new(&config(1)));
    lint("registers_16", Registers::<16>::new(&config(16)));
}

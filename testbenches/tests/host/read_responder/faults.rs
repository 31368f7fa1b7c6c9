//! Faults planted in the written text, and around the block: each is seen. A fault is a model to build, so `make test` has those of
//! reads and checks, and `make long-transmit` the others.

use warpline_hdl::host::read_responder::ReadResponder;
use warpline_regmap::transmit::read_responder;
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant, some_of};
use warpline_testbenches::read_bus::Manner;

use crate::model::{Op, Plant, Stream, Wrong};
use crate::planted::{CHECKS, ENDS, EVENTS, Fault, READS, RESULTS, SLOTS_AND_BELLS, SWITCH};
use crate::random::{FORBIDDEN, REFUSED, WRAPS, mixture, quick, random_request, rough};
use crate::support::Rig;

/// Requests, commands and memories that reach every part of the block.
fn exercise(rig: &mut Rig<64, 8, 4>) -> Result<(), Wrong> {
    mixture(rig, 16)?;
    for stream in 0..4 {
        if rig.streams[stream].lives {
            rig.close(stream)?;
        }
    }
    // 17 of a stream, while its slots are not popped; it cannot be switched on again with them
    rig.bus.manner = quick(3);
    for (log, base) in [(3, 0), (20, 0), (4, 1)] {
        let mut words = [0; read_responder::WORDS];
        read_responder::STREAM.put(&mut words, 2);
        read_responder::ON.put(&mut words, 1);
        read_responder::ENTRIES_LOG.put(&mut words, log);
        read_responder::BASE.put(&mut words, base);
        refuse(rig, words)?;
    }
    for on in [0, 1] {
        let mut words = Stream {
            entries: 16,
            ..Stream::default()
        }
        .arguments(7);
        read_responder::ON.put(&mut words, on);
        refuse(rig, words)?;
    }
    // behind one that is refused, of each stream: the bus is slow, so they are under way by then
    rig.bus.manner = quick(60);
    for stream in 0..4 {
        rig.switch_on(stream)?;
        rig.ask_wrongly(stream, REFUSED);
        for _ in 0..3 {
            let request = random_request(&mut rig.rng);
            let words = rig.ask(stream, &request);
            rig.give(words);
        }
        rig.finish()?;
        rig.close(stream)?;
    }
    rig.bus.manner = quick(3);
    rig.switch_on(2)?;
    refuse(rig, rig.streams[2].arguments(2))?;
    rig.holds.insert(2);
    rig.streams[2].credit = 20;
    for _ in 0..17 {
        let request = random_request(&mut rig.rng);
        let words = rig.ask(2, &request);
        rig.give(words);
    }
    rig.finish()?;
    refuse(rig, rig.streams[2].arguments(2))?;
    rig.holds.clear();
    rig.finish()?;
    rig.close(2)?;
    // closed while its slots are not popped: no doorbell follows them
    rig.switch_on(1)?;
    rig.holds.insert(1);
    for _ in 0..6 {
        let request = random_request(&mut rig.rng);
        let words = rig.ask(1, &request);
        rig.give(words);
    }
    rig.finish()?;
    rig.op = Some(Op::Close {
        stream: 1,
        begun: None,
    });
    rig.run(20)?;
    rig.holds.clear();
    rig.settle_op()?;
    rig.run(20)?;
    // more than can be under way
    rig.bus.manner = quick(200);
    for stream in 0..4 {
        rig.switch_on(stream)?;
    }
    for request in 0..40 {
        let stream = request % 4;
        let request = random_request(&mut rig.rng);
        let words = rig.ask(stream, &request);
        rig.give(words);
    }
    rig.finish()?;
    // one stream at its rate, from the last buffer to the first one, with doorbells of the host between those of the device
    rig.bus.manner = quick(3);
    while rig.streams[1].entries > 64 {
        rig.close(1)?;
        rig.switch_on(1)?;
    }
    let mut given = 0;
    while given < 400 {
        let here = rig.streams[1].slots.len() + rig.flying.len() + rig.to_ask.len();
        if rig.streams[1].credit > 0 && here < 10 && rig.events.len() < 4 {
            let request = random_request(&mut rig.rng);
            let words = rig.ask(1, &request);
            rig.give(words);
            given += 1;
        } else {
            rig.cycle()?;
        }
        if given % 8 == 0 && rig.doorbells.is_empty() {
            let (stream, value) = (rig.rng.u8(0..2), rig.rng.u16(..));
            rig.doorbells.push_back((stream, 1, value));
        }
    }
    rig.finish()
}

/// One request at a time, on a bus that gives it a wrong end, perhaps.
fn alone(rig: &mut Rig<64, 8, 4>) -> Result<(), Wrong> {
    for round in 0..48 {
        let stream = round % 4;
        rig.switch_on(stream)?;
        let request = random_request(&mut rig.rng);
        let words = rig.ask(stream, &request);
        rig.give(words);
        rig.finish()?;
        rig.close(stream)?;
    }
    Ok(())
}

/// Requests that the bus refuses to read, at any of their octets, and [`exercise`].
fn refused(rig: &mut Rig<64, 8, 4>) -> Result<(), Wrong> {
    for round in 0..32 {
        let stream = round % 4;
        rig.switch_on(stream)?;
        rig.ask_wrongly(stream, REFUSED);
        rig.finish()?;
        rig.close(stream)?;
    }
    exercise(rig)
}

/// Requests that the bus refuses to read, or whose Data Sink runs past 2^64, and [`exercise`].
fn refused_or_wrapping(rig: &mut Rig<64, 8, 4>) -> Result<(), Wrong> {
    for round in 0..96 {
        let stream = round % 4;
        rig.switch_on(stream)?;
        rig.ask_wrongly(stream, if round % 3 == 0 { REFUSED } else { WRAPS });
        rig.finish()?;
        rig.close(stream)?;
    }
    exercise(rig)
}

/// Requests that are malformed in each way, or refused by the bus, with other events behind them, and [`exercise`].
fn malformed(rig: &mut Rig<64, 8, 4>) -> Result<(), Wrong> {
    for round in 0..64 {
        let stream = round % 4;
        rig.switch_on(stream)?;
        rig.ask_wrongly(stream, (round % 7) as u8);
        for _ in 0..12 {
            rig.other();
        }
        rig.finish()?;
        rig.close(stream)?;
    }
    exercise(rig)
}

/// Requests of all streams, and each of those that name what may not be read.
fn refusals(rig: &mut Rig<64, 8, 4>) -> Result<(), Wrong> {
    for round in 0..8 {
        for stream in 0..4 {
            rig.switch_on(stream)?;
        }
        for request in 0..12 {
            let stream = request % 4;
            let request = random_request(&mut rig.rng);
            let words = rig.ask(stream, &request);
            rig.give(words);
        }
        for wrong in FORBIDDEN {
            let stream = (usize::from(wrong) + round) % 4;
            if !rig.streams[stream].lives {
                rig.switch_on(stream)?;
            }
            rig.ask_wrongly(stream, wrong);
            rig.finish()?;
            rig.close(stream)?;
        }
        for stream in 0..4 {
            if rig.streams[stream].lives {
                rig.close(stream)?;
            }
        }
    }
    Ok(())
}

/// A command for stream 2 that is refused.
fn refuse(rig: &mut Rig<64, 8, 4>, words: [u32; 4]) -> Result<(), Wrong> {
    rig.op = Some(Op::Set {
        stream: 2,
        words,
        domain: 0,
        legal: false,
    });
    rig.settle_op()
}

type Exercise = fn(&mut Rig<64, 8, 4>) -> Result<(), Wrong>;

/// Plants each fault: the Verilog must differ from rust-hdl.
fn are_seen(faults: &[Fault], manner: &Manner, exercise: Exercise) {
    let clock: fn(&mut ReadResponder<64, 8, 4>, bool) = |b, level| b.clock.next = level.into();
    let mut unseen = vec![];
    for (name, right, wrong) in some_of(faults) {
        let block = Box::new(ReadResponder::<64, 8, 4>::default());
        let top = format!("read_responder_{name}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let lockstep = Lockstep::with_fault(&top, block, &design, clock);
        let lockstep = lockstep.unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut rig = Rig::of(lockstep, manner.clone(), 1);
        let seen = exercise(&mut rig).err();
        if !seen
            .as_ref()
            .is_some_and(|seen| seen.contains("in rust-hdl,"))
        {
            unseen.push((name, seen));
        }
    }
    assert!(unseen.is_empty(), "{unseen:?}");
}

#[test]
#[ignore = "builds a model for each fault: make long-transmit"]
fn faults_of_events_are_seen() {
    are_seen(EVENTS, &rough(), malformed);
}

#[test]
fn faults_of_reads_are_seen() {
    are_seen(READS, &rough(), refused);
}

#[test]
fn faults_of_ends_of_bursts_are_seen() {
    are_seen(
        ENDS,
        &Manner {
            wrong_ends: 40,
            ..rough()
        },
        alone,
    );
}

#[test]
#[ignore = "builds a model for each fault: make long-transmit"]
fn faults_of_results_are_seen() {
    are_seen(RESULTS, &rough(), refused_or_wrapping);
}

#[test]
fn faults_of_checks_are_seen() {
    are_seen(CHECKS, &rough(), refusals);
}

#[test]
#[ignore = "builds a model for each fault: make long-transmit"]
fn faults_of_commands_are_seen() {
    are_seen(SWITCH, &rough(), exercise);
}

#[test]
#[ignore = "builds a model for each fault: make long-transmit"]
fn faults_of_slots_and_doorbells_are_seen() {
    are_seen(SLOTS_AND_BELLS, &rough(), exercise);
}

/// Without a fault nothing is seen.
#[test]
fn nothing_is_seen_without_a_fault() {
    let mut rig = Rig::<64, 8, 4>::new(rough(), 1);
    exercise(&mut rig).unwrap_or_else(|wrong| panic!("{wrong}"));
    let mut rig = Rig::<64, 8, 4>::new(rough(), 1);
    refusals(&mut rig).unwrap_or_else(|wrong| panic!("{wrong}"));
    let mut rig = Rig::<64, 8, 4>::new(rough(), 1);
    refused(&mut rig).unwrap_or_else(|wrong| panic!("{wrong}"));
    let manner = Manner {
        wrong_ends: 40,
        ..rough()
    };
    let mut rig = Rig::<64, 8, 4>::new(manner, 1);
    alone(&mut rig).unwrap_or_else(|wrong| panic!("{wrong}"));
}

/// The bench compares with its own model: what is wrong around the block is seen as well.
#[test]
fn faults_around_the_block_are_seen() {
    let plants = [
        (Plant::StuckBit, "is not SendRequest"),
        (Plant::ErrorLost, "is high"),
        (Plant::DoorbellLost, "doorbell"),
        (Plant::FenceKept, "does not come"),
        (Plant::EventChanged, "is not Some"),
        (Plant::PopLost, "is high"),
        (Plant::EntryLate, "is not"),
        (Plant::RightGiven, "is high"),
    ];
    for (plant, due) in plants {
        let mut rig = Rig::<64, 8, 4>::new(rough(), 3);
        rig.plant = Some(plant);
        let seen = match plant {
            Plant::RightGiven => refusals(&mut rig),
            Plant::ErrorLost => refused(&mut rig),
            _ => mixture(&mut rig, 60),
        };
        let seen = seen.err();
        let seen = seen.unwrap_or_else(|| panic!("{plant:?} is not seen"));
        assert!(
            !seen.contains("in rust-hdl,") && seen.contains(due),
            "{plant:?}: {seen}"
        );
    }
}

//! `slot_merge`: slots of send queues and of Read Responses come out as one queue for each stream, each kind in its order and
//! neither behind more than one of the other; a slot that is offered stays; rows, counts and pops are those of the slot.
//!
//! ```text
//!  two queues of slots a stream, with the timing of send_queues ─► slot_merge ─► consumer
//!                 └─► the choice, made again from heads and pops ────────────────► same rows? same kind?
//! ```

use std::collections::VecDeque;

use fastrand::Rng;
use num_bigint::BigUint;
use warpline_hdl::tx::ddp::slot_merge::{POP_LATENCY, ROW_LATENCY, SlotMerge};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

mod faults;

type Wrong = String;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Send,
    Response,
}

/// What the bench does wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Plant {
    /// Rows of responses have the wrong octets.
    Octets,
    /// The count of the send queue is one too high.
    Count,
    /// A pop does not reach the block.
    Pop,
    /// Responses of stream 2 do not reach the block.
    Head,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    /// Slots of a send queue, and responses, by number; how many were popped.
    sends: VecDeque<u64>,
    responses: VecDeque<u64>,
    consumed: u16,
    popped_at: Option<u64>,
    /// Cycle of the last pop of each kind, whose head rests.
    popped: [Option<u64>; 2],
    offered: Option<bool>,
    last_was_response: Option<bool>,
    /// Rows of the offered slot that are still to be read.
    rows: u8,
}

/// A row that was asked for: stream, row, and what is due.
#[derive(Clone, Copy, Debug)]
struct Shown {
    response: bool,
    number: u64,
    row: u8,
    consumed: u16,
    failed: bool,
}

struct Bench<const S: usize> {
    sim: Lockstep<SlotMerge<S>>,
    rng: Rng,
    plant: Option<Plant>,
    streams: Vec<Stream>,
    shown: VecDeque<Option<Shown>>,
    made: u64,
    rows: Rhythm,
    /// Stream, number, kind of each pop, and its cycle.
    pops: Vec<(usize, u64, Kind, u64)>,
    compared: u32,
}

fn octets(response: bool, number: u64, row: u8) -> BigUint {
    let seed = number << 8 | u64::from(row) << 1 | u64::from(response);
    let mut rng = Rng::with_seed(seed);
    BigUint::from(rng.u128(..))
}

impl<const S: usize> Bench<S> {
    fn new(seed: u64) -> Self {
        let block = Box::new(SlotMerge::<S>::default());
        let clock: fn(&mut SlotMerge<S>, bool) = |b, level| b.clock.next = level.into();
        let sim = Lockstep::new(&format!("slot_merge_{S}"), block, clock);
        Self::of(sim.unwrap_or_else(|e| panic!("{e}")), seed)
    }

    fn of(sim: Lockstep<SlotMerge<S>>, seed: u64) -> Self {
        let mut bench = Self {
            sim,
            rng: Rng::with_seed(seed),
            plant: None,
            streams: vec![Stream::default(); S],
            shown: VecDeque::from(vec![None; ROW_LATENCY]),
            made: 0,
            rows: Rhythm::new(Pace::Always),
            pops: vec![],
            compared: 0,
        };
        bench.sim.block.reset.next = true;
        for _ in 0..2 {
            bench.sim.settle().unwrap_or_else(|e| panic!("{e}"));
            bench.sim.edge().unwrap_or_else(|e| panic!("{e}"));
        }
        bench.sim.block.reset.next = false;
        bench
    }

    fn give(&mut self, stream: usize, kind: Kind) {
        let model = &mut self.streams[stream];
        match kind {
            Kind::Send => model.sends.push_back(self.made),
            Kind::Response => model.responses.push_back(self.made),
        }
        self.made += 1;
    }

    fn cycle(&mut self) -> Result<(), Wrong> {
        let now = self.sim.cycles();
        let b = &mut self.sim.block;
        // both sides: a head is low for two cycles behind its pop
        let rests = |at: Option<u64>, least: u64| at.is_some_and(|at| now < at + least);
        let mut heads = [(false, false); S];
        for (stream, model) in self.streams.iter().enumerate() {
            let send = !model.sends.is_empty() && !rests(model.popped[0], 3);
            let response = !model.responses.is_empty() && !rests(model.popped[1], 3);
            heads[stream] = (send, response);
            b.send_head[stream].next = send;
            b.response_head[stream].next =
                response && (self.plant != Some(Plant::Head) || stream != 2);
        }
        // the answer to the row of three cycles ago
        b.send_data.next = stimulus::bits(&mut self.rng);
        b.response_data.next = stimulus::bits(&mut self.rng);
        b.send_failed.next = self.rng.bool();
        b.send_consumed.next = stimulus::bits(&mut self.rng);
        let due = self.shown.pop_front().flatten();
        if let Some(due) = due {
            let right = octets(due.response, due.number, due.row);
            if due.response {
                let right = match self.plant {
                    Some(Plant::Octets) => right ^ (BigUint::from(1_u8) << 77_u32),
                    _ => right,
                };
                b.response_data.next = right.into();
                b.send_consumed.next = u64::from(due.consumed.wrapping_add(1)).into();
            } else {
                b.send_data.next = right.into();
                b.send_failed.next = due.failed;
                let count = due.consumed + u16::from(self.plant == Some(Plant::Count));
                b.send_consumed.next = u64::from(count).into();
            }
        }
        // a row of some stream that is offered, and a pop, perhaps
        self.shown.push_back(None);
        b.row_stream.next = stimulus::bits(&mut self.rng);
        b.pop_stream.next = stimulus::bits(&mut self.rng);
        b.pop.next = false;
        let mut popped = None;
        let mut expected = vec![];
        for (stream, model) in self.streams.iter_mut().enumerate() {
            let (send, response) = heads[stream];
            let resting = rests(model.popped_at, POP_LATENCY as u64);
            let head = (send || response) && !resting;
            if head && model.offered.is_none() {
                // the other kind's turn, if both are there; first a send
                let other = model.last_was_response.is_some_and(|was| !was);
                model.offered = Some(if send && response { other } else { response });
                model.rows = 3;
            }
            expected.push(head);
        }
        let offered: Vec<usize> = (0..S).filter(|at| expected[*at]).collect();
        if self.rows.go(&mut self.rng)
            && let Some(stream) = self.rng.choice(&offered).copied()
        {
            let model = &mut self.streams[stream];
            let response = model.offered == Some(true);
            let kind = if response {
                &model.responses
            } else {
                &model.sends
            };
            let number = kind[0];
            if model.rows > 0 {
                let shown = Shown {
                    response,
                    number,
                    row: model.rows,
                    consumed: model.consumed.wrapping_add(u16::from(!response)),
                    failed: !response && number.is_multiple_of(5),
                };
                self.shown[ROW_LATENCY - 1] = Some(shown);
                b.row_stream.next = (stream as u64).into();
                model.rows -= 1;
            }
            if model.rows == 0 && chance(&mut self.rng, 70) {
                b.pop.next = self.plant != Some(Plant::Pop) || self.pops.len() != 9;
                b.pop_stream.next = (stream as u64).into();
                popped = Some((stream, response, number));
            }
        }
        self.sim.settle().map_err(|e| e.to_string())?;

        let b = &self.sim.block;
        for (stream, due) in expected.iter().enumerate() {
            if b.head[stream].val() != *due {
                return Err(format!(
                    "cycle {now}: head {stream} is not {due}: {:?}",
                    self.streams[stream]
                ));
            }
        }
        if let Some(due) = due {
            let found = (
                b.is_response.val(),
                BigUint::from(b.row_data.val()),
                b.consumed.val().to_u16(),
                b.head_failed.val(),
            );
            let right = octets(due.response, due.number, due.row);
            if found != (due.response, right, due.consumed, due.failed) {
                return Err(format!("cycle {now}: {found:x?} is not {due:x?}"));
            }
            self.compared += 1;
        }
        let pops = (b.send_pop.val(), b.response_pop.val());
        let due = popped.map_or((false, false), |(_, response, _)| (!response, response));
        if pops != due {
            return Err(format!("cycle {now}: pops {pops:?}, not {due:?}"));
        }
        if let Some((stream, response, number)) = popped {
            let model = &mut self.streams[stream];
            let kind = match response {
                true => {
                    model.responses.pop_front();
                    Kind::Response
                }
                false => {
                    model.sends.pop_front();
                    model.consumed = model.consumed.wrapping_add(1);
                    Kind::Send
                }
            };
            model.popped[usize::from(response)] = Some(now);
            model.popped_at = Some(now);
            model.offered = None;
            model.last_was_response = Some(response);
            self.pops.push((stream, number, kind, now));
        }
        self.sim.edge().map_err(|e| e.to_string())
    }

    fn run(&mut self, cycles: u32) -> Result<(), Wrong> {
        (0..cycles).try_for_each(|_| self.cycle())
    }

    fn is_empty(&self) -> bool {
        let mut streams = self.streams.iter();
        streams.all(|s| s.sends.is_empty() && s.responses.is_empty())
    }

    fn mixture(&mut self, rounds: u32) -> Result<(), Wrong> {
        let paces = [Pace::Always, Pace::Percent(50), Pace::Bursts(15)];
        for round in 0..rounds {
            self.rows = Rhythm::new(paces[round as usize % 3]);
            for _ in 0..40 {
                let stream = self.rng.usize(0..S);
                let kind = if self.rng.bool() {
                    Kind::Send
                } else {
                    Kind::Response
                };
                let few = self.rng.usize(0..4);
                (0..few).for_each(|_| self.give(stream, kind));
                let cycles = self.rng.u32(0..30);
                self.run(cycles)?;
            }
            let limit = self.sim.cycles() + 4000;
            while !self.is_empty() {
                if self.sim.cycles() > limit {
                    return Err("slots are left".into());
                }
                self.cycle()?;
            }
            self.run(8)?;
        }
        Ok(())
    }
}

fn random<const S: usize>(seed: u64, rounds: u32) {
    let mut bench = Bench::<S>::new(seed);
    let seen = bench.mixture(rounds);
    seen.unwrap_or_else(|wrong| panic!("{S} streams, seed {seed}: {wrong}"));
    for stream in 0..S {
        for kind in [Kind::Send, Kind::Response] {
            let of_it = bench.pops.iter().filter(|p| p.0 == stream && p.2 == kind);
            let numbers: Vec<u64> = of_it.map(|pop| pop.1).collect();
            assert!(numbers.len() > 40 && numbers.is_sorted());
        }
    }
    assert!(bench.compared > 2000, "{}", bench.compared);
}

#[test]
fn slots_of_both_kinds_come_in_the_order_of_each_of_4_streams() {
    (0..3).for_each(|seed| random::<4>(seed, 12));
}

#[test]
fn slots_of_both_kinds_come_in_the_order_of_each_of_16_streams() {
    random::<16>(3, 48);
}

/// With work of both kinds they alternate: neither starves.
#[test]
fn both_kinds_alternate() {
    let mut bench = Bench::<4>::new(7);
    for stream in 0..4 {
        for _ in 0..20 {
            bench.give(stream, Kind::Response);
            bench.give(stream, Kind::Send);
        }
    }
    while !bench.is_empty() {
        bench.cycle().unwrap_or_else(|wrong| panic!("{wrong}"));
    }
    for stream in 0..4 {
        let kinds = bench.pops.iter().filter(|pop| pop.0 == stream);
        let kinds: Vec<Kind> = kinds.map(|pop| pop.2).collect();
        assert_eq!(kinds.len(), 40);
        assert!(kinds.windows(2).all(|pair| pair[0] != pair[1]), "{kinds:?}");
    }
}

/// The heads, rows and pops of a send queue alone have no cycle more: what `cycle` checks exactly, and here once by number.
#[test]
fn a_head_comes_in_its_own_cycle() {
    assert_eq!((ROW_LATENCY, POP_LATENCY), (3, 3));
    for kind in [Kind::Send, Kind::Response] {
        let mut bench = Bench::<4>::new(8);
        (0..30).for_each(|_| bench.give(1, kind));
        while !bench.is_empty() {
            bench.cycle().unwrap_or_else(|wrong| panic!("{wrong}"));
        }
        let cycles = bench.pops.windows(2).map(|pair| pair[1].3 - pair[0].3);
        // a cycle for each of three rows, the last one with the pop
        assert_eq!(cycles.min(), Some(POP_LATENCY as u64 + 2));
    }
}

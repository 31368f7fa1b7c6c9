//! The bench: both sides, the stand-in, and the model between them.

use fastrand::Rng;
use warpline_hdl::host::mailbox::Mailbox;
use warpline_regmap::register::{ARGUMENT, COMMAND, COMMAND_BUSY, COMMAND_FAILED};
use warpline_sv_writer::{Design, write};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::stimulus::{Pace, bits, chance};

use crate::model::{CONTROL, HOST, Model, Place};
use crate::side::{Side, Write};
use crate::stand_in::{Answered, Manner, StandIn};

/// Cycles of a reset.
const RESET: usize = 10;

/// What is wrong around the block, to see whether the bench finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// A write of the host to the mailbox's part of INTERRUPT_ENABLE is unknown to the model.
    Enable,
    /// A bit of what the host reads is inverted.
    Bit,
    /// The model has the result of a command inverted.
    Failed,
    /// The stand-in's words are other ones than those that the model compares with.
    Passed,
}

/// An access that was answered: its cycles.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    pub offset: u32,
    pub given: u64,
    pub answered: u64,
}

pub struct Bench {
    pub sim: Lockstep<Mailbox>,
    pub rng: Rng,
    pub sides: [Side; 2],
    pub stand_in: StandIn,
    pub model: Model,
    pub timed: [Vec<Timed>; 2],
    /// Words read, in order.
    pub got: [Vec<u32>; 2],
    /// Cycles in which a command was offered to the stand-in, and in which one ended.
    pub started: Vec<u64>,
    pub ended: Vec<u64>,
    pub polls: Vec<u64>,
    pub plant: Option<Plant>,
    /// Noise at all inputs in front of each cycle: no output may depend on it.
    pub noisy: bool,
    /// What was answered on `m_axil` in the last cycle.
    answered: Option<Answered>,
    ended_now: Option<bool>,
}

impl Bench {
    pub fn new(seed: u64, pace: Pace, manner: Manner) -> Self {
        Self::with_text(seed, pace, manner, "", |_| ())
    }

    pub fn with_text(
        seed: u64,
        pace: Pace,
        manner: Manner,
        suffix: &str,
        change: impl FnOnce(&mut Design),
    ) -> Self {
        let block = Box::new(Mailbox::default());
        let top = format!("mailbox{suffix}");
        let mut design = write(&*block, &top).unwrap_or_else(|e| panic!("{e}"));
        change(&mut design);
        let sim = Lockstep::with_design(&top, block, &design, |b, level| {
            b.clock.next = level.into();
        })
        .unwrap_or_else(|e| panic!("{e}"));
        let mut bench = Self {
            sim,
            rng: Rng::with_seed(seed),
            sides: [Side::new("host", pace), Side::new("control", pace)],
            stand_in: StandIn::new(manner),
            model: Model::new(),
            timed: [vec![], vec![]],
            got: [vec![], vec![]],
            started: vec![],
            ended: vec![],
            polls: vec![],
            plant: None,
            noisy: false,
            answered: None,
            ended_now: None,
        };
        bench.reset(pace).unwrap();
        bench
    }

    /// The device is reset, whatever is under way.
    pub fn reset(&mut self, pace: Pace) -> Result<(), String> {
        for cycle in 0..RESET {
            let rng = &mut self.rng;
            let sample = self.sim.cycle(
                |b| {
                    noise(b, rng);
                    b.reset.next = true;
                },
                |b| {
                    [
                        b.s_axil.bvalid.val(),
                        b.s_axil.rvalid.val(),
                        b.s_axil_control.bvalid.val(),
                        b.s_axil_control.rvalid.val(),
                        b.m_axil.awvalid.val(),
                        b.m_axil.wvalid.val(),
                        b.m_axil.arvalid.val(),
                    ]
                },
            );
            let valid = sample.map_err(|e| e.to_string())?;
            if cycle > 0 && valid.contains(&true) {
                return Err(format!("cycle {cycle} of reset: {valid:?}"));
            }
        }
        self.sim.block.reset.next = false;
        self.sides = [Side::new("host", pace), Side::new("control", pace)];
        self.stand_in = StandIn::new(self.stand_in.manner);
        self.model.restart();
        (self.answered, self.ended_now) = (None, None);
        Ok(())
    }

    pub fn write(&mut self, side: usize, offset: u32, data: u32, strobe: u8) {
        let write = Write {
            offset,
            data,
            strobe,
        };
        self.sides[side].write(write);
    }

    /// Writes a word and runs until all is done.
    pub fn write_now(&mut self, side: usize, offset: u32, data: u32) {
        self.write(side, offset, data, 15);
        self.finish().unwrap_or_else(|e| panic!("{e}"));
    }

    /// Reads a word and runs until all is done.
    pub fn read_now(&mut self, side: usize, offset: u32) -> u32 {
        self.sides[side].reads.push_back(offset);
        self.finish().unwrap_or_else(|e| panic!("{e}"));
        self.got[side][self.got[side].len() - 1]
    }

    /// Runs until no access is under way.
    pub fn finish(&mut self) -> Result<(), String> {
        let limit = self.sim.cycles() + 200_000;
        while !self.sides.iter().all(Side::is_done) {
            self.cycle()?;
            if self.sim.cycles() > limit {
                return Err("the bus hangs".into());
            }
        }
        Ok(())
    }

    /// Runs until no command is under way, either.
    pub fn settle(&mut self) -> Result<(), String> {
        self.finish()?;
        let limit = self.sim.cycles() + 20_000;
        while !self.model.queue.is_empty() {
            self.cycle()?;
            if self.sim.cycles() > limit {
                return Err("a command hangs".into());
            }
        }
        self.cycle()
    }

    pub fn cycle(&mut self) -> Result<(), String> {
        let now = self.sim.cycles();
        let before = match self.noisy {
            true => {
                noise(&mut self.sim.block, &mut self.rng);
                self.sim.settle().map_err(|e| e.to_string())?;
                Some(outputs(&self.sim.block))
            }
            false => None,
        };
        let (rng, block) = (&mut self.rng, &mut *self.sim.block);
        self.sides[HOST].drive(&mut block.s_axil, rng);
        self.sides[CONTROL].drive(&mut block.s_axil_control, rng);
        self.stand_in.drive(&mut block.m_axil, rng, now);
        self.sim.settle().map_err(|e| e.to_string())?;
        if let Some(before) = before {
            let after = outputs(&self.sim.block);
            if before != after {
                return Err(format!(
                    "cycle {now}: an output depends on an input: {before:x?}, {after:x?}"
                ));
            }
        }
        self.check(now).map_err(|e| format!("cycle {now}: {e}"))?;
        self.sim.edge().map_err(|e| e.to_string())
    }

    fn check(&mut self, now: u64) -> Result<(), String> {
        let block = &*self.sim.block;
        let host = self.sides[HOST].sample(&block.s_axil, now)?;
        let control = self.sides[CONTROL].sample(&block.s_axil_control, now)?;
        // what `registers` answered in the last cycle belongs to exactly one response, or to a command
        let mut claims = 0;
        let mut effects = [None; 2];
        for (side, got) in [(HOST, host), (CONTROL, control)] {
            if let Some((offset, given, data, response)) = got.read {
                let mut passed = (0, 0);
                if Model::place(side, offset, false) == Place::Passed {
                    let found = self.answered.and_then(|a| match a {
                        Answered::Read {
                            offset: at,
                            data,
                            response,
                        } if at == offset & !3 => Some((data, response)),
                        _ => None,
                    });
                    passed = found.ok_or(format!("{offset:#05x} of {side} was not read"))?;
                    claims += 1;
                    self.model.seen.passed += 1;
                }
                if self.plant == Some(Plant::Passed) {
                    passed.0 ^= 0x100;
                }
                let due = self.model.read(side, offset, now, passed.0);
                let twist = u32::from(self.plant == Some(Plant::Bit)) << 31;
                if !due.contains(&(data ^ twist)) {
                    return Err(format!(
                        "{offset:#05x} of {side} reads {data:#x}, due {due:x?}"
                    ));
                }
                if response != passed.1 {
                    return Err(format!("{offset:#05x} of {side}: response {response}"));
                }
                self.got[side].push(data);
                self.timed[side].push(Timed {
                    offset,
                    given,
                    answered: now,
                });
            }
            if let Some((write, given, response)) = got.write {
                let mut due = 0;
                if Model::place(side, write.offset, true) == Place::Passed {
                    let aligned = Write {
                        offset: write.offset & !3,
                        ..write
                    };
                    due = match self.answered {
                        Some(Answered::Write(at, response)) if at == aligned => response,
                        other => return Err(format!("{write:x?} did not pass: {other:x?}")),
                    };
                    claims += 1;
                    self.model.seen.passed += 1;
                }
                if response != due {
                    return Err(format!("{write:x?} of {side}: response {response}"));
                }
                effects[side] = Some(write);
                self.timed[side].push(Timed {
                    offset: write.offset,
                    given,
                    answered: now,
                });
            }
        }
        let argument = |offset: u32| (ARGUMENT.offset..ARGUMENT.at(8)).contains(&offset);
        let of_a_command = match self.answered {
            Some(Answered::Write(write, _)) => {
                argument(write.offset) || write.offset == COMMAND.offset
            }
            Some(Answered::Read { offset, .. }) => offset == COMMAND.offset,
            None => false,
        };
        let due = usize::from(self.answered.is_some() && !of_a_command);
        if claims != due {
            return Err(format!("{:x?} has {claims} claims", self.answered));
        }
        if of_a_command && self.model.queue.is_empty() {
            return Err(format!("{:x?} without a command", self.answered));
        }
        if self.plant == Some(Plant::Enable) {
            let enable = warpline_regmap::register::INTERRUPT_ENABLE.offset;
            effects[HOST] = effects[HOST].filter(|write| write.offset & !3 != enable);
        }
        let ended = self.ended_now.take();
        self.model.advance(effects, ended, now);
        if ended.is_some() {
            self.ended.push(now);
        }

        let (block, model) = (&*self.sim.block, &self.model);
        for (name, is, due) in [
            (
                "interrupt_enable",
                block.interrupt_enable.val(),
                model.enable,
            ),
            ("raise", block.raise.val(), model.raise),
            ("clear", block.clear.val(), model.clear),
        ] {
            if is != due {
                return Err(format!("{name} is {is}, due {due}"));
            }
        }

        self.answered = self.stand_in.sample(&block.m_axil, &mut self.rng, now)?;
        if let Some(started) = self.stand_in.started {
            let side = *model.queue.front().ok_or("a command of nobody")?;
            let pair = &model.pairs[side];
            if (started.number, started.arguments) != (pair.number, pair.arguments) {
                return Err(format!(
                    "{started:x?} instead of {:x?} {:x?} of {side}",
                    pair.number, pair.arguments
                ));
            }
            self.started.push(now);
        }
        if let Some(Answered::Read { offset, data, .. }) = self.answered
            && offset == COMMAND.offset
        {
            self.polls.push(now);
            let busy = COMMAND_BUSY.get(&[data]) == 1;
            let failed = COMMAND_FAILED.get(&[data]) == 1;
            self.ended_now = (!busy).then_some(failed ^ (self.plant == Some(Plant::Failed)));
        }
        Ok(())
    }
}

/// All outputs of the block.
fn outputs(block: &Mailbox) -> Vec<u64> {
    let mut found: Vec<u64> = vec![];
    for bus in [&block.s_axil, &block.s_axil_control] {
        found.extend([
            u64::from(bus.awready.val()),
            u64::from(bus.wready.val()),
            u64::from(bus.arready.val()),
            u64::from(bus.bvalid.val()),
            u64::from(bus.bresp.val()),
            u64::from(bus.rvalid.val()),
            u64::from(bus.rdata.val()),
            u64::from(bus.rresp.val()),
        ]);
    }
    let bus = &block.m_axil;
    found.extend([
        u64::from(bus.awvalid.val()),
        u64::from(bus.awaddr.val()),
        u64::from(bus.awprot.val()),
        u64::from(bus.wvalid.val()),
        u64::from(bus.wdata.val()),
        u64::from(bus.wstrb.val()),
        u64::from(bus.bready.val()),
        u64::from(bus.arvalid.val()),
        u64::from(bus.araddr.val()),
        u64::from(bus.arprot.val()),
        u64::from(bus.rready.val()),
    ]);
    for bit in [
        block.interrupt_enable.val(),
        block.raise.val(),
        block.clear.val(),
    ] {
        found.push(u64::from(bit));
    }
    found
}

/// Noise at all inputs but clock and reset.
fn noise(block: &mut Mailbox, rng: &mut Rng) {
    for bus in [&mut block.s_axil, &mut block.s_axil_control] {
        bus.awvalid.next = chance(rng, 50);
        bus.awaddr.next = bits(rng);
        bus.awprot.next = bits(rng);
        bus.wvalid.next = chance(rng, 50);
        bus.wdata.next = bits(rng);
        bus.wstrb.next = bits(rng);
        bus.bready.next = chance(rng, 50);
        bus.arvalid.next = chance(rng, 50);
        bus.araddr.next = bits(rng);
        bus.arprot.next = bits(rng);
        bus.rready.next = chance(rng, 50);
    }
    let bus = &mut block.m_axil;
    bus.awready.next = chance(rng, 50);
    bus.wready.next = chance(rng, 50);
    bus.bvalid.next = chance(rng, 50);
    bus.bresp.next = bits(rng);
    bus.arready.next = chance(rng, 50);
    bus.rvalid.next = chance(rng, 50);
    bus.rdata.next = bits(rng);
    bus.rresp.next = bits(rng);
}

//! `arbiter`: two askers, one `check`; each question is put once, answered to who asked, and leaves a gap.

use fastrand::Rng;
use rust_hdl_core::prelude::*;
use std::collections::VecDeque;
use warpline_hdl::host::command_arbiter::CommandArbiter;
use warpline_hdl::rx::ddp::check::CheckCommand;
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

/// An asker, as `control` and `receive_rings` are.
struct Asker {
    pace: Rhythm,
    question: Option<(CheckCommand, Bits<256>)>,
    /// The question is heard, and not answered.
    heard: bool,
    /// Answers that must come, in order: refused or not.
    answers: VecDeque<bool>,
    answered: u32,
    /// Cycles from the first one of a question to its answer.
    asked_at: u64,
    longest: u64,
}

impl Asker {
    fn new(pace: Pace) -> Self {
        Self {
            pace: Rhythm::new(pace),
            question: None,
            heard: false,
            answers: VecDeque::new(),
            answered: 0,
            asked_at: 0,
            longest: 0,
        }
    }

    fn free(&self) -> bool {
        self.question.is_none() && !self.heard
    }
}

/// What the bench does wrong on purpose.
#[derive(Clone, Copy, PartialEq)]
enum Plant {
    /// `command_failed` is stuck.
    Refused,
    /// A bit of the rings' arguments is stuck.
    Argument,
    /// `check` answers when nobody has asked.
    Answer,
}

struct Rig {
    sim: Lockstep<CommandArbiter>,
    rng: Rng,
    plant: Option<Plant>,
    control: Asker,
    rings: Asker,
    /// Cycles that `check` takes, at random up to this.
    slowness: u32,
    ready: u32,
    working: Option<u32>,
    /// Whose question `check` works on: control's?
    of_control: bool,
    held: Option<(CheckCommand, Bits<256>)>,
    /// Cycles since `check` was done, without a question in them.
    gap: Option<u32>,
    gaps: u32,
}

impl Rig {
    fn new(seed: u64, control: Pace, rings: Pace, slowness: u32) -> Self {
        let sim = Lockstep::new("arbiter", Box::<CommandArbiter>::default(), |b, level| {
            b.clock.next = level.into();
        });
        let mut rig = Self {
            sim: sim.unwrap_or_else(|e| panic!("{e}")),
            rng: Rng::with_seed(seed),
            plant: None,
            control: Asker::new(control),
            rings: Asker::new(rings),
            slowness,
            ready: 60,
            working: None,
            of_control: false,
            held: None,
            gap: None,
            gaps: 0,
        };
        rig.sim.cycle(|b| b.reset.next = true, |_| ()).unwrap();
        rig.sim.cycle(|b| b.reset.next = true, |_| ()).unwrap();
        rig.sim.block.reset.next = false;
        rig
    }

    fn cycle(&mut self) -> Result<(), String> {
        let now = self.sim.cycles();
        let rng = &mut self.rng;
        let commands = [
            CheckCommand::WriteStag,
            CheckCommand::Arm,
            CheckCommand::Fence,
            CheckCommand::PostReceive,
        ];
        if self.control.free() && self.control.pace.go(rng) {
            let command = *rng.choice(&commands).unwrap();
            // told from the rings' by the highest bit
            let arguments = stimulus::bits::<256>(rng).replace_bit(255, true);
            self.control.question = Some((command, arguments));
            self.control.asked_at = now;
        }
        if self.rings.free() && self.rings.pace.go(rng) {
            let arguments = stimulus::bits::<128>(rng);
            let wide = bit_cast::<256, 128>(arguments);
            self.rings.question = Some((CheckCommand::PostReceive, wide));
            self.rings.asked_at = now;
        }
        let block = &mut *self.sim.block;
        block.control_valid.next = self.control.question.is_some();
        if let Some((command, arguments)) = self.control.question {
            block.control_command.next = command;
            block.control_arguments.next = arguments;
        }
        block.rings_valid.next = self.rings.question.is_some();
        if let Some((_, arguments)) = self.rings.question {
            let stuck = self.plant == Some(Plant::Argument);
            let arguments = arguments.get_bits::<128>(0);
            block.rings_arguments.next = if stuck {
                arguments.replace_bit(77, true)
            } else {
                arguments
            };
        }
        let ready = self.working.is_none() && chance(rng, self.ready);
        let done = self.working == Some(0);
        let failed = rng.bool();
        block.command_ready.next = ready;
        block.command_done.next = done;
        if self.plant == Some(Plant::Answer) && self.working.is_some() && chance(rng, 5) {
            block.command_done.next = true;
        }
        block.command_failed.next = failed && self.plant != Some(Plant::Refused);

        self.sim.settle().map_err(|e| e.to_string())?;
        let block = &*self.sim.block;
        let shown = block
            .command_valid
            .val()
            .then(|| (block.command.val(), block.arguments.val()));
        if let Some(held) = self.held
            && shown != Some(held)
        {
            return Err(format!("cycle {now}: a question changed: {held:x?}"));
        }
        self.held = shown.filter(|_| !ready);
        if let Some(question) = shown {
            if self.working.is_some() {
                return Err(format!("cycle {now}: a second question"));
            }
            match self.gap.take() {
                Some(0) => return Err(format!("cycle {now}: no gap")),
                Some(_) => self.gaps += 1,
                None => {}
            }
            if ready {
                self.of_control = self.control.question == Some(question) && !self.control.heard;
                let asker = if self.of_control {
                    &self.control
                } else {
                    &self.rings
                };
                if asker.question != Some(question) {
                    return Err(format!("cycle {now}: nobody asked for {question:x?}"));
                }
            }
        } else if let Some(gap) = &mut self.gap {
            *gap += 1;
        }
        for (asker, heard, finished, refused) in [
            (
                &mut self.control,
                block.control_ready.val(),
                block.control_done.val(),
                block.control_failed.val(),
            ),
            (
                &mut self.rings,
                block.rings_ready.val(),
                block.rings_done.val(),
                block.rings_failed.val(),
            ),
        ] {
            if heard {
                if asker.question.take().is_none() {
                    return Err(format!("cycle {now}: heard what nobody asked"));
                }
                asker.heard = true;
            }
            if finished {
                let expected = asker.answers.pop_front();
                if expected != Some(refused) || !asker.heard {
                    return Err(format!("cycle {now}: answer {refused} for {expected:?}"));
                }
                asker.heard = false;
                asker.answered += 1;
                asker.longest = asker.longest.max(now - asker.asked_at);
            }
        }
        self.working = match self.working {
            Some(0) => {
                let asker = if self.of_control {
                    &mut self.control
                } else {
                    &mut self.rings
                };
                asker.answers.push_back(failed);
                self.gap = Some(0);
                None
            }
            Some(left) => Some(left - 1),
            None if shown.is_some() && ready => Some(self.rng.u32(0..=self.slowness)),
            None => None,
        };
        self.sim.edge().map_err(|e| e.to_string())
    }

    fn run(&mut self, cycles: u32) -> Result<(), String> {
        (0..cycles).try_for_each(|_| self.cycle())
    }
}

#[test]
fn every_question_is_answered_once_to_who_asked() {
    for (seed, control, rings) in [
        (1, Pace::Percent(3), Pace::Percent(10)),
        (2, Pace::Always, Pace::Percent(20)),
        (3, Pace::Bursts(60), Pace::Bursts(90)),
    ] {
        let mut rig = Rig::new(seed, control, rings, 12);
        rig.run(10_000).unwrap_or_else(|wrong| panic!("{wrong}"));
        println!(
            "{} {} {}",
            rig.control.answered, rig.rings.answered, rig.gaps
        );
        assert!(rig.control.answered > 100 && rig.gaps > 200);
        assert!(rig.rings.answered > if control == Pace::Always { 5 } else { 100 });
    }
}

/// Buffers alone come every 3 cycles more than `check` takes; a host that asks now and then waits for one of them.
#[test]
fn latency_and_throughput() {
    let measured = |control, rings| {
        let mut rig = Rig::new(4, control, rings, 0);
        rig.ready = 100;
        rig.run(4000).unwrap();
        (rig.control, rig.rings)
    };
    let (_, rings) = measured(Pace::Percent(0), Pace::Always);
    assert_eq!((rings.answered, rings.longest), (4000 / 4, 3));
    let (control, _) = measured(Pace::Percent(1), Pace::Percent(0));
    assert_eq!(control.longest, 3, "alone");
    let (control, rings) = measured(Pace::Percent(1), Pace::Always);
    assert!(control.answered > 20 && rings.answered > 900);
    assert_eq!(control.longest, 5, "behind a buffer");
}

#[test]
fn planted_mistakes_are_seen() {
    for plant in [Plant::Refused, Plant::Argument, Plant::Answer] {
        let mut rig = Rig::new(5, Pace::Percent(10), Pace::Percent(40), 12);
        rig.plant = Some(plant);
        println!("{}", rig.run(3000).unwrap_err());
    }
}

//! `interrupts`: state and messages in every cycle against a plain model, and hosts that sleep.
//!
//! The second half is about the race that every interrupt has: an entry that is written while the host decides to sleep.
//! A host with random timing, whose writes and messages travel for a while, must never sleep beside an entry longer than
//! all those journeys take together. Devices and hosts that get it wrong are caught.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::host::interrupts::Interrupts;
use warpline_regmap::register::interrupt::{COMPLETION, FAULT};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};

/// What goes into the block in one cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Inputs {
    reset: bool,
    producer: u32,
    restart: bool,
    fault: bool,
    arm: Option<u32>,
    clear: u32,
    enable: u32,
    test: u32,
    holdoff: u32,
    ready: bool,
}

/// What it shows in the same cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Outputs {
    state: u32,
    /// Vector of the message that is offered.
    message: Option<usize>,
}

/// Something that makes messages: the block, or what a test takes for one.
trait Device {
    fn cycle(&mut self, inputs: Inputs) -> Outputs;
}

/// The block in both simulators.
struct Rtl(Lockstep<Interrupts>);

impl Rtl {
    fn new() -> Self {
        let block = Box::new(Interrupts::default());
        let sim = Lockstep::new("interrupts", block, |b, level| b.clock.next = level.into());
        let mut rtl = Self(sim.unwrap_or_else(|e| panic!("{e}")));
        let reset = Inputs {
            reset: true,
            ..Inputs::default()
        };
        rtl.cycle(reset);
        rtl
    }
}

impl Device for Rtl {
    fn cycle(&mut self, inputs: Inputs) -> Outputs {
        let drive = |b: &mut Interrupts| {
            b.reset.next = inputs.reset;
            b.producer.next = u64::from(inputs.producer).into();
            b.restart.next = inputs.restart;
            b.fault.next = inputs.fault;
            b.arm.next = inputs.arm.is_some();
            // without `arm` the count is anything
            b.armed_count.next = u64::from(inputs.arm.unwrap_or(!inputs.producer)).into();
            b.clear.next = u64::from(inputs.clear).into();
            b.enable.next = u64::from(inputs.enable).into();
            b.test.next = u64::from(inputs.test).into();
            b.holdoff.next = u64::from(inputs.holdoff).into();
            b.m_axis_msix.tready.next = inputs.ready;
        };
        let sample = |b: &Interrupts| Outputs {
            state: b.state.val().to_u32(),
            message: (b.m_axis_msix.tvalid.val()).then(|| b.m_axis_msix.tdata.val().index()),
        };
        self.0
            .cycle(drive, sample)
            .unwrap_or_else(|e| panic!("{e}"))
    }
}

/// What makes a difference between `producer` and the armed count an interrupt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fires {
    /// The difference, as documented.
    OnDifference,
    /// A planted fault: a change of `producer`, so that what came before the arming is not seen.
    OnChange,
}

/// The documentation as a program.
struct Model {
    fires: Fires,
    now: u64,
    armed: Option<u32>,
    /// The armed count was found different in the last cycle.
    hit: bool,
    before: Inputs,
    shown: Outputs,
    pending: u32,
    /// Cycle in which the last COMPLETION message was taken.
    taken: Option<u64>,
}

impl Model {
    fn new(fires: Fires) -> Self {
        Self {
            fires,
            now: 0,
            armed: None,
            hit: false,
            before: Inputs::default(),
            shown: Outputs::default(),
            pending: 0,
            taken: None,
        }
    }
}

impl Device for Model {
    fn cycle(&mut self, inputs: Inputs) -> Outputs {
        let shown = self.shown;
        let Inputs { clear, .. } = inputs;

        let mut events = inputs.test;
        events |= u32::from(self.hit) << COMPLETION;
        events |= u32::from(inputs.fault && !self.before.fault) << FAULT;

        let differs = |count: u32| match self.fires {
            Fires::OnDifference => inputs.producer != count,
            Fires::OnChange => inputs.producer != self.before.producer,
        };
        let hit = !self.hit && self.armed.is_some_and(differs);
        if self.hit {
            self.armed = None;
        }
        self.hit = hit && inputs.arm.is_none() && !inputs.restart;
        self.armed = inputs.arm.or(self.armed).filter(|_| !inputs.restart);

        // what the cycle before knew of the time that has passed
        let rested = self
            .taken
            .is_none_or(|at| self.now >= at + 2 + u64::from(self.before.holdoff));
        let wanted = self.pending & inputs.enable;
        let leaves = match shown.message {
            Some(_) => None,
            None if wanted >> FAULT & 1 == 1 => Some(FAULT),
            None => (wanted >> COMPLETION & 1 == 1 && rested).then_some(COMPLETION),
        };
        if shown.message == Some(COMPLETION) && inputs.ready {
            self.taken = Some(self.now);
        }
        self.shown = Outputs {
            state: shown.state & !clear | events,
            message: leaves.or(shown.message.filter(|_| !inputs.ready)),
        };
        let left = leaves.map_or(0, |vector| 1 << vector);
        self.pending = self.pending & !clear & !left | events;
        self.before = inputs;
        self.now += 1;
        shown
    }
}

/// Inputs of all kinds, in stretches in which the host is fast, slow, or does not want to know.
struct Stimulus {
    rng: Rng,
    ready: Rhythm,
    inputs: Inputs,
}

impl Stimulus {
    fn next(&mut self) -> Inputs {
        let (rng, inputs) = (&mut self.rng, &mut self.inputs);
        if chance(rng, 10) {
            inputs.producer = inputs.producer.wrapping_add(1);
        }
        inputs.restart = chance(rng, 1);
        if inputs.restart {
            inputs.producer = 0;
        }
        inputs.fault ^= chance(rng, 5);
        inputs.arm = chance(rng, 10).then(|| {
            let ahead = u32::from(chance(rng, 10)); // entries are seen before they count
            inputs.producer.wrapping_add(ahead)
        });
        let some = |rng: &mut Rng, percent| match chance(rng, percent) {
            true => rng.u32(0..4),
            false => 0,
        };
        inputs.clear = some(rng, 5);
        inputs.test = some(rng, 3);
        if chance(rng, 4) {
            inputs.enable = rng.u32(0..4);
            inputs.holdoff = if rng.bool() { 0 } else { rng.u32(0..40) };
        }
        inputs.ready = self.ready.go(rng);
        *inputs
    }
}

/// Cycle of the first difference between the block and the model, or the messages that both made.
fn compare(
    seed: u64,
    pace: Pace,
    cycles: usize,
    disturb: fn(&mut Inputs),
) -> Result<[usize; 2], usize> {
    let (mut rtl, mut model) = (Rtl::new(), Model::new(Fires::OnDifference));
    let mut stimulus = Stimulus {
        rng: Rng::with_seed(seed),
        ready: Rhythm::new(pace),
        inputs: Inputs {
            producer: u32::MAX - 100, // the count wraps
            ..Inputs::default()
        },
    };
    let mut messages = [0; 2];
    for cycle in 0..cycles {
        let inputs = stimulus.next();
        let mut disturbed = inputs;
        disturb(&mut disturbed);
        let (is, should) = (rtl.cycle(disturbed), model.cycle(inputs));
        if is != should {
            return Err(cycle);
        }
        if let Some(vector) = is.message.filter(|_| inputs.ready) {
            messages[vector] += 1;
        }
    }
    Ok(messages)
}

#[test]
fn state_and_messages_are_as_documented_in_every_cycle() {
    for (seed, pace) in [
        (1, Pace::Always),
        (2, Pace::Percent(30)),
        (3, Pace::Bursts(25)),
    ] {
        let messages = compare(seed, pace, 6000, |_| ()).expect("the same in all cycles");
        assert!(messages.iter().all(|&count| count > 50), "{messages:?}");
    }
}

#[test]
fn the_comparison_sees_each_input_that_is_not_heeded() {
    let faults: [fn(&mut Inputs); 8] = [
        |i| i.arm = None,
        |i| i.restart = false,
        |i| i.fault = false,
        |i| i.clear &= !(1 << COMPLETION),
        |i| i.clear &= !(1 << FAULT),
        |i| i.enable = 3,
        |i| i.test = 0,
        |i| i.holdoff = i.holdoff.saturating_sub(1),
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        let seen = compare(1, Pace::Always, 6000, fault);
        assert!(seen.is_err(), "fault {number} is not seen");
    }
}

/// A device with all messages wanted and taken, and what it shows cycle by cycle.
struct Calm<D> {
    device: D,
    inputs: Inputs,
}

impl Calm<Rtl> {
    fn new() -> Self {
        let inputs = Inputs {
            enable: 3,
            ready: true,
            ..Inputs::default()
        };
        Self {
            device: Rtl::new(),
            inputs,
        }
    }

    /// One cycle with a pulse in it.
    fn pulse(&mut self, change: impl FnOnce(&mut Inputs)) -> Outputs {
        let mut inputs = self.inputs;
        change(&mut inputs);
        self.device.cycle(inputs)
    }

    fn quiet(&mut self) -> Outputs {
        self.device.cycle(self.inputs)
    }

    /// Cycles from the one before this call to the one in which `what` is so.
    fn cycles_until(&mut self, what: impl Fn(Outputs) -> bool) -> usize {
        (1..1000)
            .find(|_| what(self.quiet()))
            .expect("it happens at some time")
    }

    /// Messages of the next cycles.
    fn messages(&mut self, cycles: usize) -> Vec<usize> {
        (0..cycles).filter_map(|_| self.quiet().message).collect()
    }
}

const BOTH: u32 = 1 << COMPLETION | 1 << FAULT;

#[test]
fn latency_and_throughput() {
    let mut calm = Calm::new();
    // an entry behind the arming
    calm.pulse(|i| i.arm = Some(0));
    assert_eq!(calm.messages(20), [0; 0]);
    calm.inputs.producer = 1;
    calm.quiet();
    assert_eq!(
        calm.cycles_until(|o| o.state == 1),
        2,
        "producer to INTERRUPT_STATE"
    );
    assert_eq!(calm.cycles_until(|o| o.message == Some(COMPLETION)), 1);
    // one in front of it
    calm.pulse(|i| i.clear = BOTH);
    calm.pulse(|i| i.arm = Some(0));
    assert_eq!(
        calm.cycles_until(|o| o.state == 1),
        3,
        "arming to INTERRUPT_STATE"
    );
    // an event to its message
    calm.messages(5);
    calm.pulse(|i| i.test = 1 << FAULT);
    assert_eq!(calm.cycles_until(|o| o.message == Some(FAULT)), 2);
    // messages as fast as they go
    calm.inputs.test = 1 << FAULT;
    calm.messages(5);
    assert_eq!(
        calm.messages(100).len(),
        50,
        "a FAULT message every 2 cycles"
    );
    calm.inputs.test = 1 << COMPLETION;
    for holdoff in [0, 1, 2, 50] {
        calm.inputs.holdoff = holdoff;
        calm.messages(100);
        let cycles = 10 * (holdoff as usize + 3);
        assert_eq!(calm.messages(cycles).len(), 10, "holdoff {holdoff}");
    }
}

#[test]
fn an_arming_makes_one_interrupt() {
    let mut calm = Calm::new();
    calm.pulse(|i| i.arm = Some(0));
    calm.inputs.producer = 1;
    assert_eq!(calm.messages(20), [COMPLETION]);
    calm.inputs.producer = 2;
    assert_eq!(calm.messages(20), [0; 0], "not armed any more");
    // a later arming takes the place of an earlier one
    calm.pulse(|i| i.arm = Some(2));
    calm.pulse(|i| i.arm = Some(2));
    calm.inputs.producer = 3;
    assert_eq!(calm.messages(20), [COMPLETION]);
    // the bit that is still set does not keep the next message back
    calm.pulse(|i| i.arm = Some(2));
    assert_eq!(calm.messages(20), [COMPLETION]);
    // a new queue forgets what the host knew of the old one
    calm.pulse(|i| i.arm = Some(3));
    calm.pulse(|i| i.restart = true);
    calm.inputs.producer = 0;
    assert_eq!(calm.messages(20), [0; 0]);
}

#[test]
fn clearing_forgets_a_message_that_has_not_left() {
    let mut calm = Calm::new();
    calm.inputs.enable = 0;
    calm.pulse(|i| i.test = BOTH);
    assert_eq!(calm.messages(20), [0; 0], "kept back");
    assert_eq!(calm.quiet().state, BOTH);
    calm.pulse(|i| i.clear = 1 << COMPLETION);
    calm.inputs.enable = BOTH;
    assert_eq!(calm.messages(20), [FAULT], "enabling sends what waits");
    assert_eq!(
        calm.quiet().state,
        1 << FAULT,
        "sending leaves INTERRUPT_STATE"
    );
    calm.pulse(|i| i.clear = BOTH);
    // what happens while it is cleared stays
    calm.pulse(|i| (i.test, i.clear) = (BOTH, BOTH));
    assert_eq!(calm.messages(20), [FAULT, COMPLETION]);
    assert_eq!(calm.quiet().state, BOTH);
    // what is offered cannot be taken back
    calm.inputs.ready = false;
    calm.pulse(|i| (i.test, i.clear) = (1 << FAULT, BOTH));
    calm.messages(5);
    calm.pulse(|i| i.clear = BOTH);
    calm.inputs.ready = true;
    assert_eq!(calm.messages(20), [FAULT]);
    assert_eq!(calm.quiet().state, 0);
}

#[test]
fn a_fault_is_told_once_and_never_moderated() {
    let mut calm = Calm::new();
    calm.inputs.holdoff = 200;
    calm.pulse(|i| i.test = 1 << COMPLETION);
    assert_eq!(calm.messages(20), [COMPLETION]);
    calm.pulse(|i| i.test = 1 << COMPLETION);
    calm.inputs.fault = true;
    assert_eq!(calm.messages(100), [FAULT], "COMPLETION has to wait");
    calm.inputs.holdoff = 0;
    assert_eq!(
        calm.messages(20),
        [COMPLETION],
        "a shorter holdoff counts at once"
    );
    calm.inputs.fault = false;
    assert_eq!(calm.messages(20), [0; 0]);
    calm.inputs.fault = true;
    assert_eq!(calm.messages(20), [FAULT], "the next rise is another fault");
}

/// The longest that a write to a register travels, and a message, in cycles.
const JOURNEY: u64 = 40;
/// The longest run of cycles in which messages are not taken.
const STALL: u32 = 60;
/// HOLDOFF of the hosts that sleep.
const HOLDOFF: u32 = 50;
/// The longest that a host sleeps beside an entry: its arming travels, comes true, waits for an earlier message and its
/// own turn, and the message travels.
const LONGEST_SLEEP: u64 = 2 * JOURNEY + 3 + 2 * STALL as u64 + HOLDOFF as u64 + 3;

/// In which order a host clears the bit and arms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// As documented.
    ClearThenArm,
    /// A planted fault: takes back the message that the arming has just made.
    ArmThenClear,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Consume,
    Clear,
    Arm,
    Look,
    Sleep,
}

#[derive(Clone, Copy)]
enum RegisterWrite {
    Clear,
    Arm(u32),
}

/// What a run of a host that sleeps came to.
#[derive(Debug, Default)]
struct Story {
    consumed: u32,
    sleeps: u32,
    /// Looks behind the arming that found an entry.
    narrow: u32,
    /// Wake-ups without an entry.
    vain: u32,
}

/// A host that consumes, arms, looks again and sleeps, on a device whose completion writer is as random as itself.
/// The cycle in which it has slept too long beside an entry is an error.
fn live(mut device: impl Device, seed: u64, order: Order, cycles: u64) -> Result<Story, u64> {
    let mut rng = Rng::with_seed(seed);
    let mut sink = Rhythm::new(Pace::Bursts(STALL));
    let mut story = Story::default();
    // entries in memory, and those of them whose writes are answered
    let (mut visible, mut producer) = (0_u32, 0_u32);
    let mut writes: VecDeque<(u64, RegisterWrite)> = VecDeque::new();
    let mut messages: VecDeque<u64> = VecDeque::new();
    let mut step = Step::Consume;
    let mut next_step = 0;
    // since when an answered entry lies beside the sleeping host
    let mut beside: Option<u64> = None;
    // entries come in fits: none for long, or many
    let mut fit = Rhythm::new(Pace::Bursts(200));
    for now in 0..cycles {
        if fit.go(&mut rng) && chance(&mut rng, 4) {
            visible += 1;
        }
        if producer < visible && chance(&mut rng, 15) {
            producer += 1;
        }

        // the host
        let woken = messages.front().is_some_and(|&at| at <= now);
        if woken {
            messages.pop_front();
        }
        let travel = |write, writes: &mut VecDeque<(u64, RegisterWrite)>, rng: &mut Rng| {
            let behind = writes.back().map_or(0, |&(at, _)| at + 1); // writes stay in order
            writes.push_back(((now + rng.u64(1..=JOURNEY)).max(behind), write));
        };
        if let Step::Sleep = step {
            if woken {
                story.vain += u32::from(visible == story.consumed);
                step = Step::Consume;
                next_step = now + rng.u64(0..30);
            }
        } else if now >= next_step {
            step = match (step, order) {
                (Step::Consume, _) if story.consumed < visible => {
                    story.consumed += 1;
                    Step::Consume
                }
                (Step::Consume, Order::ClearThenArm) => Step::Clear,
                (Step::Consume, Order::ArmThenClear) => Step::Arm,
                (Step::Clear, _) => {
                    travel(RegisterWrite::Clear, &mut writes, &mut rng);
                    match order {
                        Order::ClearThenArm => Step::Arm,
                        Order::ArmThenClear => Step::Look,
                    }
                }
                (Step::Arm, _) => {
                    travel(RegisterWrite::Arm(story.consumed), &mut writes, &mut rng);
                    match order {
                        Order::ClearThenArm => Step::Look,
                        Order::ArmThenClear => Step::Clear,
                    }
                }
                (Step::Look, _) if story.consumed < visible => {
                    story.narrow += 1;
                    Step::Consume
                }
                (Step::Look, _) => {
                    story.sleeps += 1;
                    Step::Sleep
                }
                (Step::Sleep, _) => unreachable!("handled above"),
            };
            next_step = now + rng.u64(0..6);
        }

        // the device
        let arrived = writes.front().filter(|(at, _)| *at <= now).map(|&(_, w)| w);
        if arrived.is_some() {
            writes.pop_front();
        }
        let ready = sink.go(&mut rng);
        let outputs = device.cycle(Inputs {
            producer,
            arm: match arrived {
                Some(RegisterWrite::Arm(count)) => Some(count),
                _ => None,
            },
            clear: match arrived {
                Some(RegisterWrite::Clear) => 1 << COMPLETION,
                _ => 0,
            },
            enable: 1 << COMPLETION,
            holdoff: HOLDOFF,
            ready,
            ..Inputs::default()
        });
        if outputs.message.is_some() && ready {
            messages.push_back(now + rng.u64(1..=JOURNEY));
        }

        let lies_beside = matches!(step, Step::Sleep) && producer > story.consumed;
        beside = lies_beside.then_some(beside.unwrap_or(now));
        if beside.is_some_and(|since| now - since > LONGEST_SLEEP) {
            return Err(now);
        }
    }
    Ok(story)
}

#[test]
fn no_host_sleeps_beside_an_entry() {
    let mut all = Story::default();
    for seed in 0..4 {
        let story = live(Rtl::new(), seed, Order::ClearThenArm, 20_000)
            .unwrap_or_else(|cycle| panic!("seed {seed}: asleep beside an entry in cycle {cycle}"));
        all.consumed += story.consumed;
        all.sleeps += story.sleeps;
        all.narrow += story.narrow;
        all.vain += story.vain;
    }
    println!("{all:?}");
    assert!(all.consumed > 500 && all.sleeps > 200, "{all:?}");
    assert!(all.narrow > 10, "the race is met: {all:?}");
    assert!(
        all.vain < all.sleeps / 2,
        "most sleeps are worth it: {all:?}"
    );
}

#[test]
fn a_device_that_fires_only_on_a_change_is_caught() {
    let lost = |fires| {
        let lives =
            |&seed: &u64| live(Model::new(fires), seed, Order::ClearThenArm, 20_000).is_err();
        (0..20).filter(lives).count()
    };
    assert_eq!(lost(Fires::OnDifference), 0);
    assert!(lost(Fires::OnChange) > 10, "{}", lost(Fires::OnChange));
}

#[test]
fn a_host_that_clears_behind_its_arming_is_caught() {
    let lives = |&seed: &u64| {
        let model = Model::new(Fires::OnDifference);
        live(model, seed, Order::ArmThenClear, 20_000).is_err()
    };
    let lost = (0..20).filter(lives).count();
    assert!(lost > 10, "{lost}");
}

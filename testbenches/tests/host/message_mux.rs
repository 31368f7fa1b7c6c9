//! `message_mux`: the stream of messages in every cycle against a plain model, under random interrupts and stalls.

use fastrand::Rng;
use warpline_hdl::host::message_mux::MessageMux;
use warpline_regmap::mailbox::INTERRUPT;
use warpline_regmap::register::interrupt::{COMPLETION, FAULT};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};

/// What goes into the block in one cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Inputs {
    reset: bool,
    raise: bool,
    clear: bool,
    enable: bool,
    /// Vector of the message that `interrupts` offers.
    offered: Option<usize>,
    ready: bool,
}

/// What it shows in the same cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Outputs {
    /// Vector of the message that it offers.
    message: Option<usize>,
    /// It accepts what `interrupts` offers.
    accepts: bool,
}

struct Rtl(Lockstep<MessageMux>);

impl Rtl {
    fn new() -> Self {
        let block = Box::new(MessageMux::default());
        let sim = Lockstep::new("message_mux", block, |b, level| {
            b.clock.next = level.into();
        });
        let mut rtl = Self(sim.unwrap_or_else(|e| panic!("{e}")));
        rtl.cycle(Inputs {
            reset: true,
            ..Inputs::default()
        });
        rtl
    }

    fn cycle(&mut self, inputs: Inputs) -> Outputs {
        let drive = |b: &mut MessageMux| {
            b.reset.next = inputs.reset;
            b.raise.next = inputs.raise;
            b.clear.next = inputs.clear;
            b.enable.next = inputs.enable;
            b.s_axis_msix.tvalid.next = inputs.offered.is_some();
            // without `tvalid` the vector is anything
            b.s_axis_msix.tdata.next = (inputs.offered.unwrap_or(0xff) as u64).into();
            b.m_axis_msix.tready.next = inputs.ready;
        };
        let sample = |b: &MessageMux| Outputs {
            message: (b.m_axis_msix.tvalid.val()).then(|| b.m_axis_msix.tdata.val().index()),
            accepts: b.s_axis_msix.tready.val(),
        };
        self.0
            .cycle(drive, sample)
            .unwrap_or_else(|e| panic!("{e}"))
    }
}

/// The documentation as a program.
#[derive(Default)]
struct Model {
    /// An interrupt whose message has not left.
    raised: bool,
    /// It was so in the last cycle, and its message may leave in this one.
    due: bool,
    message: Option<usize>,
}

impl Model {
    fn cycle(&mut self, inputs: Inputs) -> Outputs {
        let free = self.message.is_none();
        let shown = Outputs {
            message: self.message,
            accepts: free && !self.due,
        };
        let leaves = free && self.due;
        if inputs.ready {
            self.message = None;
        }
        if leaves {
            self.message = Some(INTERRUPT);
        } else if free {
            self.message = inputs.offered;
        }
        let stays = self.raised && !inputs.clear && !leaves;
        self.due = stays && inputs.enable;
        self.raised = stays || inputs.raise;
        if inputs.reset {
            *self = Self::default();
        }
        shown
    }
}

/// Messages by vector that leave, or the cycle of the first difference between the block and the model.
fn compare(seed: u64, pace: Pace, disturb: fn(&mut Inputs)) -> Result<[usize; 3], usize> {
    let (mut rtl, mut model) = (Rtl::new(), Model::default());
    let (mut rng, mut ready) = (Rng::with_seed(seed), Rhythm::new(pace));
    let mut inputs = Inputs::default();
    let mut messages = [0; 3];
    for cycle in 0..6000 {
        inputs.reset = rng.usize(0..200) == 0;
        inputs.raise = chance(&mut rng, 15);
        inputs.clear = chance(&mut rng, 10);
        if chance(&mut rng, 10) {
            inputs.enable = !inputs.enable;
        }
        if inputs.offered.is_none() && chance(&mut rng, 25) {
            inputs.offered = Some(if rng.bool() { COMPLETION } else { FAULT });
        }
        inputs.ready = ready.go(&mut rng);
        let mut disturbed = inputs;
        disturb(&mut disturbed);
        let (is, should) = (rtl.cycle(disturbed), model.cycle(inputs));
        if is != should {
            return Err(cycle);
        }
        if let Some(vector) = is.message.filter(|_| inputs.ready) {
            messages[vector] += 1;
        }
        if is.accepts || inputs.reset {
            inputs.offered = None;
        }
    }
    Ok(messages)
}

#[test]
fn messages_are_as_documented_in_every_cycle() {
    for (seed, pace) in [
        (1, Pace::Always),
        (2, Pace::Percent(30)),
        (3, Pace::Bursts(25)),
    ] {
        let messages = compare(seed, pace, |_| ()).expect("the same in all cycles");
        assert!(messages.iter().all(|&count| count > 50), "{messages:?}");
    }
}

#[test]
fn the_comparison_sees_each_input_that_is_ignored() {
    let faults: [fn(&mut Inputs); 6] = [
        |i| i.reset = false,
        |i| i.raise = false,
        |i| i.clear = false,
        |i| i.enable = true,
        |i| i.offered = i.offered.map(|_| COMPLETION),
        |i| i.ready = true,
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        let seen = compare(1, Pace::Percent(60), fault);
        assert!(seen.is_err(), "fault {number} is not seen");
    }
}

/// Cycles from one with `inputs` to that in which `vector` is offered.
fn latency(rtl: &mut Rtl, inputs: Inputs, then: Inputs, vector: usize) -> usize {
    rtl.cycle(inputs);
    (1..100)
        .find(|_| rtl.cycle(then).message == Some(vector))
        .expect("the message leaves")
}

#[test]
fn latency_and_throughput() {
    let idle = Inputs {
        enable: true,
        ready: true,
        ..Inputs::default()
    };
    let mut rtl = Rtl::new();
    let raise = Inputs {
        raise: true,
        ..idle
    };
    assert_eq!(latency(&mut rtl, raise, idle, INTERRUPT), 3);
    let beat = Inputs {
        offered: Some(FAULT),
        ..idle
    };
    rtl.cycle(idle);
    assert_eq!(latency(&mut rtl, beat, idle, FAULT), 1);
    rtl.cycle(idle);
    let messages = (0..100).filter(|_| rtl.cycle(beat).message.is_some());
    assert_eq!(messages.count(), 50, "a message every 2 cycles");
}

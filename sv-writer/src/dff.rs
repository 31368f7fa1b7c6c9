//! A flip-flop: `q` takes `d` at the rising edge of `clock`, and is `T::default()` at power-up.
//!
//! ```text
//!          ┌─────┐
//!   d ─────┤ D Q ├───── q
//!          │     │
//!   clock ─┤>    │
//!          └─────┘
//! ```
//!
//! There is no reset port: a kernel that resets overrides `d` last. The [writer](crate) knows this block and
//! writes it inline, as one line of its owner's clocked `always`.

use crate::clocked::Clocked;
use rust_hdl_core::prelude::*;

/// What the text of every [`Dff`] opens with; the power-up value follows up to the end of the line.
const MARK: &str = "// flip-flop, power-up ";

/// A register of type `T`. In a block that derives [`Block`](macro@crate::Block) and has one clock, it has that clock, and holds
/// what it has in cycles in which the kernel does not assign `d`.
#[derive(Clone, Debug, LogicBlock)]
pub struct Dff<T: Synth> {
    /// Next value, sampled at the rising edge.
    pub d: Signal<In, T>,
    /// Present value.
    pub q: Signal<Out, T>,
    /// Clock; the rising edge counts.
    pub clock: Signal<In, Clock>,
}

impl<T: Synth> Default for Dff<T> {
    fn default() -> Self {
        Self {
            d: Default::default(),
            q: Default::default(),
            clock: Default::default(),
        }
    }
}

impl<T: Synth> Clocked for Dff<T> {
    #[inline(always)]
    fn hold(&mut self, clock: Clock) {
        self.clock.next = clock;
        self.d.next = self.q.val();
    }

    fn claim(&mut self) {
        self.clock.connect();
        self.d.connect();
    }
}

impl<T: Synth> Logic for Dff<T> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.q.next = self.d.val();
        }
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        let value = T::default().verilog();
        Verilog::Custom(format!(
            "{MARK}{value:x}\ninitial q = {value:x};\nalways @(posedge clock) q <= d;\n"
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        vec![TimingInfo {
            name: "dff".into(),
            clock: "clock".into(),
            inputs: vec!["d".into()],
            outputs: vec!["q".into()],
        }]
    }
}

/// The power-up value in a flip-flop's text, as hexadecimal digits; `None` for any other text.
pub(crate) fn power_up(text: &str) -> Option<&str> {
    let (value, _) = text.strip_prefix(MARK)?.split_once('\n')?;
    value.split_once("'h").map(|(_, digits)| digits)
}

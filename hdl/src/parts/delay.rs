//! A delay line: `q` is the value of `d` a fixed number of cycles ago.
//!
//! ```text
//!  d ──►[ ]──►[ ]── … ──►[ ]──► q
//! ```
//!
//! Keeps side information in step with a pipelined block. Latency: as built, at least one cycle. Throughput: one value a cycle.
//! No reset: a value that must be low after reset is held low at `d` for as many cycles (the top stretches its reset).
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;

/// The delay line; build it with [`Delay::new`].
#[derive(Block)]
#[block(cycles: usize)]
pub struct Delay<T: Synth> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Input.
    pub d: Signal<In, T>,
    /// Input of `cycles` cycles ago.
    pub q: Signal<Out, T>,
    #[value(vec![T::default(); cycles])]
    _stages: Vec<T>,
}

impl<T: Synth> Delay<T> {
    /// A line of `cycles` registers, at least one.
    ///
    /// # Panics
    /// When `cycles` is 0.
    #[must_use]
    pub fn new(cycles: usize) -> Self {
        assert!(cycles > 0, "a delay of no cycles is a wire");
        Self::assemble(cycles)
    }
}

impl<T: Synth> Logic for Delay<T> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self._stages.rotate_right(1);
            self._stages[0] = self.d.val();
        }
        self.q.next = self._stages[self._stages.len() - 1];
    }
    fn connect(&mut self) {
        self.q.connect();
    }
    fn hdl(&self) -> Verilog {
        let (high, last) = (T::BITS - 1, self._stages.len() - 1);
        let shift: String = (1..=last)
            .map(|i| format!("    stage_{i} <= stage_{};\n", i - 1))
            .collect();
        let stages: Vec<String> = (0..=last).map(|i| format!("stage_{i}")).collect();
        let zero: String = stages
            .iter()
            .map(|stage| format!("    {stage} = 0;\n"))
            .collect();
        Verilog::Custom(format!(
            "reg [{high}:0] {};\ninitial begin\n{zero}end\nalways @(posedge clock) begin\n    stage_0 <= d;\n{shift}end\nassign q = stage_{last};",
            stages.join(", ")
        ))
    }
}

//! Pipelined barrel rotator over lanes.
//!
//! ```text
//!  data ──►[rotate by 0..3]─►[reg]─►[by 0,4,8,12]─►[reg]─►[by 0,16,32,48]─►[reg]──► out
//!  amount ──── bits 1:0        └──────── bits 3:2    └──────── bits 5:4
//! ```
//!
//! Lane i of `out` is lane (i + amount) mod N of `data`. A stage holds two levels of 2:1 multiplexers and a register.
//! Throughput: one rotation a cycle, free running. Latency: [`latency`]`(N)` cycles. No reset: the neighbour keeps the valid bit.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;

/// Cycles through a rotator of `lanes` lanes (a power of two, at least 2): one for every two bits of the amount.
#[must_use]
pub const fn latency(lanes: usize) -> usize {
    (lanes.ilog2() as usize).div_ceil(2)
}

/// Rotates N lanes of W/N bits; L = log2 N.
#[derive(Block)]
#[block()]
pub struct Rotate<const W: usize, const N: usize, const L: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Lanes to rotate, lane 0 in the lowest bits.
    pub data: Signal<In, Bits<W>>,
    /// Lane of `data` that becomes lane 0 of `out`.
    pub amount: Signal<In, Bits<L>>,
    /// Rotated lanes.
    pub out: Signal<Out, Bits<W>>,
    #[value(vec![Default::default(); latency(N)])]
    _stages: Vec<(Bits<W>, usize)>,
}

impl<const W: usize, const N: usize, const L: usize> Default for Rotate<W, N, L> {
    /// # Panics
    /// When N is not 2^L, or W not a multiple of it.
    fn default() -> Self {
        assert!(
            L > 0 && N == 1 << L,
            "{N} lanes need an amount of log2 {N} bits, not {L}"
        );
        assert_eq!(W % N, 0, "lanes are equally wide");
        Self::assemble()
    }
}

impl<const W: usize, const N: usize, const L: usize> Rotate<W, N, L> {
    /// Lanes by which stage `stage` rotates, of an amount.
    const fn share(stage: usize, amount: usize) -> usize {
        amount & (3 << (2 * stage))
    }
}

impl<const W: usize, const N: usize, const L: usize> Logic for Rotate<W, N, L> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let mut entering = (self.data.val(), self.amount.val().index());
            for (stage, held) in self._stages.iter_mut().enumerate() {
                let (data, amount) = entering;
                let bits = (Self::share(stage, amount) * (W / N)) as u64;
                let rotated = if bits == 0 {
                    data
                } else {
                    data >> bits | data << (W as u64 - bits)
                };
                entering = std::mem::replace(held, (rotated, amount));
            }
            self.out.next = self._stages[self._stages.len() - 1].0;
        }
    }

    fn connect(&mut self) {
        self.out.connect();
    }

    fn hdl(&self) -> Verilog {
        let (mut declarations, mut initial, mut steps) =
            (String::new(), String::new(), String::new());
        let (mut data, mut amount) = ("data".to_string(), "amount".to_string());
        let last = latency(N) - 1;
        for stage in 0..=last {
            for level in (2 * stage..L).take(2) {
                let (low, top) = ((W / N) << level, W - 1);
                // One bit is a scalar port, which has no index.
                let bit = if L == 1 {
                    amount.clone()
                } else {
                    format!("{amount}[{level}]")
                };
                declarations += &format!(
                    "wire [{top}:0] level_{level} = {bit} ? {{{data}[{}:0], {data}[{top}:{low}]}} : {data};\n",
                    low - 1
                );
                data = format!("level_{level}");
            }
            let target = if stage == last {
                "out".into()
            } else {
                format!("stage_{stage}")
            };
            initial += &format!("    {target} = 0;\n");
            steps += &format!("    {target} <= {data};\n");
            if stage < last {
                let (next, low, top) = (format!("amount_{stage}"), 2 * stage + 2, L - 1);
                declarations +=
                    &format!("reg [{}:0] {target};\nreg [{top}:{low}] {next};\n", W - 1);
                initial += &format!("    {next} = 0;\n");
                steps += &format!("    {next} <= {amount}[{top}:{low}];\n");
                (data, amount) = (target, next);
            }
        }
        Verilog::Custom(format!(
            "{declarations}initial begin\n{initial}end\nalways @(posedge clock) begin\n{steps}end"
        ))
    }
}

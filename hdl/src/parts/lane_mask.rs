//! Which lanes of a beat lie in a range.
//!
//! ```text
//!  from=2, to=5, N=8 lanes:   lane 7 6 5 4 3 2 1 0
//!                             mask 0 0 0 1 1 1 0 0     each lane repeated W/N bits wide
//! ```
//!
//! Combinational. Lane i is set when `from <= i < to`.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;

/// W mask bits for N lanes.
#[derive(Block, Default)]
pub struct LaneMask<const W: usize, const N: usize> {
    /// First lane that is set.
    pub from: Signal<In, Bits<8>>,
    /// First lane behind them that is not set; at most 128.
    pub to: Signal<In, Bits<8>>,
    /// The mask.
    pub mask: Signal<Out, Bits<W>>,
}

impl<const W: usize, const N: usize> Logic for LaneMask<W, N> {
    fn update(&mut self) {
        let (from, to) = (self.from.val().index(), self.to.val().index());
        let mut mask = Bits::<W>::default();
        for lane in (0..N).filter(|lane| (from..to).contains(lane)) {
            for bit in lane * W / N..(lane + 1) * W / N {
                mask = mask.replace_bit(bit, true);
            }
        }
        self.mask.next = mask;
    }
    fn connect(&mut self) {
        self.mask.connect();
    }
    fn hdl(&self) -> Verilog {
        let lanes: String = (0..N)
            .map(|lane| {
                let (high, low, wide) = ((lane + 1) * W / N - 1, lane * W / N, W / N);
                let from = if lane == 0 {
                    "from == 8'd0".into()
                } else {
                    format!("from <= 8'd{lane}")
                };
                format!("    mask[{high}:{low}] = {{{wide}{{({from}) && (to > 8'd{lane})}}}};\n")
            })
            .collect();
        Verilog::Custom(format!("always @* begin\n{lanes}end"))
    }
}

//! How many octets an AXI4-Stream beat holds.
//!
//! Combinational. The ones of `keep` are contiguous from bit 0; `count` is their number, 0 to K. The highest one has a zero above
//! it; each bit of its number is one OR of half of the lanes.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;

/// Counts the ones of `tkeep`.
#[derive(Block, Default)]
pub struct KeepCount<const K: usize> {
    /// tkeep of a beat: lane 0 upward, no holes.
    pub keep: Signal<In, Bits<K>>,
    /// Octets in the beat.
    pub count: Signal<Out, Bits<8>>,
}

impl<const K: usize> Logic for KeepCount<K> {
    fn update(&mut self) {
        let keep = self.keep.val();
        let top =
            (0..K).filter(|lane| keep.get_bit(*lane) && (lane + 1 == K || !keep.get_bit(lane + 1)));
        self.count.next = (top.fold(0, |count, lane| count | (lane + 1)) as u64).into();
    }
    fn connect(&mut self) {
        self.count.connect();
    }
    fn hdl(&self) -> Verilog {
        let mut text = format!(
            "wire [{}:0] top = keep & ~(keep >> 1);\nalways @* begin\n",
            K - 1
        );
        for bit in 0..8 {
            let mut lanes = Bits::<K>::default();
            for lane in (0..K).filter(|lane| (lane + 1) >> bit & 1 == 1) {
                lanes = lanes.replace_bit(lane, true);
            }
            text += &format!("    count[{bit}] = |(top & {K}'h{lanes:x});\n");
        }
        Verilog::Custom(text + "end")
    }
}

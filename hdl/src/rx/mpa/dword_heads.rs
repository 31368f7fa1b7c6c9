//! The first two octets of each dword: ULPDU_Length, where an FPDU begins in that dword (RFC 5044 §4.1).
//!
//! Combinational. Dword lane i of `data` gives bits 16i+15 to 16i of `octets`, the first octet low.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;

/// Picks them from W bits: H = W/2.
#[derive(Block, Default)]
pub struct DwordHeads<const W: usize, const H: usize> {
    /// Octets, lane 0 in the lowest bits.
    pub data: Signal<In, Bits<W>>,
    /// First two octets of each dword.
    pub octets: Signal<Out, Bits<H>>,
}

impl<const W: usize, const H: usize> Logic for DwordHeads<W, H> {
    fn update(&mut self) {
        let data = self.data.val();
        let mut heads = Bits::<H>::default();
        for lane in 0..W / 32 {
            heads.set_bits::<16>(16 * lane, data.get_bits::<16>(32 * lane));
        }
        self.octets.next = heads;
    }
    fn connect(&mut self) {
        self.octets.connect();
    }
    fn hdl(&self) -> Verilog {
        assert_eq!(W, 2 * H, "two octets of four");
        let lanes = (0..W / 32).rev();
        let heads = lanes
            .clone()
            .map(|lane| format!("data[{}:{}]", 32 * lane + 15, 32 * lane));
        let rest = lanes.map(|lane| format!("data[{}:{}]", 32 * lane + 31, 32 * lane + 16));
        Verilog::Custom(format!(
            "assign octets = {{{}}};\nwire unused = &{{1'b0, {}}};",
            heads.collect::<Vec<_>>().join(", "),
            rest.collect::<Vec<_>>().join(", ")
        ))
    }
}

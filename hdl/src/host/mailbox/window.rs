//! Window: a message in block RAM, written in octets and read in words.
//!
//! Throughput: one write and one read a cycle; `read_data` follows its row by [`LATENCY`] cycles. A read in the cycle
//! of a write of its row returns old or new octets, undefined which. No reset: zero at power-up.
use rust_hdl_core::prelude::*;
use warpline_regmap::mailbox::MESSAGE_WORDS;
use warpline_sv_writer::Block;

/// Cycles from a row to its word.
pub const LATENCY: u64 = 2;

/// Bits of a row.
pub const ROW: usize = MESSAGE_WORDS.ilog2() as usize;

/// The message that one side writes.
#[derive(Block)]
#[block(default)]
pub struct Window {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Octets of `write_data` to write.
    pub write: Signal<In, Bits<4>>,
    /// Row to write.
    pub write_row: Signal<In, Bits<ROW>>,
    /// Word to write.
    pub write_data: Signal<In, Bits<32>>,
    /// Row to read.
    pub read_row: Signal<In, Bits<ROW>>,
    /// Word of the row given two cycles ago.
    pub read_data: Signal<Out, Bits<32>>,
    #[value(vec![0; MESSAGE_WORDS])]
    _words: Vec<u32>,
    _register: u32,
}

impl Logic for Window {
    fn update(&mut self) {
        if !self.clock.pos_edge() {
            return;
        }
        self.read_data.next = u64::from(self._register).into();
        self._register = self._words[self.read_row.val().index()];
        let (strobes, data) = (self.write.val(), self.write_data.val().to_u32());
        let word = &mut self._words[self.write_row.val().index()];
        for lane in (0..4).filter(|lane| strobes.get_bit(*lane)) {
            let mask = 0xff << (8 * lane);
            *word = *word & !mask | data & mask;
        }
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let last = MESSAGE_WORDS - 1;
        Verilog::Custom(format!(
            "\
(* no_rw_check *) reg [31:0] words [0:{last}];
reg [31:0] ram_register;
integer word;
initial for (word = 0; word <= {last}; word = word + 1) words[word] = 0;
initial ram_register = 0;
initial read_data = 0;
always @(posedge clock) begin
    read_data <= ram_register;
    ram_register <= words[read_row];
    if (write[0]) words[write_row][7:0] <= write_data[7:0];
    if (write[1]) words[write_row][15:8] <= write_data[15:8];
    if (write[2]) words[write_row][23:16] <= write_data[23:16];
    if (write[3]) words[write_row][31:24] <= write_data[31:24];
end"
        ))
    }
}

//! Slot RAM: the octets of slots, written beat by beat and read in rows of 16 octets.
//!
//! ```text
//!  write_slot, write_beat ─►┌───────────────────┐
//!  write_data ─────────────►│ banks of 64 bits  │─►[RAM register]─►(row of the beat)─►[output register]─► read_data
//!  read_slot, read_row ────►└───────────────────┘
//! ```
//!
//! A beat goes to all banks, at 64 bits to one of two in turn, so that two beats make a row. A slot has room for 256
//! octets, of which its neighbours use 160.
//!
//! Throughput: one write and one read a cycle; `read_data` follows its row by [`LATENCY`] cycles. A read in the same
//! cycle as a write of its row returns the old or the new octets, undefined which; the blocks around never do that.
//! No reset. Rows hold zero at power-up in simulation; the text for synthesis does not say so, and nothing depends on
//! a row that was not written.
use rust_hdl_core::prelude::*;
use warpline_regmap::transmit::SLOT_OCTETS;
use warpline_sv_writer::Block;

/// Cycles from a row at the read port to its octets.
pub const LATENCY: usize = 2;

/// Octets of a row.
pub const ROW_OCTETS: usize = 16;

/// Octets of a bank.
const BANK: usize = 8;
/// Banks of a row.
const ROW_BANKS: usize = ROW_OCTETS / BANK;
/// Words of a bank's size in a slot.
const SLOT_WORDS: usize = SLOT_OCTETS as usize / BANK;

/// Slots in beats of W bits.
#[derive(Block)]
#[block(slots: usize)]
pub struct SlotRam<const W: usize> {
    /// Clock of both ports.
    pub clock: Signal<In, Clock>,
    /// Write `write_data`.
    pub write: Signal<In, Bit>,
    /// Slot to write.
    pub write_slot: Signal<In, Bits<8>>,
    /// Beat of it, from 0 on.
    pub write_beat: Signal<In, Bits<5>>,
    /// Octets of that beat, the first one in bits 7:0.
    pub write_data: Signal<In, Bits<W>>,
    /// Slot to read.
    pub read_slot: Signal<In, Bits<8>>,
    /// Row of it, from 0 on.
    pub read_row: Signal<In, Bits<4>>,
    /// Octets of the row given two cycles ago, the first one in bits 7:0.
    pub read_data: Signal<Out, Bits<128>>,
    #[value(vec![0; slots * SLOT_WORDS])]
    _words: Vec<u64>,
    _register: Bits<128>,
}

impl<const W: usize> SlotRam<W> {
    /// A memory of `slots` slots; bits of a slot's number above those that `slots` needs are ignored.
    ///
    /// # Panics
    /// When W is not 64, 128, 256 or 512, or `slots` is not a power of two from 4 to 256.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        assert!(matches!(W, 64 | 128 | 256 | 512), "{W} bits");
        assert!(
            slots.is_power_of_two() && (4..=256).contains(&slots),
            "{slots} slots: give a power of two from 4 to 256"
        );
        Self::assemble(slots)
    }

    /// Banks that lie side by side.
    const BANKS: usize = if W / (8 * BANK) > ROW_BANKS {
        W / (8 * BANK)
    } else {
        ROW_BANKS
    };
}

impl<const W: usize> Logic for SlotRam<W> {
    fn update(&mut self) {
        if !self.clock.pos_edge() {
            return;
        }
        self.read_data.next = self._register;
        let place = |slot: Bits<8>, word: usize| {
            (slot.index() * SLOT_WORDS + word % SLOT_WORDS) % self._words.len()
        };
        let row = place(
            self.read_slot.val(),
            ROW_BANKS * self.read_row.val().index(),
        );
        for bank in 0..ROW_BANKS {
            self._register
                .set_bits::<64>(64 * bank, self._words[row + bank].into());
        }
        if self.write.val() {
            let banks = W / (8 * BANK);
            let beat = place(self.write_slot.val(), banks * self.write_beat.val().index());
            for bank in 0..banks {
                let word = self.write_data.val().get_bits::<64>(64 * bank);
                self._words[beat + bank] = word.to_u64();
            }
        }
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let banks = Self::BANKS;
        let slots = self._words.len() / SLOT_WORDS;
        let slot_bits = slots.ilog2() as usize;
        let lines = slots * SLOT_WORDS / banks;
        // of a line: beats at 64 bits in two banks, rows in all others
        let (line_bits, in_line) = (
            (SLOT_WORDS / banks).ilog2() as usize,
            (banks / ROW_BANKS).ilog2() as usize,
        );
        let (slot_top, last, top) = (slot_bits - 1, lines - 1, 64 * banks - 1);
        let beat_in_line = (64 * banks / W).ilog2() as usize;
        let write_line = format!(
            "{{write_slot[{slot_top}:0], write_beat[{}:{beat_in_line}]}}",
            line_bits + beat_in_line - 1
        );
        let read_line = format!(
            "{{read_slot[{slot_top}:0], read_row[{}:{in_line}]}}",
            line_bits + in_line - 1
        );
        let (enable, data) = match beat_in_line {
            0 => ("write", "write_data[64 * bank +: 64]"),
            _ => ("write & (write_beat[0] == bank[0])", "write_data"),
        };
        let (keep, output) = match in_line {
            0 => (String::new(), "ram_register".to_string()),
            _ => (
                format!(
                    "reg [{0}:0] in_line;\ninitial in_line = 0;\nalways @(posedge clock) in_line <= read_row[{0}:0];\n",
                    in_line - 1
                ),
                "ram_register[{in_line, 7'b0} +: 128]".to_string(),
            ),
        };
        let mut ignored = vec!["1'b0".to_string()];
        if slot_bits < 8 {
            ignored.push(format!("write_slot[7:{slot_bits}]"));
            ignored.push(format!("read_slot[7:{slot_bits}]"));
        }
        if line_bits + beat_in_line < 5 {
            ignored.push(format!("write_beat[4:{}]", line_bits + beat_in_line));
        }
        let unused = match ignored.len() {
            1 => String::new(),
            _ => format!("wire unused = &{{{}}};\n", ignored.join(", ")),
        };
        Verilog::Custom(format!(
            "\
reg [{top}:0] ram_register;
initial ram_register = 0;
initial read_data = 0;
{keep}always @(posedge clock) read_data <= {output};
genvar bank;
generate for (bank = 0; bank < {banks}; bank = bank + 1) begin : banks
    (* no_rw_check *) reg [63:0] words [0:{last}];
`ifndef SYNTHESIS
    integer line;
    initial for (line = 0; line <= {last}; line = line + 1) words[line] = 64'h0;
`endif
    always @(posedge clock) begin
        ram_register[64 * bank +: 64] <= words[{read_line}];
        if ({enable}) words[{write_line}] <= {data};
    end
end endgenerate
{unused}"
        ))
    }
}

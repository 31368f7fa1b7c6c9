//! A table of records in block RAM: one port writes, another one reads.
//!
//! ```text
//!  write_row, write_data ─►┌─────┐
//!                          │ RAM │─►[RAM register]─►[output register]─► read_data
//!  read_row ──────────────►└─────┘
//! ```
//!
//! Throughput: one write and one read a cycle; `read_data` follows its row by [`LATENCY`] cycles. A read in the same
//! cycle as a write of its row returns the old or the new record, undefined which; the blocks around never do that.
//! No reset: the RAM holds zero at power-up, and a block that needs more clears every row.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;

/// Cycles from a row at the read port to its record.
pub const LATENCY: u64 = 2;

/// Records of type T, rows of A address bits.
#[derive(Block)]
#[block(rows: usize)]
pub struct RecordRam<T: Synth, const A: usize> {
    /// Clock of both ports.
    pub clock: Signal<In, Clock>,
    /// Write `write_data`.
    pub write: Signal<In, Bit>,
    /// Row to write.
    pub write_row: Signal<In, Bits<A>>,
    /// Record to write.
    pub write_data: Signal<In, T>,
    /// Row to read.
    pub read_row: Signal<In, Bits<A>>,
    /// Record of the row given two cycles ago.
    pub read_data: Signal<Out, T>,
    #[value(vec![T::default(); rows])]
    _rows: Vec<T>,
    _register: T,
}

impl<T: Synth, const A: usize> RecordRam<T, A> {
    /// A table of `rows` rows; address bits above those that `rows` needs are ignored.
    ///
    /// # Panics
    /// When `rows` is not a power of two from 2 to 2^A.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        assert!(
            rows.is_power_of_two() && rows >= 2 && rows.ilog2() as usize <= A,
            "{rows} rows: give a power of two that {A} address bits reach"
        );
        Self::assemble(rows)
    }
}

impl<T: Synth, const A: usize> Logic for RecordRam<T, A> {
    fn update(&mut self) {
        if !self.clock.pos_edge() {
            return;
        }
        let rows = self._rows.len();
        self.read_data.next = self._register;
        self._register = self._rows[self.read_row.val().index() % rows];
        if self.write.val() {
            self._rows[self.write_row.val().index() % rows] = self.write_data.val();
        }
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let (high, last) = (T::BITS - 1, self._rows.len() - 1);
        let row_bits = self._rows.len().ilog2() as usize;
        let top = row_bits - 1;
        let unused = if row_bits < A {
            let beyond = format!("[{}:{row_bits}]", A - 1);
            format!("\nwire unused = &{{1'b0, write_row{beyond}, read_row{beyond}}};")
        } else {
            String::new()
        };
        Verilog::Custom(format!(
            "\
(* no_rw_check *) reg [{high}:0] rows [0:{last}];
reg [{high}:0] ram_register;
integer row;
initial for (row = 0; row <= {last}; row = row + 1) rows[row] = 0;
initial ram_register = 0;
initial read_data = 0;
always @(posedge clock) begin
    read_data <= ram_register;
    ram_register <= rows[read_row[{top}:0]];
    if (write) rows[write_row[{top}:0]] <= write_data;
end{unused}"
        ))
    }
}

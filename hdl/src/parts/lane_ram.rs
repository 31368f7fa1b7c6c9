//! Memory of octet lanes: an access may start at any octet and run on into the next row.
//!
//! ```text
//!  write_data   lane 7 6 5 4 3 2 1 0        write_select 00000111: lanes 2..0 go to write_row_1,
//!                    │ │ │ │ │ └─┴─┴─► row 1                       lanes 7..3 to write_row_0
//!                    └─┴─┴─┴─┴───────► row 0
//!
//!  read_row_0/1 ─► [mux]─►[one RAM a lane]─►[RAM register]─►[output register]─► read_data
//! ```
//!
//! Each lane is a simple dual-port block RAM of its own, so lanes can access different rows at the same time.
//! Throughput: one write and one read a cycle. Latency: `read_data` follows its row by [`LATENCY`] cycles and
//! includes all writes up to the cycle before the row. A read in the same cycle as a write of the same octet returns
//! the old octet in simulation and is undefined in hardware, where the old octet would need a comparator for each
//! lane: neighbours never do it. No reset. Rows hold zero at power-up in simulation; the text for synthesis does not
//! say so (yosys takes minutes to unroll it), so neighbours never depend on rows that were not written.
//!
//! [`HeaderRam`] uses the same write port and stores the first two octets of every dword: where an FPDU may begin, these hold
//! ULPDU_Length (RFC 5044 §4.1), so a second reader can follow the length chain beside the first.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;

/// Cycles from a row at a read port to its data, for both blocks.
pub const LATENCY: usize = 2;

/// K lanes of one octet, W = 8·K, row addresses of A bits.
#[derive(Block)]
#[block(rows: usize)]
pub struct LaneRam<const W: usize, const K: usize, const A: usize> {
    /// Clock of both ports.
    pub clock: Signal<In, Clock>,
    /// Lanes to write.
    pub write_enable: Signal<In, Bits<K>>,
    /// Row of each lane: `write_row_0` where zero, `write_row_1` where one.
    pub write_select: Signal<In, Bits<K>>,
    /// Row of the lanes whose select bit is zero.
    pub write_row_0: Signal<In, Bits<A>>,
    /// Row of the lanes whose select bit is one.
    pub write_row_1: Signal<In, Bits<A>>,
    /// Octets to write, lane i in bits 8i+7 to 8i.
    pub write_data: Signal<In, Bits<W>>,
    /// Row of each lane: `read_row_0` where zero, `read_row_1` where one.
    pub read_select: Signal<In, Bits<K>>,
    /// Row of the lanes whose select bit is zero.
    pub read_row_0: Signal<In, Bits<A>>,
    /// Row of the lanes whose select bit is one.
    pub read_row_1: Signal<In, Bits<A>>,
    /// Octets of the rows given two cycles ago.
    pub read_data: Signal<Out, Bits<W>>,
    #[value(Octets::new(rows, (0..K).collect(), A))]
    _octets: Octets,
    _register: Bits<W>,
}

impl<const W: usize, const K: usize, const A: usize> LaneRam<W, K, A> {
    /// A memory of `rows` rows; address bits above those that `rows` needs are ignored.
    ///
    /// # Panics
    /// When W is not 8·K, or `rows` is not a power of two from 4 to 2^A.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        assert_eq!(W, 8 * K, "a lane is an octet");
        Self::assemble(rows)
    }
}

impl<const W: usize, const K: usize, const A: usize> Logic for LaneRam<W, K, A> {
    fn update(&mut self) {
        if !self.clock.pos_edge() {
            return;
        }
        self.read_data.next = self._register;
        let (select, rows) = (
            self.read_select.val(),
            [self.read_row_0.val(), self.read_row_1.val()],
        );
        for lane in 0..K {
            let row = rows[usize::from(select.get_bit(lane))];
            self._register
                .set_bits::<8>(8 * lane, self._octets.read(lane, row));
        }
        self._octets.write(
            self.write_enable.val(),
            self.write_select.val(),
            [self.write_row_0.val(), self.write_row_1.val()],
            self.write_data.val(),
        );
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let top = self._octets.row_bits() - 1;
        let row = format!("read_select[LANE] ? read_row_1[{top}:0] : read_row_0[{top}:0]");
        Verilog::Custom(self._octets.text(W, A, &["read_row_0", "read_row_1"], &row))
    }
}

/// The first two octets of each of D dword lanes, H = 16·D; the other ports as in [`LaneRam`].
#[derive(Block)]
#[block(rows: usize)]
pub struct HeaderRam<const W: usize, const K: usize, const D: usize, const A: usize, const H: usize>
{
    /// Clock of both ports.
    pub clock: Signal<In, Clock>,
    /// Lanes to write.
    pub write_enable: Signal<In, Bits<K>>,
    /// Row of each lane: `write_row_0` where zero, `write_row_1` where one.
    pub write_select: Signal<In, Bits<K>>,
    /// Row of the lanes whose select bit is zero.
    pub write_row_0: Signal<In, Bits<A>>,
    /// Row of the lanes whose select bit is one.
    pub write_row_1: Signal<In, Bits<A>>,
    /// Octets to write, lane i in bits 8i+7 to 8i.
    pub write_data: Signal<In, Bits<W>>,
    /// Row to read.
    pub read_row: Signal<In, Bits<A>>,
    /// Octets 4i and 4i+1 of the row given two cycles ago, the first in bits 16i+7 to 16i, the second above it.
    pub read_data: Signal<Out, Bits<H>>,
    #[value(Octets::new(rows, (0..K).filter(|lane| lane % 4 < 2).collect(), A))]
    _octets: Octets,
    _register: Bits<H>,
}

impl<const W: usize, const K: usize, const D: usize, const A: usize, const H: usize>
    HeaderRam<W, K, D, A, H>
{
    /// A memory of `rows` rows; address bits above those that `rows` needs are ignored.
    ///
    /// # Panics
    /// When W, K, D and H do not fit together, or `rows` is not a power of two from 4 to 2^A.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        assert_eq!(
            (W, K, H),
            (32 * D, 4 * D, 16 * D),
            "four octet lanes a dword, of which two are kept"
        );
        Self::assemble(rows)
    }
}

impl<const W: usize, const K: usize, const D: usize, const A: usize, const H: usize> Logic
    for HeaderRam<W, K, D, A, H>
{
    fn update(&mut self) {
        if !self.clock.pos_edge() {
            return;
        }
        self.read_data.next = self._register;
        for kept in 0..2 * D {
            self._register
                .set_bits::<8>(8 * kept, self._octets.read(kept, self.read_row.val()));
        }
        self._octets.write(
            self.write_enable.val(),
            self.write_select.val(),
            [self.write_row_0.val(), self.write_row_1.val()],
            self.write_data.val(),
        );
    }

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let top = self._octets.row_bits() - 1;
        Verilog::Custom(
            self._octets
                .text(W, A, &["read_row"], &format!("read_row[{top}:0]")),
        )
    }
}

/// The lanes: which of the write port's lanes are stored, and their octets.
struct Octets {
    rows: usize,
    lanes: Vec<usize>,
    held: Vec<u8>,
}

impl Octets {
    fn new(rows: usize, lanes: Vec<usize>, address_bits: usize) -> Self {
        assert!(
            rows.is_power_of_two() && rows >= 4 && rows.ilog2() as usize <= address_bits,
            "{rows} rows: give a power of two that {address_bits} address bits reach"
        );
        let held = vec![0; rows * lanes.len()];
        Self { rows, lanes, held }
    }

    fn row_bits(&self) -> usize {
        self.rows.ilog2() as usize
    }

    fn place<const A: usize>(&self, kept: usize, row: Bits<A>) -> usize {
        row.index() % self.rows * self.lanes.len() + kept
    }

    fn read<const A: usize>(&self, kept: usize, row: Bits<A>) -> Bits<8> {
        u64::from(self.held[self.place(kept, row)]).into()
    }

    fn write<const W: usize, const K: usize, const A: usize>(
        &mut self,
        enable: Bits<K>,
        select: Bits<K>,
        rows: [Bits<A>; 2],
        data: Bits<W>,
    ) {
        for kept in 0..self.lanes.len() {
            let lane = self.lanes[kept];
            if enable.get_bit(lane) {
                let place = self.place(kept, rows[usize::from(select.get_bit(lane))]);
                self.held[place] = data.get_bits::<8>(8 * lane).to_u8();
            }
        }
    }

    /// The Verilog of both blocks; `read_row` is the row that lane `LANE` reads.
    fn text(
        &self,
        width: usize,
        address_bits: usize,
        read_ports: &[&str],
        read_row: &str,
    ) -> String {
        let (kept, row_bits) = (self.lanes.len(), self.row_bits());
        let (data_top, row_top, last) = (8 * kept - 1, row_bits - 1, self.rows - 1);
        // The kept lanes are all of four, or the first two of four.
        let lane = if 8 * kept == width {
            "kept"
        } else {
            "kept / 2 * 4 + kept % 2"
        };
        let mut ignored = vec!["1'b0".to_string()];
        if 8 * kept != width {
            ignored.extend(["write_enable", "write_select", "write_data"].map(String::from));
        }
        if row_bits < address_bits {
            let ports = ["write_row_0", "write_row_1"].iter().chain(read_ports);
            ignored.extend(ports.map(|port| format!("{port}[{}:{row_bits}]", address_bits - 1)));
        }
        let unused = match ignored.len() {
            1 => String::new(),
            _ => format!("wire unused = &{{{}}};\n", ignored.join(", ")),
        };
        format!(
            "\
reg [{data_top}:0] ram_register;
initial ram_register = 0;
initial read_data = 0;
always @(posedge clock) read_data <= ram_register;
genvar kept;
generate for (kept = 0; kept < {kept}; kept = kept + 1) begin : lane
    localparam LANE = {lane};
    (* no_rw_check *) reg [7:0] octets [0:{last}];
`ifndef SYNTHESIS
    integer row;
    initial for (row = 0; row <= {last}; row = row + 1) octets[row] = 8'h0;
`endif
    wire [{row_top}:0] lane_write_row = write_select[LANE] ? write_row_1[{row_top}:0] : write_row_0[{row_top}:0];
    wire [{row_top}:0] lane_read_row = {read_row};
    always @(posedge clock) begin
        ram_register[8 * kept +: 8] <= octets[lane_read_row];
        if (write_enable[LANE]) octets[lane_write_row] <= write_data[8 * LANE +: 8];
    end
end endgenerate
{unused}"
        )
    }
}

//! A small first-in first-out queue of records between two blocks.
//!
//! ```text
//!  s_data ──► store[write] ─ ─ store[read] ──► m_data
//!  s_ready ◄─ not full                 not empty ─► m_valid
//! ```
//!
//! 2^LOG records in distributed memory, LOG from 1 to 7. Latency: one cycle. Throughput: one record a cycle.
//! `s_ready` and `m_valid` are registers with the difference of the pointers in front of them. Behind them that
//! difference was part of most of the longest paths, and a separate count would have the late handshakes in front of
//! it.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// The queue.
#[derive(Block)]
#[block()]
pub struct Queue<T: Synth, const LOG: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Item to store.
    pub s_data: Signal<In, T>,
    /// It is valid.
    pub s_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_ready: Signal<Out, Bit>,
    /// The oldest item.
    pub m_data: Signal<Out, T>,
    /// There is one.
    pub m_valid: Signal<Out, Bit>,
    /// It is taken.
    pub m_ready: Signal<In, Bit>,
    store: Store<T, LOG>,
    write: Dff<Bits<LOG>>,
    read: Dff<Bits<LOG>>,
    full: Dff<Bit>,
    some: Dff<Bit>,
    /// Records inside, modulo 2^LOG; `full` and `some` distinguish all from none.
    filled: Signal<Local, Bits<LOG>>,
    put: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    nearly: Signal<Local, Bit>,
    single: Signal<Local, Bit>,
    #[constant(1)]
    one: Constant<Bits<LOG>>,
    #[constant((1 << LOG) - 1)]
    depth_less_one: Constant<Bits<LOG>>,
}

impl<T: Synth, const LOG: usize> Default for Queue<T, LOG> {
    fn default() -> Self {
        assert!((1..=7).contains(&LOG), "a queue holds 2 to 128 records");
        Self::assemble()
    }
}

impl<T: Synth, const LOG: usize> Logic for Queue<T, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        self.s_ready.next = !self.full.q.val();
        self.m_valid.next = self.some.q.val();
        self.put.next = self.s_valid.val() & !self.full.q.val();
        self.take.next = self.m_ready.val() & self.some.q.val();

        self.m_data.next = self.store.out.val();
        self.store.data.next = self.s_data.val();
        self.store.write_row.next = self.write.q.val();
        self.store.read_row.next = self.read.q.val();
        self.store.write.next = self.put.val();
        if self.put.val() {
            self.write.d.next = self.write.q.val() + 1;
        }
        if self.take.val() {
            self.read.d.next = self.read.q.val() + 1;
        }

        comment!("the handshakes arrive late: one multiplexer for each of them");
        self.filled.next = self.write.q.val() - self.read.q.val();
        self.nearly.next = self.filled.val() == self.depth_less_one.val();
        self.single.next = self.filled.val() == self.one.val();
        self.full.d.next =
            !self.take.val() & (self.full.q.val() | (self.nearly.val() & self.put.val()));
        self.some.d.next =
            self.put.val() | (self.some.q.val() & !(self.take.val() & self.single.val()));
        if self.reset.val() {
            self.write.d.next = 0.into();
            self.read.d.next = 0.into();
            self.full.d.next = false;
            self.some.d.next = false;
        }
    }
}

/// Distributed memory: one synchronous write port, one asynchronous read port. The attribute keeps tools from a block RAM, which
/// they would use with a register behind it, and whose output comes half a cycle later.
#[derive(Block)]
#[block(default)]
pub struct Store<T: Synth, const LOG: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Writes `data` into a row.
    pub write: Signal<In, Bit>,
    /// That row.
    pub write_row: Signal<In, Bits<LOG>>,
    /// The item to write.
    pub data: Signal<In, T>,
    /// Row to read.
    pub read_row: Signal<In, Bits<LOG>>,
    /// What the row holds, in the same cycle.
    pub out: Signal<Out, T>,
    #[value(vec![T::default(); 1 << LOG])]
    _rows: Vec<T>,
}

impl<T: Synth, const LOG: usize> Logic for Store<T, LOG> {
    fn update(&mut self) {
        if self.clock.pos_edge() && self.write.val() {
            self._rows[self.write_row.val().index()] = self.data.val();
        }
        self.out.next = self._rows[self.read_row.val().index()];
    }
    fn connect(&mut self) {
        self.out.connect();
    }
    fn hdl(&self) -> Verilog {
        let (high, last) = (T::BITS - 1, (1 << LOG) - 1);
        Verilog::Custom(format!(
            "(* ram_style = \"distributed\" *) reg [{high}:0] rows [0:{last}];\ninteger row;\ninitial for (row = 0; row <= {last}; row = row + 1) rows[row] = 0;\n\
             always @(posedge clock) if (write) rows[write_row] <= data;\nalways @* out = rows[read_row];"
        ))
    }
}

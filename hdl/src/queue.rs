//! A small first-in first-out queue of records between two blocks.
//!
//! ```text
//!  s_data ──► store[write] ─ ─ store[read] ──► m_data
//!  s_ready ◄─ not full                 not empty ─► m_valid
//! ```
//!
//! 2^LOG records in distributed memory. Latency one cycle, one record a cycle, `s_ready` and `m_valid` come from
//! registers alone. LOG is 1 to 7: the pointers have one bit more than the rows need, so that all rows can be filled.
use crate::dff::Dff;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::dff_setup;

/// The queue.
#[derive(LogicBlock)]
pub struct Queue<T: Synth, const LOG: usize> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub s_data: Signal<In, T>,
    pub s_valid: Signal<In, Bit>,
    pub s_ready: Signal<Out, Bit>,
    pub m_data: Signal<Out, T>,
    pub m_valid: Signal<Out, Bit>,
    pub m_ready: Signal<In, Bit>,
    store: Store<T, LOG>,
    write: Dff<Bits<8>>,
    read: Dff<Bits<8>>,
    filled: Signal<Local, Bits<8>>,
    depth: Constant<Bits<8>>,
}

impl<T: Synth, const LOG: usize> Default for Queue<T, LOG> {
    fn default() -> Self {
        assert!((1..=7).contains(&LOG), "a queue holds 2 to 128 records");
        Self {
            clock: Default::default(),
            reset: Default::default(),
            s_data: Default::default(),
            s_valid: Default::default(),
            s_ready: Default::default(),
            m_data: Default::default(),
            m_valid: Default::default(),
            m_ready: Default::default(),
            store: Default::default(),
            write: Default::default(),
            read: Default::default(),
            filled: Default::default(),
            depth: Constant::new((1_u64 << LOG).into()),
        }
    }
}

impl<T: Synth, const LOG: usize> Logic for Queue<T, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, write, read);
        self.filled.next = self.write.q.val() - self.read.q.val();
        self.s_ready.next = self.filled.val() != self.depth.val();
        self.m_valid.next = self.filled.val() != 0;
        self.m_data.next = self.store.out.val();
        self.store.clock.next = self.clock.val();
        self.store.data.next = self.s_data.val();
        self.store.write_row.next = self.write.q.val().get_bits::<LOG>(0);
        self.store.read_row.next = self.read.q.val().get_bits::<LOG>(0);
        self.store.write.next = self.s_valid.val() & (self.filled.val() != self.depth.val());
        if self.s_valid.val() & (self.filled.val() != self.depth.val()) {
            self.write.d.next = self.write.q.val() + 1;
        }
        if self.m_ready.val() & (self.filled.val() != 0) {
            self.read.d.next = self.read.q.val() + 1;
        }
        if self.reset.val() {
            self.write.d.next = 0.into();
            self.read.d.next = 0.into();
        }
    }
}

/// Distributed memory: one synchronous write port, one asynchronous read port.
#[derive(LogicBlock)]
pub struct Store<T: Synth, const LOG: usize> {
    pub clock: Signal<In, Clock>,
    pub write: Signal<In, Bit>,
    pub write_row: Signal<In, Bits<LOG>>,
    pub data: Signal<In, T>,
    pub read_row: Signal<In, Bits<LOG>>,
    pub out: Signal<Out, T>,
    _rows: Vec<T>,
}

impl<T: Synth, const LOG: usize> Default for Store<T, LOG> {
    fn default() -> Self {
        Self {
            clock: Default::default(),
            write: Default::default(),
            write_row: Default::default(),
            data: Default::default(),
            read_row: Default::default(),
            out: Default::default(),
            _rows: vec![T::default(); 1 << LOG],
        }
    }
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
            "reg [{high}:0] rows [0:{last}];\ninteger row;\ninitial for (row = 0; row <= {last}; row = row + 1) rows[row] = 0;\n\
             always @(posedge clock) if (write) rows[write_row] <= data;\nalways @* out = rows[read_row];"
        ))
    }
}

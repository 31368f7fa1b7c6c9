//! Window reports: how far each stream has been received, and how much more its peer may send.
//!
//! ```text
//!  edge, limit of S streams ─► one stream after the other ─► m_axis_window {limit, edge}, stream in tdest
//! ```
//!
//! One report in each cycle in which `tready` is high; each stream is reported every S reports, which bounds the age
//! of a report. Both numbers are TCP sequence numbers: `edge` is what may be acknowledged (the octet expected next),
//! `limit` the right edge of the window (MPA-RCV-26). A report that is not accepted yet stays stable, as AXI4-Stream
//! requires, even if its stream is armed for another connection meanwhile. So an engine that stalls reports ignores
//! an `edge` that does not lie between the last acknowledged octet and the last octet it has sent.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;
use warpline_sv_writer::dff::Dff;

/// AXI4-Stream of window reports, one beat each.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "WindowStreamIn"]
pub struct WindowStreamOut {
    /// Bits 31:0 edge, 63:32 limit.
    pub tdata: Signal<Out, Bits<64>>,
    /// Stream number.
    pub tdest: Signal<Out, Bits<8>>,
    /// The report is valid.
    pub tvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub tready: Signal<In, Bit>,
}

/// The other end of [`WindowStreamOut`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "WindowStreamOut"]
pub struct WindowStreamIn {
    /// Bits 31:0 edge, 63:32 limit.
    pub tdata: Signal<In, Bits<64>>,
    /// Stream number.
    pub tdest: Signal<In, Bits<8>>,
    /// The report is valid.
    pub tvalid: Signal<In, Bit>,
    /// It is accepted.
    pub tready: Signal<Out, Bit>,
}

/// Reports of S streams.
#[derive(Block)]
#[block(default)]
pub struct Window<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Sequence number of the octet expected next, of each stream.
    pub edge_sequence: [Signal<In, Bits<32>>; S],
    /// Sequence number behind the last octet that there is room for, of each stream.
    pub limit_sequence: [Signal<In, Bits<32>>; S],
    /// The reports.
    pub m_axis_window: WindowStreamOut,

    candidate: Dff<Bits<4>>,
    valid: Dff<Bit>,
    stream: Dff<Bits<8>>,
    data: Dff<Bits<64>>,
    step: Signal<Local, Bit>,
    edge_now: Signal<Local, Bits<32>>,
    limit_now: Signal<Local, Bits<32>>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(S - 1)]
    last: Constant<Bits<4>>,
}

impl<const S: usize> Logic for Window<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.m_axis_window.tdata.next = self.data.q.val();
        self.m_axis_window.tdest.next = self.stream.q.val();
        self.m_axis_window.tvalid.next = self.valid.q.val();
        self.step.next = !self.valid.q.val() | self.m_axis_window.tready.val();
        self.edge_now.next = 0.into();
        self.limit_now.next = 0.into();
        for i in 0..S {
            if self.candidate.q.val() == self.index[i].val() {
                self.edge_now.next = self.edge_sequence[i].val();
                self.limit_now.next = self.limit_sequence[i].val();
            }
        }
        if self.step.val() {
            self.valid.d.next = true;
            self.stream.d.next = bit_cast::<8, 4>(self.candidate.q.val());
            self.candidate.d.next = self.candidate.q.val() + 1;
            if self.candidate.q.val() == self.last.val() {
                self.candidate.d.next = 0.into();
            }
            self.data.d.next = bit_cast::<64, 32>(self.edge_now.val())
                | (bit_cast::<64, 32>(self.limit_now.val()) << 32);
        }
        if self.reset.val() {
            self.valid.d.next = false;
            self.candidate.d.next = 0.into();
        }
    }
}

//! Master: accesses to `registers`, one at a time, of the host, of the control side and of the commands in turn.
//!
//! ```text
//!  host ────┐
//!  control ─┼─► round robin ─► AW and W, or AR ─► B or R ─► done of the one that was granted
//!  runner ──┘
//! ```
//!
//! A request is held up by each of the others at most once.
//!
//! Latency: AWVALID and WVALID, or ARVALID, follow the request by a cycle, `done` is the cycle of the response's VALID.
//! Throughput: the next request is granted in the cycle behind `done`: with `registers` behind it a write takes 5
//! cycles, a read 6.
use crate::parts::axi::{AxiLiteMaster, PROT_DATA};
use crate::parts::round_robin::RoundRobin;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Who requests: the host, the control side, `runner`.
pub const REQUESTERS: usize = 3;

/// An access to `registers`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Request {
    /// A write.
    pub write: Bit,
    /// Octet offset / 4.
    pub row: Bits<10>,
    /// Word to write.
    pub data: Bits<32>,
    /// Octets of it to write.
    pub strobe: Bits<4>,
}

/// The master.
#[derive(Block)]
#[block(default)]
pub struct Master {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// An access of each requester.
    pub request: [Signal<In, Request>; REQUESTERS],
    /// It is valid, until `done`.
    pub request_valid: [Signal<In, Bit>; REQUESTERS],
    /// Pulse: it is done.
    pub done: [Signal<Out, Bit>; REQUESTERS],
    /// With `done`: the word read.
    pub data: Signal<Out, Bits<32>>,
    /// With `done`: the response.
    pub response: Signal<Out, Bits<2>>,
    /// `registers`.
    pub m_axil: AxiLiteMaster,

    round_robin: RoundRobin<REQUESTERS>,
    granted: Dff<Bits<4>>,
    writing: Dff<Bit>,
    reading: Dff<Bit>,
    aw_valid: Dff<Bit>,
    w_valid: Dff<Bit>,
    ar_valid: Dff<Bit>,
    row: Dff<Bits<10>>,
    word: Dff<Bits<32>>,
    strobe: Dff<Bits<4>>,
    grants: Signal<Local, Bit>,
    chosen: Signal<Local, Request>,
    answered: Signal<Local, Bit>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; REQUESTERS],
    #[constant(PROT_DATA)]
    prot: Constant<Bits<3>>,
}

impl Logic for Master {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("one request, when nothing is under way");
        for i in 0..REQUESTERS {
            self.round_robin.asks[i].next = self.request_valid[i].val();
        }
        self.round_robin.last.next = self.granted.q.val();
        self.grants.next =
            self.round_robin.any.val() & !self.writing.q.val() & !self.reading.q.val();
        self.chosen.next = self.request[0].val();
        for i in 1..REQUESTERS {
            if self.round_robin.choice.val().get_bits::<4>(0) == self.index[i].val() {
                self.chosen.next = self.request[i].val();
            }
        }

        comment!("AW and W, or AR");
        if self.m_axil.awready.val() {
            self.aw_valid.d.next = false;
        }
        if self.m_axil.wready.val() {
            self.w_valid.d.next = false;
        }
        if self.m_axil.arready.val() {
            self.ar_valid.d.next = false;
        }
        if self.grants.val() {
            self.granted.d.next = self.round_robin.choice.val().get_bits::<4>(0);
            self.row.d.next = self.chosen.val().row;
            self.word.d.next = self.chosen.val().data;
            self.strobe.d.next = self.chosen.val().strobe;
            self.writing.d.next = self.chosen.val().write;
            self.aw_valid.d.next = self.chosen.val().write;
            self.w_valid.d.next = self.chosen.val().write;
            self.reading.d.next = !self.chosen.val().write;
            self.ar_valid.d.next = !self.chosen.val().write;
        }
        self.m_axil.awaddr.next = bit_cast::<12, 10>(self.row.q.val()) << 2;
        self.m_axil.awprot.next = self.prot.val();
        self.m_axil.awvalid.next = self.aw_valid.q.val();
        self.m_axil.wdata.next = self.word.q.val();
        self.m_axil.wstrb.next = self.strobe.q.val();
        self.m_axil.wvalid.next = self.w_valid.q.val();
        self.m_axil.bready.next = self.writing.q.val();
        self.m_axil.araddr.next = bit_cast::<12, 10>(self.row.q.val()) << 2;
        self.m_axil.arprot.next = self.prot.val();
        self.m_axil.arvalid.next = self.ar_valid.q.val();
        self.m_axil.rready.next = self.reading.q.val();

        comment!("B or R");
        self.answered.next = (self.writing.q.val() & self.m_axil.bvalid.val())
            | (self.reading.q.val() & self.m_axil.rvalid.val());
        if self.answered.val() {
            self.writing.d.next = false;
            self.reading.d.next = false;
        }
        for i in 0..REQUESTERS {
            self.done[i].next = self.answered.val() & (self.granted.q.val() == self.index[i].val());
        }
        self.data.next = self.m_axil.rdata.val();
        self.response.next = self.m_axil.bresp.val();
        if self.reading.q.val() {
            self.response.next = self.m_axil.rresp.val();
        }

        if self.reset.val() {
            self.granted.d.next = 0.into();
            self.writing.d.next = false;
            self.reading.d.next = false;
            self.aw_valid.d.next = false;
            self.w_valid.d.next = false;
            self.ar_valid.d.next = false;
        }
    }
}

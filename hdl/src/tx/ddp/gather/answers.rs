//! Answers: makes of the beats on R as many beats as were asked for, and says which of them are no good.
//!
//! ```text
//!  beats of each burst ─► queue ─► left in this burst ─┐ as many? ─► refused ───┐
//!  R ──────────────────────────────────────────────────┴► skip, fill ─► octets ─┴─► queue ─► source_planner
//! ```
//!
//! A beat is *refused* when the bus answers with an error (RRESP bit 1), and when RLAST does not come with the burst's last
//! beat. A burst ends with RLAST, whatever its length: what lacks behind an early one is filled up with refused beats, and
//! what comes in front of a late one is skipped. So the beats of the next burst are always its own. A bus that never gives
//! RLAST stalls.
//!
//! Throughput: one beat a cycle; a beat that is filled up or skipped takes one, too. Latency: [`LATENCY`] cycle. RREADY
//! comes from registers.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::queue::Queue;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Cycles from a beat on R to the same beat behind the queue.
pub const LATENCY: usize = 1;

/// Bursts in the queue.
pub const BURSTS: usize = 1 << 4;

/// Beats of W bits.
#[derive(Block)]
#[block(default)]
pub struct Answers<const W: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Beats of a burst less one, not later than its address.
    pub burst: Signal<In, Bits<8>>,
    /// They are valid.
    pub burst_valid: Signal<In, Bit>,
    /// They are accepted.
    pub burst_ready: Signal<Out, Bit>,
    /// RDATA.
    pub data: Signal<In, Bits<W>>,
    /// RRESP.
    pub response: Signal<In, Bits<2>>,
    /// RLAST.
    pub last: Signal<In, Bit>,
    /// RVALID.
    pub valid: Signal<In, Bit>,
    /// RREADY.
    pub ready: Signal<Out, Bit>,
    /// A beat.
    pub m_data: Signal<Out, Bits<W>>,
    /// It is refused.
    pub m_refused: Signal<Out, Bit>,
    /// There is one.
    pub m_valid: Signal<Out, Bit>,
    /// It is taken.
    pub m_ready: Signal<In, Bit>,

    bursts: Queue<Bits<8>, 4>,
    octets: Queue<Bits<W>, 1>,
    refused: Queue<Bit, 1>,
    // now: the burst that is answered, and the beats that it lacks less one
    active: Dff<Bit>,
    left: Dff<Bits<8>>,
    at_last: Dff<Bit>,
    /// RLAST was early.
    filling: Dff<Bit>,
    /// It is late.
    skipping: Dff<Bit>,

    accept: Signal<Local, Bit>,
    push: Signal<Local, Bit>,
    over: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
}

impl<const W: usize> Logic for Answers<W> {
    #[hdl_gen]
    fn update(&mut self) {
        self.bursts.reset.next = self.reset.val();
        self.octets.reset.next = self.reset.val();
        self.refused.reset.next = self.reset.val();
        self.bursts.s_data.next = self.burst.val();
        self.bursts.s_valid.next = self.burst_valid.val();
        self.burst_ready.next = self.bursts.s_ready.val();

        self.ready.next = self.active.q.val() & !self.filling.q.val() & self.octets.s_ready.val();
        self.accept.next = self.valid.val()
            & self.active.q.val()
            & !self.filling.q.val()
            & self.octets.s_ready.val();
        self.push.next = (self.accept.val() & !self.skipping.q.val())
            | (self.filling.q.val() & self.octets.s_ready.val());
        self.octets.s_data.next = self.data.val();
        self.octets.s_valid.next = self.push.val();
        self.refused.s_data.next = self.filling.q.val()
            | self.response.val().get_bit(1)
            | (self.last.val() ^ self.at_last.q.val());
        self.refused.s_valid.next = self.push.val();
        self.m_data.next = self.octets.m_data.val();
        self.m_refused.next = self.refused.m_data.val();
        self.m_valid.next = self.octets.m_valid.val();
        self.octets.m_ready.next = self.m_ready.val();
        self.refused.m_ready.next = self.m_ready.val();

        comment!("RLAST against the beats that were asked for");
        self.over.next =
            self.accept.val() & self.last.val() & (self.at_last.q.val() | self.skipping.q.val());
        if self.push.val() {
            self.left.d.next = self.left.q.val() - 1;
            self.at_last.d.next = self.left.q.val() == 1;
        }
        if self.filling.q.val() {
            self.over.next = self.push.val() & self.at_last.q.val();
            self.filling.d.next = !self.over.val();
        } else if self.skipping.q.val() {
            self.skipping.d.next = !self.over.val();
        } else {
            self.filling.d.next = self.accept.val() & self.last.val() & !self.at_last.q.val();
            self.skipping.d.next = self.accept.val() & !self.last.val() & self.at_last.q.val();
        }

        comment!("the next burst");
        self.free.next = !self.active.q.val() | self.over.val();
        self.bursts.m_ready.next = self.free.val();
        if self.free.val() {
            self.active.d.next = self.bursts.m_valid.val();
            self.left.d.next = self.bursts.m_data.val();
            self.at_last.d.next = !self.bursts.m_data.val().any();
        }
        if self.reset.val() {
            self.active.d.next = false;
            self.filling.d.next = false;
            self.skipping.d.next = false;
        }
    }
}

//! The device's reset: samples `aresetn`, and lasts long enough for every delay line.
//!
//! ```text
//!  aresetn ─► count of cycles behind it ─► resetting ─┬─► port_reset
//!                                                     └─►[register]─► reset
//! ```
//!
//! `port_reset` is high from the first cycle with `aresetn` low on, [`RESET_CYCLES`] longer than it; the registers that drive a VALID of a port
//! use it, so that none is high from the first rising edge with `aresetn` low on (IHI 0022E §A3.1.2). `reset` follows a cycle later, and
//! both end in the same cycle.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Cycles of internal reset behind the last cycle of `aresetn` low: longer than any delay line.
pub const RESET_CYCLES: u64 = 31;

/// The reset.
#[derive(Block)]
#[block(default)]
pub struct DeviceReset {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Reset of the device, active low.
    pub aresetn: Signal<In, Bit>,
    /// Synchronous reset of all blocks.
    pub reset: Signal<Out, Bit>,
    /// The same, a cycle earlier at its beginning.
    pub port_reset: Signal<Out, Bit>,

    count: Dff<Bits<5>>,
    /// `count` has its last value, as a register of its own: `port_reset` goes far.
    counted: Dff<Bit>,
    held: Dff<Bit>,
    resetting: Signal<Local, Bit>,
    #[constant(RESET_CYCLES - 1)]
    last_but_one: Constant<Bits<5>>,
}

impl Logic for DeviceReset {
    #[hdl_gen]
    fn update(&mut self) {
        if !self.counted.q.val() {
            self.count.d.next = self.count.q.val() + 1;
            self.counted.d.next = self.count.q.val() == self.last_but_one.val();
        }
        if !self.aresetn.val() {
            self.count.d.next = 0.into();
            self.counted.d.next = false;
        }
        self.resetting.next = !self.aresetn.val() | !self.counted.q.val();
        self.held.d.next = self.resetting.val();
        comment!(
            "a combinational path from `aresetn`, on purpose: an offer ends in its first cycle"
        );
        self.port_reset.next = self.resetting.val() | self.held.q.val();
        self.reset.next = self.held.q.val();
    }
}

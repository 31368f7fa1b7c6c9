//! Measure: where the FPDUs of each stream begin.
//!
//! ```text
//!  stream ─► positions ─┬─► position ─────────────────► +  ─► positions
//!                       └─► FPDU length ─► dwords ──────┘
//!  room_stream ─► the same positions ─► room_position
//! ```
//!
//! `position` is the one of `stream`, and final while `idle`. A `start` measures the FPDU that begins there, and moves
//! the position behind it. A second copy of the positions serves the check for room: it lags by the FPDUs that are not measured yet.
//!
//! While idle, `size` measures the FPDU of a length at position 0, with [`fpdu_length::LATENCY`]; only `dwords` follow.
//!
//! Latency and throughput: [`CYCLES`] cycles for an FPDU; `position` is the next one in the first cycle of `idle`.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::queue::Store;
use crate::tx::ddp::segment::fpdu_length::{self, FpduLength};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Cycles from one `start` to the next.
pub const CYCLES: usize = fpdu_length::LATENCY + 2;

/// Positions, and the length of one FPDU.
#[derive(Block)]
#[block()]
pub struct Measure {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Pulse, while `idle`: an FPDU of `stream`; the following three belong to it.
    pub start: Signal<In, Bit>,
    /// Its ULPDU_Length.
    pub ulpdu: Signal<In, Bits<16>>,
    /// The stream carries markers.
    pub markers: Signal<In, Bit>,
    /// It is sent; otherwise the position stays.
    pub sends: Signal<In, Bit>,
    /// Stream number.
    pub stream: Signal<In, Bits<4>>,
    /// Position of that stream, in dwords.
    pub position: Signal<Out, Bits<30>>,
    /// Nothing is measured.
    pub idle: Signal<Out, Bit>,
    /// Stream whose room is checked.
    pub room_stream: Signal<In, Bits<4>>,
    /// Its position, in dwords.
    pub room_position: Signal<Out, Bits<30>>,
    /// While `idle`: the position of `clear_stream` is 0.
    pub clear: Signal<In, Bit>,
    /// Stream number.
    pub clear_stream: Signal<In, Bits<4>>,
    /// While `idle`: an FPDU of this length is measured.
    pub size: Signal<In, Bit>,
    /// ULPDU_Length.
    pub size_length: Signal<In, Bits<16>>,
    /// With markers.
    pub size_markers: Signal<In, Bit>,
    /// Dwords of the FPDU.
    pub dwords: Signal<Out, Bits<15>>,

    positions: Store<Bits<30>, 4>,
    room_positions: Store<Bits<30>, 4>,
    fpdu_length: FpduLength,
    active: Dff<Bit>,
    age: Dff<Bits<3>>,
    stream_now: Dff<Bits<4>>,
    position_now: Dff<Bits<30>>,
    ulpdu_now: Dff<Bits<16>>,
    markers_now: Dff<Bit>,
    sends_now: Dff<Bit>,
    write: Signal<Local, Bit>,
    write_row: Signal<Local, Bits<4>>,
    behind: Signal<Local, Bits<30>>,
    #[constant(fpdu_length::LATENCY)]
    measured: Constant<Bits<3>>,
}

impl Default for Measure {
    fn default() -> Self {
        Self::assemble()
    }
}

impl Logic for Measure {
    #[hdl_gen]
    fn update(&mut self) {
        self.positions.read_row.next = self.stream.val();
        self.room_positions.read_row.next = self.room_stream.val();
        self.position.next = self.positions.out.val();
        self.room_position.next = self.room_positions.out.val();
        self.idle.next = !self.active.q.val();

        self.fpdu_length.position.next = bit_cast::<32, 30>(self.position_now.q.val()) << 2;
        self.fpdu_length.length.next = self.ulpdu_now.q.val();
        self.fpdu_length.markers.next = self.markers_now.q.val();
        if self.size.val() {
            self.fpdu_length.position.next = 0.into();
            self.fpdu_length.length.next = self.size_length.val();
            self.fpdu_length.markers.next = self.size_markers.val();
        }
        self.dwords.next = self.fpdu_length.dwords.val();

        comment!("one FPDU after the other");
        self.write.next = self.clear.val();
        self.write_row.next = self.clear_stream.val();
        self.behind.next = 0.into();
        self.age.d.next = self.age.q.val() + 1;
        if self.active.q.val() {
            self.write_row.next = self.stream_now.q.val();
            self.behind.next =
                self.position_now.q.val() + bit_cast::<30, 15>(self.fpdu_length.dwords.val());
            if self.age.q.val() == self.measured.val() {
                self.write.next = self.sends_now.q.val();
                self.active.d.next = false;
            }
        }
        if self.start.val() {
            self.active.d.next = true;
            self.age.d.next = 0.into();
            self.stream_now.d.next = self.stream.val();
            self.position_now.d.next = self.positions.out.val();
            self.ulpdu_now.d.next = self.ulpdu.val();
            self.markers_now.d.next = self.markers.val();
            self.sends_now.d.next = self.sends.val();
        }
        self.positions.write.next = self.write.val();
        self.positions.write_row.next = self.write_row.val();
        self.positions.data.next = self.behind.val();
        self.room_positions.write.next = self.write.val();
        self.room_positions.write_row.next = self.write_row.val();
        self.room_positions.data.next = self.behind.val();
        if self.reset.val() {
            self.active.d.next = false;
        }
    }
}

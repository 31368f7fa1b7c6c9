//! A copy of the STag table, with a read port of its own for the transmit side.
//!
//! ```text
//!  changes of the table ─► copy ─► entry, or none ─► local_access
//!                stag ─────►┘            ▲
//!                └─► slot that changes? ─┘
//! ```
//!
//! A memory with two read ports is two memories with the same content, so the copy takes each change in the cycle in which the
//! table does. A block RAM does not say what a read in the cycle of a write of its row returns, and the transmit side looks up
//! while commands change the table. Such a lookup finds no entry: the request fails, as one a little earlier or later would, and
//! nothing is read through a mixture of two entries.
//!
//! `entry` follows `stag` by [`stag_table::LATENCY`] cycles. Throughput: one lookup a cycle, changes at any time.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::record_ram::RecordRam;
use crate::tables::stag_table::{self, StagEntry};
use rust_hdl_core::prelude::*;
use warpline_regmap::register::STAG_KEY_BITS;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

const _: () = assert!(stag_table::LATENCY == 2, "registers of `collides`");

/// The copy.
#[derive(Block)]
#[block(slots: usize)]
pub struct StagCopy {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A slot of the table changes in this cycle.
    pub change: Signal<In, Bit>,
    /// That slot; bits above the table's size are ignored.
    pub change_slot: Signal<In, Bits<12>>,
    /// Its new content.
    pub change_entry: Signal<In, StagEntry>,
    /// STag to look up.
    pub stag: Signal<In, Bits<32>>,
    /// Content of its slot, [`stag_table::LATENCY`] cycles later.
    pub entry: Signal<Out, StagEntry>,

    #[value(RecordRam::new(slots))]
    slots: RecordRam<StagEntry, 12>,
    collides_1: Dff<Bit>,
    collides_2: Dff<Bit>,
    slot: Signal<Local, Bits<12>>,
    #[constant(slots - 1)]
    slot_mask: Constant<Bits<12>>,
    #[constant(STAG_KEY_BITS)]
    slot_at: Constant<Bits<8>>,
}

impl StagCopy {
    /// A copy of a table of `slots` slots.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        Self::assemble(slots)
    }
}

impl Logic for StagCopy {
    #[hdl_gen]
    fn update(&mut self) {
        self.slot.next = self.stag.val().get_bits::<12>(self.slot_at.val().index());
        self.slots.read_row.next = self.slot.val();
        self.slots.write.next = self.change.val();
        self.slots.write_row.next = self.change_slot.val();
        self.slots.write_data.next = self.change_entry.val();
        comment!("the row that is read is written in the same cycle");
        self.collides_1.d.next = self.change.val()
            & !((self.slot.val() ^ self.change_slot.val()) & self.slot_mask.val()).any();
        self.collides_2.d.next = self.collides_1.q.val();
        self.entry.next = self.slots.read_data.val();
        self.entry.next.valid = self.slots.read_data.val().valid & !self.collides_2.q.val();
    }
}

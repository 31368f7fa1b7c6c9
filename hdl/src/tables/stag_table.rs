//! The STag table: the region that an STag names, and who may write to it (RFC 5041 §8.2, §8.3.1).
//!
//! ```text
//!  argument ──► end = base + length ────┐
//!               shift = address - base ─┴─► entry ─► [write of a slot] ────────┐
//!  stag ─► slot = STag bits 8 and up ──────────────────────────────────────────┴─► table ─► entry
//! ```
//!
//! An entry has the form that the checks use: the region's end instead of its length, and the difference of bus
//! address and Tagged Offset instead of the address. `entry` follows `stag` by [`LATENCY`] cycles. `argument` must be
//! stable for [`PREPARATION`] cycles before `write` and one behind it, since the write of a slot is registered: a
//! lookup in that cycle may still return the old entry. After a reset the caller clears every slot.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::record_ram::{self, RecordRam};
use rust_hdl_core::prelude::*;
use warpline_regmap::layout::stag_entry;
use warpline_regmap::register::STAG_KEY_BITS;
use warpline_regmap::transmit::REMOTE_READ;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Cycles from `stag` to `entry`.
pub const LATENCY: u64 = record_ram::LATENCY;
/// Cycles from `argument` to `legal` and to the entry that is written.
pub const PREPARATION: u64 = 3;

/// An entry of the table.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct StagEntry {
    /// The slot is in use.
    pub valid: Bit,
    /// The whole STag.
    pub stag: Bits<32>,
    /// Protection domain that may use it.
    pub protection_domain: Bits<16>,
    /// Stream that may use it when `stream_scope` is set.
    pub stream: Bits<8>,
    /// The STag belongs to one stream.
    pub stream_scope: Bit,
    /// Remote write right.
    pub remote_write: Bit,
    /// The region has no octets.
    pub empty: Bit,
    /// Tagged Offset of the first octet.
    pub base: Bits<64>,
    /// Tagged Offset behind the last octet, at most 2^64.
    pub limit: Bits<65>,
    /// Bus address less Tagged Offset, modulo 2^64.
    pub shift: Bits<64>,
    /// Remote read right.
    pub remote_read: Bit,
}

/// The table and its arithmetic.
#[derive(Block)]
#[block(slots: usize)]
pub struct StagTable {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// STag to look up.
    pub stag: Signal<In, Bits<32>>,
    /// Content of its slot, [`LATENCY`] cycles later.
    pub entry: Signal<Out, StagEntry>,
    /// Words of `regmap::layout::stag_entry`.
    pub argument: [Signal<In, Bits<32>>; 8],
    /// The region ends at 2^64 or before.
    pub legal: Signal<Out, Bit>,
    /// Write `argument` to its slot.
    pub write: Signal<In, Bit>,
    /// Clear slot `clear_slot`.
    pub clear: Signal<In, Bit>,
    /// Slot to clear; bits above the table's size are ignored.
    pub clear_slot: Signal<In, Bits<12>>,
    /// A slot changes in this cycle: for copies with read ports of their own.
    pub change: Signal<Out, Bit>,
    /// That slot.
    pub change_slot: Signal<Out, Bits<12>>,
    /// Its new content.
    pub change_entry: Signal<Out, StagEntry>,

    #[value(RecordRam::new(slots))]
    slots: RecordRam<StagEntry, 12>,
    end_low: Dff<Bits<33>>,
    end_high: Dff<Bits<33>>,
    end_carried: Dff<Bits<33>>,
    shift_low: Dff<Bits<33>>,
    shift_high: Dff<Bits<32>>,
    shift_borrowed: Dff<Bits<32>>,
    empty: Dff<Bit>,
    exceeds: Dff<Bit>,
    writing: Dff<Bit>,
    clearing: Dff<Bit>,
    row: Dff<Bits<12>>,
    #[constant(StagEntry::default())]
    nothing: Constant<StagEntry>,
    #[constant(STAG_KEY_BITS)]
    slot_at: Constant<Bits<8>>,
    #[constant(stag_entry::PROTECTION_DOMAIN.in_word(1))]
    domain_at: Constant<Bits<8>>,
    #[constant(stag_entry::STREAM.in_word(1))]
    stream_at: Constant<Bits<8>>,
    #[constant(stag_entry::STREAM_SCOPE.in_word(1))]
    scope_at: Constant<Bits<8>>,
    #[constant(stag_entry::REMOTE_WRITE.in_word(1))]
    write_at: Constant<Bits<8>>,
    #[constant(REMOTE_READ.in_word(1))]
    read_at: Constant<Bits<8>>,
}

impl StagTable {
    /// A table of `slots` slots.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        let first_bits = [
            stag_entry::STAG,
            stag_entry::BASE,
            stag_entry::LENGTH,
            stag_entry::ADDRESS,
        ]
        .map(|field| field.lsb);
        assert_eq!(
            first_bits,
            [0, 32 * 2, 32 * 4, 32 * 6],
            "words as the kernel reads them"
        );
        Self::assemble(slots)
    }
}

impl Logic for StagTable {
    #[hdl_gen]
    fn update(&mut self) {
        self.slots.read_row.next = self.stag.val().get_bits::<12>(self.slot_at.val().index());
        self.entry.next = self.slots.read_data.val();

        comment!("words 2 and 3: BASE, 4 and 5: LENGTH, 6 and 7: ADDRESS");
        self.end_low.d.next =
            bit_cast::<33, 32>(self.argument[2].val()) + bit_cast::<33, 32>(self.argument[4].val());
        self.end_high.d.next =
            bit_cast::<33, 32>(self.argument[3].val()) + bit_cast::<33, 32>(self.argument[5].val());
        self.end_carried.d.next = self.end_high.q.val() + self.end_low.q.val().get_bit(32);
        self.shift_low.d.next =
            bit_cast::<33, 32>(self.argument[6].val()) - bit_cast::<33, 32>(self.argument[2].val());
        self.shift_high.d.next = self.argument[7].val() - self.argument[3].val();
        self.shift_borrowed.d.next =
            self.shift_high.q.val() - bit_cast::<32, 1>(self.shift_low.q.val().get_bits::<1>(32));
        self.empty.d.next = !(self.argument[4].val().any() | self.argument[5].val().any());
        self.exceeds.d.next = self.end_carried.q.val().get_bit(32)
            & (self.end_carried.q.val().get_bits::<32>(0).any()
                | self.end_low.q.val().get_bits::<32>(0).any());
        self.legal.next = !self.exceeds.q.val();

        comment!(
            "word 0: STAG; word 1: PROTECTION_DOMAIN, STREAM, STREAM_SCOPE, REMOTE_WRITE, REMOTE_READ"
        );
        self.writing.d.next = self.write.val();
        self.clearing.d.next = self.clear.val();
        self.row.d.next = self.argument[0]
            .val()
            .get_bits::<12>(self.slot_at.val().index());
        if self.clear.val() {
            self.row.d.next = self.clear_slot.val();
        }
        self.slots.write.next = self.writing.q.val() | self.clearing.q.val();
        self.slots.write_row.next = self.row.q.val();
        self.slots.write_data.next.valid = true;
        self.slots.write_data.next.stag = self.argument[0].val();
        self.slots.write_data.next.protection_domain = self.argument[1]
            .val()
            .get_bits::<16>(self.domain_at.val().index());
        self.slots.write_data.next.stream = self.argument[1]
            .val()
            .get_bits::<8>(self.stream_at.val().index());
        self.slots.write_data.next.stream_scope =
            self.argument[1].val().get_bit(self.scope_at.val().index());
        self.slots.write_data.next.remote_write =
            self.argument[1].val().get_bit(self.write_at.val().index());
        self.slots.write_data.next.remote_read =
            self.argument[1].val().get_bit(self.read_at.val().index());
        self.slots.write_data.next.empty = self.empty.q.val();
        self.slots.write_data.next.base = bit_cast::<64, 32>(self.argument[2].val())
            | (bit_cast::<64, 32>(self.argument[3].val()) << 32);
        self.slots.write_data.next.limit =
            bit_cast::<65, 32>(self.end_low.q.val().get_bits::<32>(0))
                | (bit_cast::<65, 33>(self.end_carried.q.val()) << 32);
        self.slots.write_data.next.shift =
            bit_cast::<64, 32>(self.shift_low.q.val().get_bits::<32>(0))
                | (bit_cast::<64, 32>(self.shift_borrowed.q.val()) << 32);
        if self.clearing.q.val() {
            self.slots.write_data.next = self.nothing.val();
        }
        self.change.next = self.slots.write.val();
        self.change_slot.next = self.slots.write_row.val();
        self.change_entry.next = self.slots.write_data.val();
    }
}

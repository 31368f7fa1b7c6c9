//! The STag table: which region an STag names, and who may write to it (RFC 5041 §8.2, §8.3.1).
//!
//! ```text
//!  arguments ─► end = base + length ────┐
//!               shift = address - base ─┴─► entry ─► write ─┐
//!  stag ─► slot = STag bits 8 and up ───────────────────────┴─► table ─► entry
//! ```
//!
//! An entry is kept as the checks want it: with the region's end instead of its length, and with the distance from
//! Tagged Offset to bus address instead of the address. `entry` follows `stag` by [`LATENCY`] cycles. `arguments` are
//! held for [`PREPARATION`] cycles before `write`. After a reset the caller clears every slot.
use super::table::{self, Table};
use crate::dff::Dff;
use crate::util::d;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::dff_setup;

/// Cycles from `stag` to `entry`.
pub const LATENCY: u64 = table::LATENCY;
/// Cycles from `arguments` to `legal` and to the entry that is written.
pub const PREPARATION: u64 = 3;

/// An entry of the table.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct StagEntry {
    /// The slot is taken.
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
    pub end: Bits<65>,
    /// Bus address less Tagged Offset, modulo 2^64.
    pub shift: Bits<64>,
}

/// The table and its arithmetic.
#[derive(LogicBlock)]
pub struct StagTable {
    pub clock: Signal<In, Clock>,
    /// STag to look up.
    pub stag: Signal<In, Bits<32>>,
    /// What its slot holds, [`LATENCY`] cycles later.
    pub entry: Signal<Out, StagEntry>,
    /// `regmap::layout::stag_entry`, word 0 in the low bits.
    pub arguments: Signal<In, Bits<256>>,
    /// The region ends at 2^64 or before.
    pub legal: Signal<Out, Bit>,
    /// Write `arguments` to their slot.
    pub write: Signal<In, Bit>,
    /// Clear slot `clear_slot`.
    pub clear: Signal<In, Bit>,
    /// Slot to clear; bits above the table's size are ignored.
    pub clear_slot: Signal<In, Bits<12>>,

    slots: Table<StagEntry, 12>,
    base: Signal<Local, Bits<64>>,
    length: Signal<Local, Bits<64>>,
    bus: Signal<Local, Bits<64>>,
    end_low: Dff<Bits<33>>,
    end_high: Dff<Bits<33>>,
    end_carried: Dff<Bits<33>>,
    shift_low: Dff<Bits<33>>,
    shift_high: Dff<Bits<32>>,
    shift_borrowed: Dff<Bits<32>>,
    empty: Dff<Bit>,
    exceeds: Dff<Bit>,
    nothing: Constant<StagEntry>,
}

impl StagTable {
    /// A table of `slots` slots.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        Self {
            clock: d(),
            stag: d(),
            entry: d(),
            arguments: d(),
            legal: d(),
            write: d(),
            clear: d(),
            clear_slot: d(),
            slots: Table::new(slots),
            base: d(),
            length: d(),
            bus: d(),
            end_low: d(),
            end_high: d(),
            end_carried: d(),
            shift_low: d(),
            shift_high: d(),
            shift_borrowed: d(),
            empty: d(),
            exceeds: d(),
            nothing: Constant::new(StagEntry::default()),
        }
    }
}

impl Logic for StagTable {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, end_low, end_high, end_carried, shift_low, shift_high, shift_borrowed, empty, exceeds);
        clock!(self, clock, slots);
        self.slots.read_row.next = self.stag.val().get_bits::<12>(8);
        self.entry.next = self.slots.read_data.val();

        comment!("words 2 and 3: BASE, 4 and 5: LENGTH, 6 and 7: ADDRESS");
        self.base.next = self.arguments.val().get_bits::<64>(64);
        self.length.next = self.arguments.val().get_bits::<64>(128);
        self.bus.next = self.arguments.val().get_bits::<64>(192);
        self.end_low.d.next = bit_cast::<33, 32>(self.base.val().get_bits::<32>(0))
            + bit_cast::<33, 32>(self.length.val().get_bits::<32>(0));
        self.end_high.d.next = bit_cast::<33, 32>(self.base.val().get_bits::<32>(32))
            + bit_cast::<33, 32>(self.length.val().get_bits::<32>(32));
        self.end_carried.d.next = self.end_high.q.val() + self.end_low.q.val().get_bit(32);
        self.shift_low.d.next = bit_cast::<33, 32>(self.bus.val().get_bits::<32>(0))
            - bit_cast::<33, 32>(self.base.val().get_bits::<32>(0));
        self.shift_high.d.next = self.bus.val().get_bits::<32>(32) - self.base.val().get_bits::<32>(32);
        self.shift_borrowed.d.next =
            self.shift_high.q.val() - bit_cast::<32, 1>(self.shift_low.q.val().get_bits::<1>(32));
        self.empty.d.next = !self.length.val().any();
        self.exceeds.d.next = self.end_carried.q.val().get_bit(32)
            & (self.end_carried.q.val().get_bits::<32>(0).any() | self.end_low.q.val().get_bits::<32>(0).any());
        self.legal.next = !self.exceeds.q.val();

        comment!("words 0 and 1: STAG, PROTECTION_DOMAIN, STREAM, STREAM_SCOPE, REMOTE_WRITE");
        self.slots.write.next = self.write.val() | self.clear.val();
        self.slots.write_row.next = self.arguments.val().get_bits::<12>(8);
        self.slots.write_data.next.valid = true;
        self.slots.write_data.next.stag = self.arguments.val().get_bits::<32>(0);
        self.slots.write_data.next.protection_domain = self.arguments.val().get_bits::<16>(32);
        self.slots.write_data.next.stream = self.arguments.val().get_bits::<8>(48);
        self.slots.write_data.next.stream_scope = self.arguments.val().get_bit(56);
        self.slots.write_data.next.remote_write = self.arguments.val().get_bit(57);
        self.slots.write_data.next.empty = self.empty.q.val();
        self.slots.write_data.next.base = self.base.val();
        self.slots.write_data.next.end = bit_cast::<65, 32>(self.end_low.q.val().get_bits::<32>(0))
            | (bit_cast::<65, 33>(self.end_carried.q.val()) << 32);
        self.slots.write_data.next.shift = bit_cast::<64, 32>(self.shift_low.q.val().get_bits::<32>(0))
            | (bit_cast::<64, 32>(self.shift_borrowed.q.val()) << 32);
        if self.clear.val() {
            self.slots.write_row.next = self.clear_slot.val();
            self.slots.write_data.next = self.nothing.val();
        }
    }
}

//! Tagged checks (RFC 5041 §7.1, AMB-01, AMB-03): is the STag valid here, and does the payload lie inside its region?
//!
//! ```text
//!            stage 1                         stage 2                       stage 3
//!  STag ───► entry found, associated ─────────────────────────────────────► stag, assoc, access, read
//!  TO ─────► TO < base, TO < end (halves) ─► outside ─────────────────────► to
//!            last = TO + n-1 (low) ────────► last (high) ─┬───────────────► wrap
//!                                                         └► last < end ──► end
//!            TO + shift (low) ─────────────► (high) ──────────────────────► address
//! ```
//!
//! 64-bit arithmetic is done in halves, so that no carry chain exceeds 32 bits. The last octet, not the octet behind
//! it, is compared, which spares a special case for a segment that ends exactly at 2^64; hence n ≥ 1, and the caller
//! ignores all results when n = 0 (AMB-02). Throughput: one segment a cycle. Latency: [`LATENCY`] cycles.
use super::stag_table::StagEntry;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Cycles from the last input to the results.
pub const LATENCY: u64 = 3;

/// The checks of a segment against one entry of the STag table; every `fails_` output is one bit of the report.
#[derive(Block)]
#[block(default)]
pub struct TaggedChecks {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Stream that the segment came on.
    pub stream: Signal<In, Bits<8>>,
    /// Its protection domain.
    pub protection_domain: Signal<In, Bits<16>>,
    /// STag of the segment.
    pub stag: Signal<In, Bits<32>>,
    /// High half of its Tagged Offset.
    pub offset_high: Signal<In, Bits<32>>,
    /// Low half of its Tagged Offset.
    pub offset_low: Signal<In, Bits<32>>,
    /// Payload octets less one.
    pub last: Signal<In, Bits<32>>,
    /// The entry in the STag's slot.
    pub entry: Signal<In, StagEntry>,
    /// No valid entry with the whole STag.
    pub fails_stag: Signal<Out, Bit>,
    /// The entry belongs to another protection domain or stream.
    pub fails_association: Signal<Out, Bit>,
    /// No remote write right, or a region without octets.
    pub fails_access: Signal<Out, Bit>,
    /// No remote read right.
    pub fails_read: Signal<Out, Bit>,
    /// TO outside the region.
    pub fails_offset: Signal<Out, Bit>,
    /// The payload passes TO 2^64.
    pub fails_wrap: Signal<Out, Bit>,
    /// The payload passes the region's end.
    pub fails_end: Signal<Out, Bit>,
    /// Bus address of the first payload octet.
    pub address: Signal<Out, Bits<64>>,

    base_low: Signal<Local, Bits<32>>,
    base_high: Signal<Local, Bits<32>>,
    end_low: Signal<Local, Bits<32>>,
    end_high: Signal<Local, Bits<32>>,
    shift_low: Signal<Local, Bits<32>>,
    shift_high: Signal<Local, Bits<32>>,
    associated: Signal<Local, Bit>,

    // stage 1
    stag_1: Dff<Bit>,
    association_1: Dff<Bit>,
    access_1: Dff<Bit>,
    read_1: Dff<Bit>,
    base_below_1: Dff<Bit>,
    base_same_1: Dff<Bit>,
    base_below_low_1: Dff<Bit>,
    end_below_1: Dff<Bit>,
    end_same_1: Dff<Bit>,
    end_below_low_1: Dff<Bit>,
    offset_high_1: Dff<Bits<32>>,
    last_low_1: Dff<Bits<33>>,
    address_low_1: Dff<Bits<33>>,
    address_high_1: Dff<Bits<32>>,

    end_1: Dff<Bits<65>>,

    // stage 2
    stag_2: Dff<Bit>,
    association_2: Dff<Bit>,
    access_2: Dff<Bit>,
    read_2: Dff<Bit>,
    offset_2: Dff<Bit>,
    last_low_2: Dff<Bits<32>>,
    last_high_2: Dff<Bits<33>>,
    address_low_2: Dff<Bits<32>>,
    address_high_2: Dff<Bits<32>>,
    end_2: Dff<Bits<65>>,

    // stage 3
    stag_3: Dff<Bit>,
    association_3: Dff<Bit>,
    access_3: Dff<Bit>,
    read_3: Dff<Bit>,
    offset_3: Dff<Bit>,
    wrap_3: Dff<Bit>,
    unbounded_3: Dff<Bit>,
    last_below_3: Dff<Bit>,
    last_same_3: Dff<Bit>,
    last_below_low_3: Dff<Bit>,
    address_3: Dff<Bits<64>>,
}

impl Logic for TaggedChecks {
    #[hdl_gen]
    fn update(&mut self) {
        self.base_low.next = self.entry.val().base.get_bits::<32>(0);
        self.base_high.next = self.entry.val().base.get_bits::<32>(32);
        self.end_low.next = self.entry.val().limit.get_bits::<32>(0);
        self.end_high.next = self.entry.val().limit.get_bits::<32>(32);
        self.shift_low.next = self.entry.val().shift.get_bits::<32>(0);
        self.shift_high.next = self.entry.val().shift.get_bits::<32>(32);

        comment!("stage 1: the entry, and the low halves");
        comment!("an STag of one stream is of its domain, too (AMB-59)");
        self.associated.next = (self.entry.val().protection_domain == self.protection_domain.val())
            & (!self.entry.val().stream_scope | (self.entry.val().stream == self.stream.val()));
        self.stag_1.d.next = !(self.entry.val().valid & (self.entry.val().stag == self.stag.val()));
        self.association_1.d.next = !self.associated.val();
        self.access_1.d.next = !self.entry.val().remote_write | self.entry.val().empty;
        self.read_1.d.next = !self.entry.val().remote_read;
        self.base_below_1.d.next = self.offset_high.val() < self.base_high.val();
        self.base_same_1.d.next = self.offset_high.val() == self.base_high.val();
        self.base_below_low_1.d.next = self.offset_low.val() < self.base_low.val();
        self.end_below_1.d.next = self.offset_high.val() < self.end_high.val();
        self.end_same_1.d.next = self.offset_high.val() == self.end_high.val();
        self.end_below_low_1.d.next = self.offset_low.val() < self.end_low.val();
        self.offset_high_1.d.next = self.offset_high.val();
        self.last_low_1.d.next =
            bit_cast::<33, 32>(self.offset_low.val()) + bit_cast::<33, 32>(self.last.val());
        self.address_low_1.d.next =
            bit_cast::<33, 32>(self.offset_low.val()) + bit_cast::<33, 32>(self.shift_low.val());
        self.address_high_1.d.next = self.offset_high.val() + self.shift_high.val();

        self.end_1.d.next = self.entry.val().limit;

        comment!("stage 2: an end of 2^64 (bit 64) lies behind every TO");
        self.stag_2.d.next = self.stag_1.q.val();
        self.association_2.d.next = self.association_1.q.val();
        self.access_2.d.next = self.access_1.q.val();
        self.read_2.d.next = self.read_1.q.val();
        self.offset_2.d.next = self.base_below_1.q.val()
            | (self.base_same_1.q.val() & self.base_below_low_1.q.val())
            | !(self.end_1.q.val().get_bit(64)
                | self.end_below_1.q.val()
                | (self.end_same_1.q.val() & self.end_below_low_1.q.val()));
        self.last_low_2.d.next = self.last_low_1.q.val().get_bits::<32>(0);
        self.last_high_2.d.next =
            bit_cast::<33, 32>(self.offset_high_1.q.val()) + self.last_low_1.q.val().get_bit(32);
        self.address_low_2.d.next = self.address_low_1.q.val().get_bits::<32>(0);
        self.address_high_2.d.next =
            self.address_high_1.q.val() + self.address_low_1.q.val().get_bit(32);
        self.end_2.d.next = self.end_1.q.val();

        comment!("stage 3: the last octet against the end");
        self.stag_3.d.next = self.stag_2.q.val();
        self.association_3.d.next = self.association_2.q.val();
        self.access_3.d.next = self.access_2.q.val();
        self.read_3.d.next = self.read_2.q.val();
        self.offset_3.d.next = self.offset_2.q.val();
        self.wrap_3.d.next = self.last_high_2.q.val().get_bit(32);
        self.unbounded_3.d.next = self.end_2.q.val().get_bit(64);
        self.last_below_3.d.next =
            self.last_high_2.q.val().get_bits::<32>(0) < self.end_2.q.val().get_bits::<32>(32);
        self.last_same_3.d.next =
            self.last_high_2.q.val().get_bits::<32>(0) == self.end_2.q.val().get_bits::<32>(32);
        self.last_below_low_3.d.next =
            self.last_low_2.q.val() < self.end_2.q.val().get_bits::<32>(0);
        self.address_3.d.next = bit_cast::<64, 32>(self.address_low_2.q.val())
            | (bit_cast::<64, 32>(self.address_high_2.q.val()) << 32);

        self.fails_stag.next = self.stag_3.q.val();
        self.fails_association.next = self.association_3.q.val();
        self.fails_access.next = self.access_3.q.val();
        self.fails_read.next = self.read_3.q.val();
        self.fails_offset.next = self.offset_3.q.val();
        self.fails_wrap.next = self.wrap_3.q.val();
        self.fails_end.next = self.wrap_3.q.val()
            | !(self.unbounded_3.q.val()
                | self.last_below_3.q.val()
                | (self.last_same_3.q.val() & self.last_below_low_3.q.val()));
        self.address.next = self.address_3.q.val();
    }
}

//! Header: the header of a DDP segment (RFC 5041 §4) in the order in which its octets are sent.
//!
//! ```text
//!  tagged:    control, RsvdULP,          STag, Tagged Offset  ──┐
//!  untagged:  control, RsvdULP (5), Queue Number, MSN, MO ──────┴─► octets, the first one in bits 7:0
//! ```
//!
//! Every field is in network order, so each word is reversed. Combinational.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;
use warpline_wire::ddp::{self, control, field};

/// The header.
#[derive(Block)]
#[block()]
pub struct Header {
    /// Tagged, or untagged.
    pub is_tagged: Signal<In, Bit>,
    /// L: last segment of its message.
    pub last: Signal<In, Bit>,
    /// RsvdULP bits 0 to 7.
    pub rsvd_ulp_first: Signal<In, Bits<8>>,
    /// Untagged: RsvdULP bits 8 to 39.
    pub rsvd_ulp_low: Signal<In, Bits<32>>,
    /// STag, or Queue Number.
    pub stag: Signal<In, Bits<32>>,
    /// Tagged Offset of the segment.
    pub tagged_offset: Signal<In, Bits<64>>,
    /// Untagged: MSN.
    pub msn: Signal<In, Bits<32>>,
    /// Untagged: octets of the message in front of the segment.
    pub message_offset: Signal<In, Bits<32>>,
    /// The octets.
    pub octets: Signal<Out, Bits<144>>,
    /// How many.
    pub length: Signal<Out, Bits<16>>,

    octet: [Signal<Local, Bits<8>>; 18],
    one: Signal<Local, Bits<8>>,
    /// Words that follow the first two octets.
    word: [Signal<Local, Bits<32>>; 4],
    #[constant(|i| 8 * i)]
    lane_at: [Constant<Bits<8>>; 18],
    #[constant(ddp::VERSION | control::TAGGED)]
    control_tagged: Constant<Bits<8>>,
    #[constant(ddp::VERSION)]
    control_untagged: Constant<Bits<8>>,
    #[constant(control::LAST)]
    control_last: Constant<Bits<8>>,
    #[constant(ddp::TAGGED_HEADER_LEN)]
    tagged_length: Constant<Bits<16>>,
    #[constant(ddp::UNTAGGED_HEADER_LEN)]
    untagged_length: Constant<Bits<16>>,
}

impl Default for Header {
    fn default() -> Self {
        let at = |octet: usize| octet..octet + 4;
        assert!(
            field::CONTROL == 0
                && field::tagged::RSVD_ULP == (1..2)
                && field::tagged::STAG == at(2)
                && field::tagged::TO == (6..14)
                && field::untagged::RSVD_ULP == (1..6)
                && field::untagged::QN == at(6)
                && field::untagged::MSN == at(10)
                && field::untagged::MO == at(14),
            "octets as the kernel writes them"
        );
        Self::assemble()
    }
}

impl Logic for Header {
    #[hdl_gen]
    fn update(&mut self) {
        self.octet[0].next = self.control_untagged.val();
        self.length.next = self.untagged_length.val();
        self.word[0].next = self.rsvd_ulp_low.val();
        self.word[1].next = self.stag.val();
        self.word[2].next = self.msn.val();
        self.word[3].next = self.message_offset.val();
        if self.is_tagged.val() {
            self.octet[0].next = self.control_tagged.val();
            self.length.next = self.tagged_length.val();
            self.word[0].next = self.stag.val();
            self.word[1].next = self.tagged_offset.val().get_bits::<32>(32);
            self.word[2].next = self.tagged_offset.val().get_bits::<32>(0);
            self.word[3].next = 0.into();
        }
        if self.last.val() {
            self.octet[0].next = self.octet[0].val() | self.control_last.val();
        }
        self.octet[1].next = self.rsvd_ulp_first.val();
        for i in 0..4 {
            self.octet[4 * i + 2].next = self.word[i].val().get_bits::<8>(24);
            self.octet[4 * i + 3].next = self.word[i].val().get_bits::<8>(16);
            self.octet[4 * i + 4].next = self.word[i].val().get_bits::<8>(8);
            self.octet[4 * i + 5].next = self.word[i].val().get_bits::<8>(0);
        }
        self.octets.next = 0.into();
        for i in 0..18 {
            self.one.next = self.octet[i].val();
            self.octets.next =
                self.octets.val() | (bit_cast::<144, 8>(self.one.val()) << self.lane_at[i].val());
        }
    }
}

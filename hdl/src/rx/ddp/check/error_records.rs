//! The sticky error record of each stream (AMB-09), written once by the stream's first error and read by the host.
//!
//! ```text
//!  fpdu, verdict, number, checks ─► one word a cycle, last word first ─►[register]─► kept ─► record_data
//!                                                                                 ▲ record_row
//! ```
//!
//! Words are laid out as `regmap::layout::error_record`. Word 0 with its VALID bit is written last, so that a record that
//! shows VALID is complete. Inputs are held from `write` until `busy` is low again: 13 cycles. After a reset the caller
//! clears every row.
use crate::parts::record_ram::RecordRam;
use crate::records::{DdpSegment, Verdict};
use rust_hdl_core::prelude::*;
use warpline_regmap::layout::error_record;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// The records of up to 16 streams.
#[derive(Block)]
#[block(default)]
pub struct ErrorRecords {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Pulse: begin to write a record.
    pub write: Signal<In, Bit>,
    /// Stream of the record.
    pub stream: Signal<In, Bits<8>>,
    /// The record holds an error; zero clears it.
    pub valid: Signal<In, Bit>,
    /// The error is an FPDU's; otherwise the following inputs count as zero.
    pub from_fpdu: Signal<In, Bit>,
    /// Error type in bits 11:8, code in bits 7:0.
    pub number: Signal<In, Bits<12>>,
    /// Failed checks.
    pub checks: Signal<In, Bits<16>>,
    /// The FPDU.
    pub fpdu: Signal<In, DdpSegment>,
    /// MPA's verdict about it.
    pub verdict: Signal<In, Verdict>,
    /// Words are being written.
    pub busy: Signal<Out, Bit>,
    /// Clear row `clear_row`, while nothing is written.
    pub clear: Signal<In, Bit>,
    /// Row to clear.
    pub clear_row: Signal<In, Bits<8>>,
    /// {stream, word} to read.
    pub record_row: Signal<In, Bits<8>>,
    /// Its word, 2 cycles later.
    pub record_data: Signal<Out, Bits<32>>,

    word: Dff<Bits<4>>,
    active: Dff<Bit>,
    row: Dff<Bits<8>>,
    data: Dff<Bits<32>>,
    store: Dff<Bit>,
    #[value(RecordRam::new(256))]
    kept: RecordRam<Bits<32>, 8>,
    words: [Signal<Local, Bits<32>>; 12],
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; 12],
    #[constant(error_record::VALID.max() << error_record::VALID.lsb)]
    valid_bit: Constant<Bits<32>>,
    #[constant(error_record::REFUSED.in_word(0))]
    refused_at: Constant<Bits<8>>,
    #[constant(error_record::CRC_ZEROS.in_word(2))]
    zeros_at: Constant<Bits<8>>,
    #[constant(error_record::MARKER_RECEIVED.in_word(9))]
    received_at: Constant<Bits<8>>,
    #[constant(error_record::WORDS - 1)]
    last_word: Constant<Bits<4>>,
}

impl Logic for ErrorRecords {
    #[hdl_gen]
    fn update(&mut self) {
        self.busy.next = self.active.q.val() | self.store.q.val();

        comment!("the record of an FPDU");
        self.words[0].next = bit_cast::<32, 12>(self.number.val())
            | (bit_cast::<32, 3>(self.fpdu.val().refused) << self.refused_at.val())
            | self.valid_bit.val();
        self.words[1].next = bit_cast::<32, 16>(self.checks.val());
        self.words[2].next = bit_cast::<32, 16>(self.fpdu.val().ulpdu)
            | (bit_cast::<32, 4>(self.verdict.val().zeros) << self.zeros_at.val());
        self.words[3].next = self.fpdu.val().position;
        self.words[4].next = self.fpdu.val().header_0;
        self.words[5].next = self.fpdu.val().header_1;
        self.words[6].next = self.fpdu.val().header_2;
        self.words[7].next = self.fpdu.val().header_3;
        self.words[8].next = self.fpdu.val().header_4;
        self.words[9].next = bit_cast::<32, 16>(self.verdict.val().marker_expected)
            | (bit_cast::<32, 16>(self.verdict.val().marker_received) << self.received_at.val());
        self.words[10].next = self.verdict.val().received;
        self.words[11].next = self.verdict.val().state;

        comment!("one word a cycle, from the last one down");
        self.store.d.next = self.active.q.val() | self.clear.val();
        self.row.d.next = bit_cast::<8, 4>(self.word.q.val())
            | (bit_cast::<8, 4>(self.stream.val().get_bits::<4>(0)) << 4);
        self.data.d.next = 0.into();
        for i in 0..12 {
            if self.from_fpdu.val() & (self.word.q.val() == self.index[i].val()) {
                self.data.d.next = self.words[i].val();
            }
        }
        if !self.from_fpdu.val() & self.valid.val() & !self.word.q.val().any() {
            self.data.d.next = self.valid_bit.val();
        }
        if self.clear.val() {
            self.row.d.next = self.clear_row.val();
            self.data.d.next = 0.into();
        }
        if self.active.q.val() {
            self.active.d.next = self.word.q.val() != 0;
            self.word.d.next = self.word.q.val() - 1;
        }
        if self.write.val() {
            self.word.d.next = self.last_word.val();
            self.active.d.next = true;
        }
        self.kept.write.next = self.store.q.val();
        self.kept.write_row.next = self.row.q.val();
        self.kept.write_data.next = self.data.q.val();
        self.kept.read_row.next = self.record_row.val();
        self.record_data.next = self.kept.read_data.val();
        if self.reset.val() {
            self.active.d.next = false;
            self.store.d.next = false;
        }
    }
}

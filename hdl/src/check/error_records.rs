//! The sticky error record of each stream (AMB-09), written once by the stream's first error and read by the host.
//!
//! ```text
//!  record ─► one word a cycle, last word first ─►[register]─► table ─► record_data
//!                                                               ▲ record_row
//! ```
//!
//! Word 0 with its VALID bit is written last, so that a record that shows VALID is whole. A record of zeros clears.
//! `record` and `stream` are held from `write` until `busy` is low again: 13 cycles. After a reset the caller clears
//! every row.
use super::table::Table;
use crate::dff::Dff;
use crate::util::d;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::dff_setup;

/// `regmap::layout::error_record`, field by field.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ErrorRecord {
    /// Error type in bits 11:8, code in bits 7:0 (RFC 5041 §7.2).
    pub number: Bits<12>,
    /// Why the length was refused.
    pub refused: Bits<2>,
    /// Zero.
    pub rest_0: Bits<17>,
    /// The record holds an error.
    pub valid: Bit,
    /// Failed checks.
    pub checks: Bits<16>,
    /// Zero.
    pub rest_1: Bits<16>,
    /// ULPDU_Length.
    pub length: Bits<16>,
    /// Zero dwords that the CRC register took in behind the FPDU.
    pub crc_zeros: Bits<4>,
    /// Zero.
    pub rest_2: Bits<12>,
    /// Stream position of the FPDU.
    pub position: Bits<32>,
    /// The five dwords from ULPDU_Length on.
    pub header_0: Bits<32>,
    /// Second dword.
    pub header_1: Bits<32>,
    /// Third dword.
    pub header_2: Bits<32>,
    /// Fourth dword.
    pub header_3: Bits<32>,
    /// Fifth dword.
    pub header_4: Bits<32>,
    /// FPDUPTR that was due.
    pub marker_expected: Bits<16>,
    /// FPDUPTR that came.
    pub marker_received: Bits<16>,
    /// CRC field as received.
    pub crc_received: Bits<32>,
    /// CRC register behind the FPDU and its zeros.
    pub crc_state: Bits<32>,
}

/// The records of up to 16 streams.
#[derive(LogicBlock)]
pub struct ErrorRecords {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    /// Pulse: begin to write `record`.
    pub write: Signal<In, Bit>,
    /// Stream of the record.
    pub stream: Signal<In, Bits<8>>,
    /// The record.
    pub record: Signal<In, ErrorRecord>,
    /// Words are still to be written.
    pub busy: Signal<Out, Bit>,
    /// Clear row `clear_row`, while nothing is written.
    pub clear: Signal<In, Bit>,
    /// Row to clear.
    pub clear_row: Signal<In, Bits<8>>,
    /// {stream, word} to read.
    pub record_row: Signal<In, Bits<8>>,
    /// Its word, 2 cycles later.
    pub record_data: Signal<Out, Bits<32>>,

    words: Signal<Local, Bits<384>>,
    at: Signal<Local, Bits<9>>,
    word: Dff<Bits<4>>,
    active: Dff<Bit>,
    row: Dff<Bits<8>>,
    data: Dff<Bits<32>>,
    store: Dff<Bit>,
    kept: Table<Bits<32>, 8>,
    last_word: Constant<Bits<4>>,
}

impl Default for ErrorRecords {
    fn default() -> Self {
        Self {
            clock: d(),
            reset: d(),
            write: d(),
            stream: d(),
            record: d(),
            busy: d(),
            clear: d(),
            clear_row: d(),
            record_row: d(),
            record_data: d(),
            words: d(),
            at: d(),
            word: d(),
            active: d(),
            row: d(),
            data: d(),
            store: d(),
            kept: Table::new(256),
            last_word: Constant::new((ErrorRecord::BITS as u64 / 32 - 1).into()),
        }
    }
}

impl Logic for ErrorRecords {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, word, active, row, data, store);
        clock!(self, clock, kept);
        self.words.next = self.record.val().into();
        self.at.next = bit_cast::<9, 4>(self.word.q.val()) << 5;
        self.busy.next = self.active.q.val() | self.store.q.val();

        comment!("one word a cycle, from the last one down");
        self.store.d.next = self.active.q.val() | self.clear.val();
        self.row.d.next =
            bit_cast::<8, 4>(self.word.q.val()) | (bit_cast::<8, 4>(self.stream.val().get_bits::<4>(0)) << 4);
        self.data.d.next = self.words.val().get_bits::<32>(self.at.val().index());
        if self.clear.val() {
            self.row.d.next = self.clear_row.val();
            self.data.d.next = 0.into();
        }
        if self.active.q.val() {
            self.word.d.next = self.word.q.val() - 1;
            self.active.d.next = self.word.q.val() != 0;
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

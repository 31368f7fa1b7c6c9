//! Pair: `ARGUMENT` and `COMMAND` of one side.
//!
//! ```text
//!  effect, access ─┬─► octets merged ─► arguments, twice ─┬─► argument_word
//!                  │                                      └─► copied_word, of copied_row ─► runner
//!                  └─► number, busy ────────────────────────► number, busy
//!  finish, failed ─────► busy, failed ──────────────────────► command_word
//! ```
//!
//! While a command runs, writes have no effect (`regmap::register`). A command runs from the cycle behind its `effect`
//! to that of `finish`. Arguments lie in distributed memory: a reset of at least [`WORDS`] cycles clears them.
use crate::host::mailbox::port::{Access, Target};
use crate::parts::queue::Store;
use rust_hdl_core::prelude::*;
use warpline_regmap::register::{self, COMMAND_BUSY, COMMAND_FAILED, COMMAND_NUMBER};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Words of `ARGUMENT`.
pub const WORDS: usize = register::ARGUMENT.count as usize;
/// log2 of [`WORDS`].
pub const INDEX: usize = WORDS.ilog2() as usize;
const _: () = assert!(WORDS == 8, "the kernels cut an index of 3 bits");

/// The pair of one side.
#[derive(Block)]
#[block(default)]
pub struct Pair {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// The side's access.
    pub access: Signal<In, Access>,
    /// Pulse: it is a write, and takes effect.
    pub effect: Signal<In, Bit>,
    /// `ARGUMENT` of the access's row.
    pub argument_word: Signal<Out, Bits<32>>,
    /// `COMMAND`.
    pub command_word: Signal<Out, Bits<32>>,

    /// The command is not done.
    pub busy: Signal<Out, Bit>,
    /// Number of the command.
    pub number: Signal<Out, Bits<8>>,
    /// Index of an argument.
    pub copied_row: Signal<In, Bits<INDEX>>,
    /// That argument.
    pub copied_word: Signal<Out, Bits<32>>,
    /// Pulse: the command is done.
    pub finish: Signal<In, Bit>,
    /// With `finish`: it was refused.
    pub failed: Signal<In, Bit>,

    arguments: Store<Bits<32>, INDEX>,
    copy: Store<Bits<32>, INDEX>,
    cleared: Dff<Bits<INDEX>>,
    running: Dff<Bit>,
    refused: Dff<Bit>,
    number_held: Dff<Bits<8>>,
    index: Signal<Local, Bits<INDEX>>,
    lane: [Signal<Local, Bits<32>>; 4],
    mask: Signal<Local, Bits<32>>,
    merged: Signal<Local, Bits<32>>,
    stores: Signal<Local, Bit>,
    write_row: Signal<Local, Bits<INDEX>>,
    write_data: Signal<Local, Bits<32>>,
    busy_word: Signal<Local, Bits<32>>,
    failed_word: Signal<Local, Bits<32>>,
    #[constant(|lane| 0xff_u64 << (8 * lane))]
    lane_mask: [Constant<Bits<32>>; 4],
    #[constant(COMMAND_NUMBER.lsb)]
    number_at: Constant<Bits<8>>,
    #[constant(1_u64 << COMMAND_BUSY.lsb)]
    busy_mask: Constant<Bits<32>>,
    #[constant(1_u64 << COMMAND_FAILED.lsb)]
    failed_mask: Constant<Bits<32>>,
}

impl Logic for Pair {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("arguments");
        self.index.next = self.access.val().row.get_bits::<INDEX>(0);
        self.arguments.read_row.next = self.index.val();
        self.argument_word.next = self.arguments.out.val();
        for i in 0..4 {
            self.lane[i].next = 0.into();
            if self.access.val().strobe.get_bit(i) {
                self.lane[i].next = self.lane_mask[i].val();
            }
        }
        self.mask.next =
            self.lane[0].val() | self.lane[1].val() | self.lane[2].val() | self.lane[3].val();
        self.merged.next = (self.arguments.out.val() & !self.mask.val())
            | (self.access.val().data & self.mask.val());
        self.stores.next = self.effect.val()
            & (self.access.val().target == Target::Argument)
            & !self.running.q.val();
        self.write_row.next = self.index.val();
        self.write_data.next = self.merged.val();
        if self.reset.val() {
            self.stores.next = true;
            self.write_row.next = self.cleared.q.val();
            self.write_data.next = 0.into();
            self.cleared.d.next = self.cleared.q.val() + 1;
        }
        self.arguments.write.next = self.stores.val();
        self.arguments.write_row.next = self.write_row.val();
        self.arguments.data.next = self.write_data.val();
        self.copy.write.next = self.stores.val();
        self.copy.write_row.next = self.write_row.val();
        self.copy.data.next = self.write_data.val();
        self.copy.read_row.next = self.copied_row.val();
        self.copied_word.next = self.copy.out.val();

        comment!("the command");
        if self.effect.val()
            & (self.access.val().target == Target::Command)
            & self.access.val().strobe.get_bit(0)
            & !self.running.q.val()
        {
            self.running.d.next = true;
            self.refused.d.next = false;
            self.number_held.d.next = self
                .access
                .val()
                .data
                .get_bits::<8>(self.number_at.val().index());
        }
        if self.finish.val() {
            self.running.d.next = false;
            self.refused.d.next = self.failed.val();
        }
        self.busy.next = self.running.q.val();
        self.number.next = self.number_held.q.val();
        self.busy_word.next = 0.into();
        if self.running.q.val() {
            self.busy_word.next = self.busy_mask.val();
        }
        self.failed_word.next = 0.into();
        if self.refused.q.val() {
            self.failed_word.next = self.failed_mask.val();
        }
        self.command_word.next = (bit_cast::<32, 8>(self.number_held.q.val())
            << self.number_at.val())
            | self.busy_word.val()
            | self.failed_word.val();

        if self.reset.val() {
            self.running.d.next = false;
            self.refused.d.next = false;
            self.number_held.d.next = 0.into();
        }
    }
}

//! Messages: which message is pending, whether the control program has noticed the reset, and the interrupt.
//!
//! ```text
//!  host:    HOST_MESSAGE = 1 ─► host_pending ◄─ HOST_MESSAGE = 1 :control     cleared ─┐
//!           CARD_MESSAGE = 1 ─► card_pending ◄─ CARD_MESSAGE = 1              set ─────┼─► state, raise
//!           INTERRUPT_TEST ────────────────────────────────────────────────────────────┘
//!           INTERRUPT_STATE ─► clear       HOST_MESSAGE.RESET = 1 ─► barred
//! ```
//!
//! If both sides write a `PENDING` in the same cycle, it is cleared first, then set: no message is lost. An interrupt
//! in the cycle of its clearing stays.
use crate::host::mailbox::port::{Access, Target};
use rust_hdl_core::prelude::*;
use warpline_regmap::mailbox::{
    CARD_MESSAGE_PENDING, HOST_MESSAGE_PENDING, HOST_MESSAGE_RESET, INTERRUPT_MAILBOX,
};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// State of the mailbox.
#[derive(Block)]
#[block(default)]
pub struct Messages {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Accesses of the host and of the control side.
    pub access: [Signal<In, Access>; 2],
    /// Pulses: they are writes, and take effect.
    pub effect: [Signal<In, Bit>; 2],

    /// `HOST_MESSAGE` of each side.
    pub host_message_word: [Signal<Out, Bits<32>>; 2],
    /// `CARD_MESSAGE`.
    pub card_message_word: Signal<Out, Bits<32>>,
    /// The host's message, and that of the card, is pending: it stays as it is.
    pub pending: [Signal<Out, Bit>; 2],
    /// The control program has not noticed the reset.
    pub barred: Signal<Out, Bit>,
    /// `INTERRUPT_STATE.MAILBOX`.
    pub interrupt_state: Signal<Out, Bit>,
    /// `INTERRUPT_ENABLE.MAILBOX`.
    pub interrupt_enable: Signal<Out, Bit>,
    /// Pulse: the interrupt occurs.
    pub raise: Signal<Out, Bit>,
    /// Pulse: the host clears it.
    pub clear: Signal<Out, Bit>,

    host_pending: Dff<Bit>,
    card_pending: Dff<Bit>,
    noticed: Dff<Bit>,
    state: Dff<Bit>,
    enable: Dff<Bit>,
    raise_pulse: Dff<Bit>,
    clear_pulse: Dff<Bit>,

    /// A write of each side to the lowest octet.
    writes: [Signal<Local, Bit>; 2],
    host_sets: Signal<Local, Bit>,
    host_clears: Signal<Local, Bit>,
    control_sets: Signal<Local, Bit>,
    control_clears: Signal<Local, Bit>,
    interrupts: Signal<Local, Bit>,
    acknowledges: Signal<Local, Bit>,
    tested: Signal<Local, Bit>,
    #[constant(HOST_MESSAGE_PENDING.lsb)]
    host_pending_at: Constant<Bits<8>>,
    #[constant(HOST_MESSAGE_RESET.lsb)]
    reset_at: Constant<Bits<8>>,
    #[constant(CARD_MESSAGE_PENDING.lsb)]
    card_pending_at: Constant<Bits<8>>,
    #[constant(INTERRUPT_MAILBOX.lsb)]
    interrupt_at: Constant<Bits<8>>,
    #[constant(1_u64 << HOST_MESSAGE_PENDING.lsb)]
    host_pending_bit: Constant<Bits<32>>,
    #[constant(1_u64 << HOST_MESSAGE_RESET.lsb)]
    reset_bit: Constant<Bits<32>>,
    #[constant(1_u64 << CARD_MESSAGE_PENDING.lsb)]
    card_pending_bit: Constant<Bits<32>>,
}

impl Logic for Messages {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("all fields lie in the lowest octet");
        self.writes[0].next = self.effect[0].val() & self.access[0].val().strobe.get_bit(0);
        self.writes[1].next = self.effect[1].val() & self.access[1].val().strobe.get_bit(0);

        comment!("messages");
        self.host_sets.next = self.writes[0].val()
            & (self.access[0].val().target == Target::HostMessage)
            & self.access[0]
                .val()
                .data
                .get_bit(self.host_pending_at.val().index());
        self.host_clears.next = self.writes[0].val()
            & (self.access[0].val().target == Target::CardMessage)
            & self.access[0]
                .val()
                .data
                .get_bit(self.card_pending_at.val().index());
        self.control_clears.next = self.writes[1].val()
            & self.noticed.q.val()
            & (self.access[1].val().target == Target::HostMessage)
            & self.access[1]
                .val()
                .data
                .get_bit(self.host_pending_at.val().index());
        self.control_sets.next = self.writes[1].val()
            & self.noticed.q.val()
            & (self.access[1].val().target == Target::CardMessage)
            & self.access[1]
                .val()
                .data
                .get_bit(self.card_pending_at.val().index());
        self.host_pending.d.next =
            self.host_sets.val() | (self.host_pending.q.val() & !self.control_clears.val());
        self.card_pending.d.next =
            self.control_sets.val() | (self.card_pending.q.val() & !self.host_clears.val());
        if self.writes[1].val()
            & (self.access[1].val().target == Target::HostMessage)
            & self.access[1]
                .val()
                .data
                .get_bit(self.reset_at.val().index())
        {
            self.noticed.d.next = true;
        }

        comment!("the interrupt: of what the control program changes, and of the host's test");
        self.tested.next = self.writes[0].val()
            & (self.access[0].val().target == Target::InterruptTest)
            & self.access[0]
                .val()
                .data
                .get_bit(self.interrupt_at.val().index());
        self.interrupts.next = self.tested.val()
            | (self.control_clears.val() & self.host_pending.q.val())
            | (self.control_sets.val() & (!self.card_pending.q.val() | self.host_clears.val()));
        self.acknowledges.next = self.writes[0].val()
            & (self.access[0].val().target == Target::InterruptState)
            & self.access[0]
                .val()
                .data
                .get_bit(self.interrupt_at.val().index());
        self.state.d.next = self.interrupts.val() | (self.state.q.val() & !self.acknowledges.val());
        if self.writes[0].val() & (self.access[0].val().target == Target::InterruptEnable) {
            self.enable.d.next = self.access[0]
                .val()
                .data
                .get_bit(self.interrupt_at.val().index());
        }
        self.raise_pulse.d.next = self.interrupts.val();
        self.clear_pulse.d.next = self.acknowledges.val();
        self.interrupt_state.next = self.state.q.val();
        self.interrupt_enable.next = self.enable.q.val();
        self.raise.next = self.raise_pulse.q.val();
        self.clear.next = self.clear_pulse.q.val();

        comment!("words; the control program sees no message before it has noticed the reset");
        self.pending[0].next = self.host_pending.q.val();
        self.pending[1].next = self.card_pending.q.val();
        self.barred.next = !self.noticed.q.val();
        self.host_message_word[0].next = 0.into();
        if self.host_pending.q.val() {
            self.host_message_word[0].next = self.host_pending_bit.val();
        }
        self.host_message_word[1].next = 0.into();
        if self.host_pending.q.val() {
            self.host_message_word[1].next = self.host_pending_bit.val();
        }
        if !self.noticed.q.val() {
            self.host_message_word[1].next = self.reset_bit.val();
        }
        self.card_message_word.next = 0.into();
        if self.card_pending.q.val() {
            self.card_message_word.next = self.card_pending_bit.val();
        }

        if self.reset.val() {
            self.host_pending.d.next = false;
            self.card_pending.d.next = false;
            self.noticed.d.next = false;
            self.state.d.next = false;
            self.enable.d.next = false;
            self.raise_pulse.d.next = false;
            self.clear_pulse.d.next = false;
        }
    }
}

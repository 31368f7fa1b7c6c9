//! Completion writer: entries of the completion queue in host memory.
//!
//! ```text
//!  s_event ──────┬─► held ─► room? ─► slot, PHASE ─► address low ─► address high ─► AW, W
//!  s_send_event ─┘            ▲ consumer                                             │
//!                             └────────────────────────── given      producer ◄──────┴── B
//! ```
//!
//! The queue is a ring of `entries` entries of 32 octets from `base` on. Entry n goes to slot n modulo `entries`. Its
//! PHASE is 1 in the first round and inverts with each round, so the host distinguishes new entries from old ones
//! without reading a register. An entry that the host has not consumed is never overwritten: the event is held, and
//! all later ones behind it. `producer` counts an entry when the response to its write arrives. An entry is one burst
//! of 256/W beats, the word with PHASE last; a 512-bit bus writes half a beat.
//!
//! `restart` begins a new queue: slot 0, PHASE 1, `producer` 0. It takes effect when the entries under way to the old
//! queue are answered, which are not counted; an event that has not left yet goes to the new queue.
//!
//! Events of both directions share the queue. When both are offered, they take turns. One of the transmit side is
//! accepted a cycle after it is offered, at the earliest.
//!
//! A fence is done when all entries in front of it are answered: `left` of them are under way, and responses arrive
//! in order.
//!
//! Latency from `s_valid` to AW and W: 4 cycles. Throughput: one entry every 4 cycles plus one for each of its beats.
//! Up to 64 entries are under way.
use crate::parts::axi::WriteRequestOut;
use rust_hdl_core::prelude::*;
use warpline_regmap::layout::completion;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// log2 of the octets of an entry.
pub const ENTRY_BITS: usize = (4 * completion::WORDS).ilog2() as usize;

/// State of the held event.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Step {
    /// Idle until an event and room for it are there.
    Wait,
    /// Add the slot to the low half of the base.
    Low,
    /// Add the carry to the high half.
    High,
    /// Offer address and beats to the bus.
    Send,
}

/// Completion writer on a bus of W bits, K = W/8 octets.
#[derive(Block)]
#[block(entry: usize, beats: usize, even_lanes: u64, odd_lanes: u64, phase_bit: Bits<256>)]
pub struct CompletionWriter<const W: usize, const K: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Entry to write, PHASE zero.
    pub s_event: Signal<In, Bits<256>>,
    /// It is valid.
    pub s_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_ready: Signal<Out, Bit>,
    /// Entry of the transmit side, PHASE zero.
    pub s_send_event: Signal<In, Bits<256>>,
    /// It is valid.
    pub s_send_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_send_ready: Signal<Out, Bit>,
    /// Pulse: a fence behind the events accepted so far. One at a time.
    pub s_fence: Signal<In, Bit>,
    /// Pulse: the entries in front of the fence are in memory.
    pub fence_done: Signal<Out, Bit>,
    /// Bus address of the queue, 64-octet aligned.
    pub base: Signal<In, Bits<64>>,
    /// Entries of the queue, a power of two up to 65536; 0 = none, events are held.
    pub entries: Signal<In, Bits<17>>,
    /// Entries that the host has consumed, modulo 2^32.
    pub consumer: Signal<In, Bits<32>>,
    /// Pulse: `base` and `entries` describe a new queue from the next cycle on.
    pub restart: Signal<In, Bit>,
    /// Entries that are in memory, modulo 2^32.
    pub producer: Signal<Out, Bits<32>>,
    /// An entry of this queue could not be written.
    pub fault: Signal<Out, Bit>,
    /// Write bursts. WLAST comes with WVALID only.
    pub m_axi: WriteRequestOut<W, K>,
    /// Pulse: a burst is answered.
    pub b_valid: Signal<In, Bit>,
    /// It was not written.
    pub b_error: Signal<In, Bit>,

    step: Dff<Step>,
    held_valid: Dff<Bit>,
    /// The next event is one of the transmit side, which offers one.
    send_next: Dff<Bit>,
    held: Dff<Bits<256>>,
    given: Dff<Bits<32>>,
    used: Dff<Bits<32>>,
    room: Dff<Bit>,
    slot: Dff<Bits<16>>,
    phase: Dff<Bit>,
    low: Dff<Bits<28>>,
    high: Dff<Bits<32>>,
    address_valid: Dff<Bit>,
    beat_valid: Dff<Bit>,
    /// Beats behind this one.
    beats_left: Dff<Bits<2>>,
    /// A beat is valid, and it is the last one: a register of its own, since `write_mux` ends the burst's turn with it.
    last_valid: Dff<Bit>,
    flight: Dff<Bits<8>>,
    draining: Dff<Bit>,
    done: Dff<Bits<32>>,
    faulty: Dff<Bit>,
    fenced: Dff<Bit>,
    left: Dff<Bits<8>>,

    launch: Signal<Local, Bit>,
    unanswered: Signal<Local, Bits<8>>,
    slot_mask: Signal<Local, Bits<17>>,
    lap: Signal<Local, Bits<17>>,
    entry: Signal<Local, Bits<32>>,
    data: Signal<Local, Bits<W>>,
    #[constant(ENTRY_BITS)]
    entry_bits: Constant<Bits<8>>,
    #[constant(phase_bit)]
    phase_bit: Constant<Bits<256>>,
    #[constant(beats - 1)]
    length: Constant<Bits<8>>,
    #[constant(beats - 1)]
    beats_less_one: Constant<Bits<2>>,
    #[constant(beats == 1)]
    one_beat: Constant<Bit>,
    #[constant(if beats > 1 { W } else { 0 })]
    beat_shift: Constant<Bits<16>>,
    #[constant(if K > entry { 8 * entry } else { 0 })]
    copy_shift: Constant<Bits<16>>,
    #[constant(even_lanes)]
    even_lanes: Constant<Bits<K>>,
    #[constant(odd_lanes)]
    odd_lanes: Constant<Bits<K>>,
    #[constant(0xffff_ffff & !(K - 1))]
    aligned: Constant<Bits<32>>,
    #[constant(0xffff_ffff_u64)]
    full: Constant<Bits<32>>,
}

impl<const W: usize, const K: usize> Default for CompletionWriter<W, K> {
    /// # Panics
    /// When W is not 64, 128, 256 or 512, or K not W/8.
    fn default() -> Self {
        assert!(
            matches!(W, 64 | 128 | 256 | 512) && W == 8 * K,
            "{W} bits in {K} lanes"
        );
        let entry = 1 << ENTRY_BITS;
        let beats = if K < entry { entry / K } else { 1 };
        let lanes = u64::MAX >> (64 - K);
        let (even_lanes, odd_lanes) = match K > entry {
            true => (lanes >> entry, lanes >> entry << entry),
            false => (lanes, lanes),
        };
        let mut phase_bit = Bits::<256>::default();
        phase_bit.set_bits::<1>(completion::PHASE.lsb, 1_u64.into());
        Self::assemble(entry, beats, even_lanes, odd_lanes, phase_bit)
    }
}

impl<const W: usize, const K: usize> Logic for CompletionWriter<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("input");
        self.s_ready.next = !self.held_valid.q.val() & !self.send_next.q.val();
        self.s_send_ready.next = !self.held_valid.q.val() & self.send_next.q.val();
        if !self.held_valid.q.val() {
            if self.send_next.q.val() {
                self.held_valid.d.next = self.s_send_valid.val();
                self.held.d.next = self.s_send_event.val();
                self.send_next.d.next = false;
            } else {
                self.held_valid.d.next = self.s_valid.val();
                self.held.d.next = self.s_event.val();
                self.send_next.d.next = self.s_send_valid.val();
            }
        }

        comment!(
            "room: two cycles behind `given`, which changes three cycles before this is used again"
        );
        self.used.d.next = self.given.q.val() - self.consumer.val();
        self.room.d.next = self.used.q.val() < bit_cast::<32, 17>(self.entries.val());

        comment!(
            "slot and PHASE: the bits of the entry's number below and at the size of the queue"
        );
        self.slot_mask.next = self.entries.val() - 1;
        self.lap.next = self.given.q.val().get_bits::<17>(0) & self.entries.val();
        self.launch.next = false;
        match self.step.q.val() {
            Step::Wait => {
                if self.held_valid.q.val()
                    & self.room.q.val()
                    & !self.flight.q.val().get_bit(6)
                    & !self.draining.q.val()
                    & !self.restart.val()
                {
                    self.slot.d.next = self.given.q.val().get_bits::<16>(0)
                        & self.slot_mask.val().get_bits::<16>(0);
                    self.phase.d.next = !self.lap.val().any();
                    self.given.d.next = self.given.q.val() + 1;
                    self.step.d.next = Step::Low;
                }
            }
            Step::Low => {
                self.low.d.next = bit_cast::<28, 27>(self.base.val().get_bits::<27>(5))
                    + bit_cast::<28, 16>(self.slot.q.val());
                self.step.d.next = Step::High;
                if self.restart.val() {
                    self.step.d.next = Step::Wait;
                }
            }
            Step::High => {
                self.high.d.next = self.base.val().get_bits::<32>(32)
                    + bit_cast::<32, 1>(self.low.q.val().get_bits::<1>(27));
                self.step.d.next = Step::Wait;
                if !self.restart.val() {
                    self.launch.next = true;
                    self.step.d.next = Step::Send;
                }
            }
            Step::Send => {
                if !self.address_valid.q.val() & !self.beat_valid.q.val() {
                    self.step.d.next = Step::Wait;
                }
            }
        }

        comment!("output: address and beats are independent");
        self.entry.next =
            bit_cast::<32, 27>(self.low.q.val().get_bits::<27>(0)) << self.entry_bits.val();
        self.m_axi.awaddr.next = bit_cast::<64, 32>(self.entry.val() & self.aligned.val())
            | (bit_cast::<64, 32>(self.high.q.val()) << 32);
        self.m_axi.awlen.next = self.length.val();
        self.m_axi.awvalid.next = self.address_valid.q.val();
        self.data.next = bit_cast::<W, 256>(self.held.q.val());
        self.m_axi.wdata.next = self.data.val() | (self.data.val() << self.copy_shift.val());
        self.m_axi.wstrb.next = self.even_lanes.val();
        if self.slot.q.val().get_bit(0) {
            self.m_axi.wstrb.next = self.odd_lanes.val();
        }
        self.m_axi.wlast.next = self.last_valid.q.val();
        self.m_axi.wvalid.next = self.beat_valid.q.val();
        if self.m_axi.awready.val() {
            self.address_valid.d.next = false;
        }
        if self.beat_valid.q.val() & self.m_axi.wready.val() {
            self.held.d.next = self.held.q.val() >> self.beat_shift.val();
            self.beats_left.d.next = self.beats_left.q.val() - 1;
            self.last_valid.d.next = self.beats_left.q.val() == 1;
            if self.last_valid.q.val() {
                self.last_valid.d.next = false;
                self.beat_valid.d.next = false;
                self.held_valid.d.next = false;
            }
        }
        if self.launch.val() {
            self.address_valid.d.next = true;
            self.beat_valid.d.next = true;
            self.beats_left.d.next = self.beats_less_one.val();
            self.last_valid.d.next = self.one_beat.val();
            if self.phase.q.val() {
                self.held.d.next = self.held.q.val() | self.phase_bit.val();
            }
        }

        comment!("responses");
        if self.launch.val() & !self.b_valid.val() {
            self.flight.d.next = self.flight.q.val() + 1;
        }
        if !self.launch.val() & self.b_valid.val() {
            self.flight.d.next = self.flight.q.val() - 1;
        }
        if self.b_valid.val() & !self.draining.q.val() {
            self.done.d.next = self.done.q.val() + 1;
            self.faulty.d.next = self.faulty.q.val() | self.b_error.val();
        }
        self.producer.next = self.done.q.val();
        self.fault.next = self.faulty.q.val();

        comment!("a fence: the entries under way, and the held one unless it is one of them");
        self.unanswered.next = self.flight.q.val();
        if self.held_valid.q.val() & !self.beat_valid.q.val() {
            self.unanswered.next = self.flight.q.val() + 1;
        }
        self.fence_done.next = self.fenced.q.val() & !self.left.q.val().any();
        if self.fence_done.val() {
            self.fenced.d.next = false;
        }
        if self.b_valid.val() {
            self.left.d.next = self.left.q.val() - 1;
        }
        if self.s_fence.val() {
            self.fenced.d.next = true;
            self.left.d.next = self.unanswered.val();
            if self.b_valid.val() {
                self.left.d.next = self.unanswered.val() - 1;
            }
        }

        comment!("a new queue");
        if !self.flight.q.val().any() {
            self.draining.d.next = false;
        }
        if self.restart.val() {
            self.draining.d.next = true;
            self.given.d.next = 0.into();
            self.done.d.next = 0.into();
            self.faulty.d.next = false;
            self.used.d.next = self.full.val();
            self.room.d.next = false;
        }
        if self.reset.val() {
            self.step.d.next = Step::Wait;
            self.held_valid.d.next = false;
            self.send_next.d.next = false;
            self.given.d.next = 0.into();
            self.used.d.next = self.full.val();
            self.room.d.next = false;
            self.address_valid.d.next = false;
            self.beat_valid.d.next = false;
            self.last_valid.d.next = false;
            self.flight.d.next = 0.into();
            self.draining.d.next = false;
            self.done.d.next = 0.into();
            self.faulty.d.next = false;
            self.fenced.d.next = false;
        }
    }
}

//! ReceiveRings: fetches the descriptors of receive rings from host memory and posts the buffers that they describe.
//!
//! ```text
//!  doorbell ─► produced ─┐                     AR ─► bus ─► R
//!                        ├─► behind, and room? ─┘            │ descriptors, one every two cycles
//!  set ──────► fetched ──┤       (a row)                  [queue] ─► PostReceive ─► check
//!                        │                                                            │
//!              taken ◄───┴────────────── took ◄───────────────────────────────────────┤
//!  produced − taken > distance ────────► coming ──────────────────────────────────────┘
//!
//!  doorbell, posted, took ─► a row ─► produced ≠ posted? posted − taken ─► scarce, few, empty ─► pace
//! ```
//!
//! A ring is a row: stream and queue. Its state is four counts modulo 2^16: descriptors written by the host
//! (`produced`), descriptors requested (`fetched`), buffers posted (`posted`), and buffers used (`taken`). A row is *behind* when the first two
//! differ; its queue has room for as many buffers as the last two leave of `RECEIVE_SLOTS`. A pointer moves through
//! the rows and stops at one that a doorbell has marked and that is not full. All descriptors up to the end of a
//! block of 256 octets are read by one burst of whole beats; octets in front of the first descriptor and behind the
//! last one are skipped. A ring begins and ends with a block, so no burst wraps. While descriptors are posted, the
//! next burst is under way.
//!
//! **Doorbells are never too late.** `coming` compares the counts themselves, for the row of `check`'s key. A
//! doorbell whose write has been answered has changed `produced`, so `check` sees it for every segment whose first
//! beat arrives behind that response, however many rows and reads are in front of it.
//!
//! **Supply.** A row with descriptors that are not posted yet is short of buffers by how many posted ones are unused: *scarce*
//! below [`AMPLE`], *few* below [`SOME`], or *empty*. A stream is as short as the worst of its queues; `pace` holds its FPDUs back by
//! that, so that few of them reach `check` in front of their buffers. An empty row has room, so its descriptors are
//! fetched and posted, or their read fails: it is not empty for ever. A doorbell, a buffer that is posted and one that is used
//! have their row counted anew. One that is used goes first, since FPDUs are under way on the strength of it. Other rows than
//! those of rings that can be read are not short: they have nothing to wait for.
//!
//! **Close.** The rows of a closed stream are dropped at once, which must not be before `check` has frozen it. A
//! burst under way completes and is not posted; `quiet` is low until then, and until the buffers in the queue have
//! been posted (to queues that the next arm empties). A doorbell without a ring has no effect.
//!
//! **Faults.** A refused beat, or a burst that ends too early, is a fault of the stream: `check` freezes it, and its
//! rows are idle until it is closed. `coming` keeps its value, so that a held segment is discarded and not judged.
//!
//! Assumptions: no doorbells in three cycles in a row; `set` is for an armed stream, and not between `close` and `quiet`;
//! `took` belongs to the key, which was valid a cycle before, pulses at most every second cycle, and not within 8 cycles
//! of the buffer's `buffer_done`; `check` refuses a buffer only after an error (which is a fault, too).
//!
//! Latency: 8 cycles from a doorbell to AR if the pointer is at its row, and up to 4·S more; 4 cycles from the last
//! beat to the first request to `check`. Throughput: a burst takes 9 cycles, two for each descriptor, and the time of
//! the bus; a buffer takes 3 cycles and the time of `check`. Both overlap; the slower one counts. The supply follows `took` in
//! [`SUPPLIED`] cycles and a doorbell in one more at most. A buffer that is posted shows after all of them.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::Config;
use crate::parts::axi::{
    AxiReadMaster, BURST_INCR, CACHE_NOT_BUFFERABLE, PROT_DATA, READ_BLOCK, size_code,
};
use crate::parts::queue::{Queue, Store};
use rust_hdl_core::prelude::*;
use warpline_regmap::layout::{receive_buffer, receive_descriptor, receive_ring};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Octets of a descriptor.
pub const DESCRIPTOR: usize = 4 * receive_descriptor::WORDS;
/// log2 of the descriptors held until they are posted: those of a burst.
const LOG: usize = (READ_BLOCK / DESCRIPTOR).ilog2() as usize;

/// Unused buffers from which on a queue is not scarce of them: more FPDUs than can be under way, which is 16 in the queue of
/// `scan` and 32 behind it.
pub const AMPLE: usize = 56;
/// Unused buffers from which on they are not few.
pub const SOME: usize = 8;
/// Cycles from `took` to the supply that shows it.
pub const SUPPLIED: usize = 5;

/// State of the row in work.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Step {
    /// The pointer searches for one.
    Seek,
    /// Its counts are read.
    Load,
    /// Computes their differences.
    Count,
    /// Decides whether it is behind and has room. Descriptors behind, up to the end of the block.
    Block,
    /// Descriptors with room; low half of the address.
    Room,
    /// Length of the burst; high half of the address.
    Burst,
    /// The address is offered to the bus.
    Address,
    /// Beats arrive.
    Beats,
    /// Checks the responses.
    Judge,
}

/// Place of a ring.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct Ring {
    /// Address, less the eight low bits.
    base: Bits<56>,
    /// Descriptors less one.
    mask: Bits<16>,
}

/// A buffer for `check`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct Buffer {
    /// Stream and queue.
    row: Bits<6>,
    /// Octets.
    length: Bits<32>,
    /// Bus address.
    address: Bits<64>,
}

/// ReceiveRings on a bus of W bits, K = W/8 octets, for S streams of four queues.
#[derive(Block)]
#[block(slots: usize)]
pub struct ReceiveRings<const W: usize, const K: usize, const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Rises with the reset of the ports, a cycle before `reset`, and falls with it.
    pub port_reset: Signal<In, Bit>,

    /// Pulse: the host has written descriptors for a queue.
    pub doorbell: Signal<In, Bit>,
    /// Stream of the queue.
    pub doorbell_stream: Signal<In, Bits<8>>,
    /// Number of the queue.
    pub doorbell_queue: Signal<In, Bits<8>>,
    /// Descriptors written since the ring was set, modulo 2^16.
    pub doorbell_value: Signal<In, Bits<16>>,

    /// `arguments` describe a new ring; stable until `set_ready`.
    pub set: Signal<In, Bit>,
    /// `regmap::layout::receive_ring`, checked.
    pub arguments: Signal<In, Bits<128>>,
    /// Pulse: the queue has this ring, empty.
    pub set_ready: Signal<Out, Bit>,
    /// With `set_ready`: it had one before, and keeps that.
    pub set_failed: Signal<Out, Bit>,
    /// Pulse: the rings of `stream` are removed.
    pub close: Signal<In, Bit>,
    /// Stream of `close` and `quiet`.
    pub stream: Signal<In, Bits<8>>,
    /// Nothing of `stream` is under way; from 4 cycles after `close` on.
    pub quiet: Signal<Out, Bit>,

    /// Reads.
    pub m_axi: AxiReadMaster<W>,

    /// Arguments of a `CheckCommand::PostReceive`.
    pub buffer: Signal<Out, Bits<128>>,
    /// They are valid.
    pub buffer_valid: Signal<Out, Bit>,
    /// They are accepted.
    pub buffer_ready: Signal<In, Bit>,
    /// Pulse: the buffer is posted.
    pub buffer_done: Signal<In, Bit>,
    /// With `buffer_done`: it is refused.
    pub buffer_failed: Signal<In, Bit>,

    /// Stream of `check`'s key.
    pub key_stream: Signal<In, Bits<8>>,
    /// Its untagged queue.
    pub key_queue: Signal<In, Bits<2>>,
    /// How many of its buffers lie in front of the FPDU's.
    pub key_distance: Signal<In, Bits<8>>,
    /// Pulse: a buffer of that queue has been used.
    pub took: Signal<In, Bit>,
    /// More buffers than that are posted to that queue or under way to it; 3 cycles behind the key, 1 behind the distance.
    pub coming: Signal<Out, Bit>,
    /// Descriptors of a queue of the stream are not posted yet, and fewer buffers than [`AMPLE`] are posted to it and unused,
    pub scarce: [Signal<Out, Bit>; S],
    /// fewer than [`SOME`],
    pub few: [Signal<Out, Bit>; S],
    /// or none.
    pub empty: [Signal<Out, Bit>; S],
    /// Pulse: descriptors of `fault_stream` could not be read.
    pub fault: Signal<Out, Bit>,
    /// Stream of `fault`.
    pub fault_stream: Signal<Out, Bits<8>>,

    // rows; those that are read for two keys at once lie in two stores
    rings: Store<Ring, 6>,
    fetched: Store<Bits<16>, 6>,
    produced: Store<Bits<16>, 6>,
    produced_key: Store<Bits<16>, 6>,
    taken: Store<Bits<16>, 6>,
    taken_key: Store<Bits<16>, 6>,
    posted: Store<Bits<16>, 6>,
    /// The queues of a stream that have a ring.
    ring: [Dff<Bits<4>>; S],
    /// Those that may be behind.
    dirty: [Dff<Bits<4>>; S],
    /// Those whose buffers are all posted and none used since.
    full: [Dff<Bits<4>>; S],
    /// Those at which the pointer stops.
    wants: [Dff<Bits<4>>; S],
    /// A read of the stream failed.
    broken: [Dff<Bit>; S],
    one_more: Dff<Bits<16>>,
    rung: Dff<Bit>,
    rung_stream: Dff<Bits<8>>,
    rung_bit: Dff<Bits<4>>,
    rung_row: Dff<Bits<6>>,
    rung_value: Dff<Bits<16>>,
    // the key, a cycle later, and whether its first buffer has been used
    used_one: Dff<Bit>,
    key_of: Dff<Bits<8>>,
    key_bit: Dff<Bits<4>>,
    key_row: Dff<Bits<6>>,
    closed: Dff<Bit>,
    closed_stream: Dff<Bits<8>>,
    set_new: Dff<Bit>,
    set_writes: Dff<Bit>,
    set_refuses: Dff<Bit>,
    set_had: Dff<Bits<4>>,
    set_row: Dff<Bits<6>>,
    set_bit: Dff<Bits<4>>,
    set_mask: Dff<Bits<16>>,
    set_done: Dff<Bit>,
    set_refused: Dff<Bit>,
    known: Dff<Bits<16>>,
    known_ring: Dff<Bit>,
    expects: Dff<Bit>,

    // supply: a row whose counts have changed,
    bell_held: Dff<Bit>,
    bell_row: Dff<Bits<6>>,
    posted_one: Dff<Bit>,
    posted_row: Dff<Bits<6>>,
    counts: Dff<Bit>,
    counts_posted: Dff<Bit>,
    count_row: Dff<Bits<6>>,
    // its counts,
    counted: Dff<Bit>,
    counted_row: Dff<Bits<6>>,
    has_produced: Dff<Bits<16>>,
    has_posted: Dff<Bits<16>>,
    has_taken: Dff<Bits<9>>,
    // what they say,
    judged: Dff<Bit>,
    judged_row: Dff<Bits<6>>,
    unposted: Dff<Bit>,
    unused: Dff<Bits<9>>,
    // and the rows, by stream and queue
    row_scarce: [[Dff<Bit>; 4]; S],
    row_few: [[Dff<Bit>; 4]; S],
    row_empty: [[Dff<Bit>; 4]; S],

    // fetch
    seek: Dff<Bits<6>>,
    seek_next: Dff<Bits<6>>,
    step: Dff<Step>,
    row: Dff<Bits<6>>,
    row_open: Dff<Bit>,
    place: Dff<Ring>,
    first: Dff<Bits<16>>,
    written: Dff<Bits<16>>,
    gone: Dff<Bits<16>>,
    behind: Dff<Bits<16>>,
    used: Dff<Bits<16>>,
    most: Dff<Bits<16>>,
    room: Dff<Bits<16>>,
    left: Dff<Bits<16>>,
    some_left: Dff<Bit>,
    low: Dff<Bits<25>>,
    high: Dff<Bits<32>>,
    address_valid: Dff<Bit>,
    length: Dff<Bits<8>>,

    // beats to descriptors, half a descriptor a cycle
    held_valid: Dff<Bit>,
    held: Dff<Bits<W>>,
    halves: Dff<Bits<4>>,
    at_last_half: Dff<Bit>,
    ends: Dff<Bit>,
    bad: Dff<Bit>,
    skip: Dff<Bits<4>>,
    skips: Dff<Bit>,
    second: Dff<Bit>,
    address: Dff<Bits<64>>,

    // post
    buffers: Queue<Buffer, LOG>,
    queued: Dff<Bits<8>>,
    asked: Dff<Bit>,
    ahead: Dff<Bits<8>>,
    still: Dff<Bit>,
    fault_now: Dff<Bit>,
    fault_of: Dff<Bits<8>>,

    doorbell_bit: Signal<Local, Bits<4>>,
    bell_waits: Signal<Local, Bit>,
    posted_waits: Signal<Local, Bit>,
    one_more_posted: Signal<Local, Bits<16>>,
    is_scarce: Signal<Local, Bit>,
    is_few: Signal<Local, Bit>,
    is_empty: Signal<Local, Bit>,
    judged_stream: [Signal<Local, Bit>; S],
    given_stream: Signal<Local, Bits<8>>,
    given_queue: Signal<Local, Bits<2>>,
    set_stream: Signal<Local, Bits<8>>,
    set_now: Signal<Local, Bit>,
    set_good: Signal<Local, Bit>,
    key_ring: Signal<Local, Bit>,
    seek_stream: Signal<Local, Bits<8>>,
    seek_bit: Signal<Local, Bits<4>>,
    wanted: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    row_stream: Signal<Local, Bits<8>>,
    row_bit: Signal<Local, Bits<4>>,
    loads: Signal<Local, Bit>,
    behind_still: Signal<Local, Bit>,
    has_room: Signal<Local, Bit>,
    dirty_left: [Signal<Local, Bits<4>>; S],
    full_left: [Signal<Local, Bits<4>>; S],
    to_block_end: Signal<Local, Bits<16>>,
    offset: Signal<Local, Bits<16>>,
    from: Signal<Local, Bits<8>>,
    to: Signal<Local, Bits<8>>,
    to_skip: Signal<Local, Bits<4>>,
    takes: Signal<Local, Bit>,
    wants_half: Signal<Local, Bit>,
    push: Signal<Local, Bit>,
    stalled: Signal<Local, Bit>,
    pop: Signal<Local, Bit>,
    refused: Signal<Local, Bit>,
    waiting: Signal<Local, Bits<8>>,
    last_half: Signal<Local, Bit>,
    breaks: Signal<Local, Bit>,
    post_stream: Signal<Local, Bits<8>>,

    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(1)]
    one: Constant<Bits<4>>,
    #[constant(AMPLE)]
    ample: Constant<Bits<9>>,
    #[constant(SOME)]
    some: Constant<Bits<9>>,
    #[constant(4 * S - 1)]
    last_row: Constant<Bits<6>>,
    #[constant(slots)]
    slots: Constant<Bits<16>>,
    #[constant(K.ilog2())]
    beat_bits: Constant<Bits<8>>,
    #[constant(K - 1)]
    lanes: Constant<Bits<8>>,
    #[constant(K / 8 - 1)]
    halves_less_one: Constant<Bits<4>>,
    #[constant(if K > 8 { 64 } else { 0 })]
    half_shift: Constant<Bits<16>>,
    #[constant(0xffff_ffff & !(K - 1))]
    aligned: Constant<Bits<32>>,
    #[constant(receive_ring::STREAM.lsb)]
    stream_at: Constant<Bits<8>>,
    #[constant(receive_ring::QUEUE.lsb)]
    queue_at: Constant<Bits<8>>,
    #[constant(receive_ring::ENTRIES.lsb)]
    entries_at: Constant<Bits<8>>,
    #[constant(receive_ring::BASE.lsb)]
    base_at: Constant<Bits<8>>,
    #[constant(size_code(K))]
    size: Constant<Bits<3>>,
    #[constant(BURST_INCR)]
    burst: Constant<Bits<2>>,
    #[constant(CACHE_NOT_BUFFERABLE)]
    cache: Constant<Bits<4>>,
    #[constant(PROT_DATA)]
    prot: Constant<Bits<3>>,
}

impl<const W: usize, const K: usize, const S: usize> ReceiveRings<W, K, S> {
    /// The rings of the device that `config` describes.
    ///
    /// # Panics
    /// When W is not 64, 128, 256 or 512, K not W/8, S not 1 to 16, or `config.receive_slots` not 2 to 256.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(
            matches!(W, 64 | 128 | 256 | 512) && W == 8 * K,
            "{W} bits in {K} lanes"
        );
        assert!((1..=16).contains(&S), "{S} streams: give 1 to 16");
        let slots = config.receive_slots;
        assert!((2..=256).contains(&slots), "{slots} receive slots");
        assert!(
            (receive_buffer::STREAM, receive_buffer::QUEUE)
                == (receive_ring::STREAM, receive_ring::QUEUE)
                && receive_buffer::LENGTH.lsb == 32
                && receive_buffer::ADDRESS.lsb == 64
                && receive_descriptor::ADDRESS.lsb == 0
                && receive_descriptor::LENGTH.lsb == 64
                && DESCRIPTOR == 16,
            "the kernel puts a buffer together field by field"
        );
        Self::assemble(slots)
    }
}

impl<const W: usize, const K: usize, const S: usize> Logic for ReceiveRings<W, K, S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.buffers.reset.next = self.reset.val();

        comment!("rows, and their bits in the vectors of their streams");
        self.rung_row.d.next = bit_cast::<6, 2>(self.doorbell_queue.val().get_bits::<2>(0))
            | (bit_cast::<6, 4>(self.doorbell_stream.val().get_bits::<4>(0)) << 2);
        self.doorbell_bit.next = self.one.val() << self.doorbell_queue.val().get_bits::<2>(0);
        self.rung_stream.d.next = self.doorbell_stream.val();
        self.rung_bit.d.next = self.doorbell_bit.val();
        self.rung_value.d.next = self.doorbell_value.val();
        self.given_stream.next = self
            .arguments
            .val()
            .get_bits::<8>(self.stream_at.val().index());
        self.given_queue.next = self
            .arguments
            .val()
            .get_bits::<2>(self.queue_at.val().index());
        self.set_row.d.next = bit_cast::<6, 2>(self.given_queue.val())
            | (bit_cast::<6, 4>(self.given_stream.val().get_bits::<4>(0)) << 2);
        self.set_stream.next = bit_cast::<8, 4>(self.set_row.q.val().get_bits::<4>(2));
        self.set_bit.d.next = self.one.val() << self.given_queue.val();
        self.key_row.d.next = bit_cast::<6, 2>(self.key_queue.val())
            | (bit_cast::<6, 4>(self.key_stream.val().get_bits::<4>(0)) << 2);
        self.key_bit.d.next = self.one.val() << self.key_queue.val();
        self.key_of.d.next = self.key_stream.val();
        self.used_one.d.next = self.took.val();
        self.seek_stream.next = bit_cast::<8, 4>(self.seek.q.val().get_bits::<4>(2));
        self.seek_bit.next = self.one.val() << self.seek.q.val().get_bits::<2>(0);
        self.row_stream.next = bit_cast::<8, 4>(self.row.q.val().get_bits::<4>(2));
        self.row_bit.next = self.one.val() << self.row.q.val().get_bits::<2>(0);

        comment!("their state");
        self.rung.d.next = false;
        self.set_had.d.next = 0.into();
        self.key_ring.next = false;
        self.wanted.next = false;
        self.row_open.d.next = false;
        for i in 0..S {
            if self.doorbell_stream.val().get_bits::<4>(0) == self.index[i].val() {
                self.rung.d.next = self.doorbell.val()
                    & !self.doorbell_queue.val().get_bits::<6>(2).any()
                    & (self.ring[i].q.val() & self.doorbell_bit.val()).any();
            }
            if self.given_stream.val().get_bits::<4>(0) == self.index[i].val() {
                self.set_had.d.next = self.ring[i].q.val();
            }
            if self.key_of.q.val().get_bits::<4>(0) == self.index[i].val() {
                self.key_ring.next = (self.ring[i].q.val() & self.key_bit.q.val()).any();
            }
            if self.seek_stream.val().get_bits::<4>(0) == self.index[i].val() {
                self.wanted.next = (self.wants[i].q.val() & self.seek_bit.val()).any();
            }
            if self.row_stream.val().get_bits::<4>(0) == self.index[i].val() {
                self.row_open.d.next =
                    (self.ring[i].q.val() & self.row_bit.val()).any() & !self.broken[i].q.val();
            }
        }

        comment!(
            "a new ring writes its counts in the first cycle without another write; its row is not used before"
        );
        self.set_good.next = !(self.set_had.q.val() & self.set_bit.q.val()).any();
        self.set_now.next = self.set_refuses.q.val()
            | (self.set_writes.q.val()
                & !self.rung.q.val()
                & !self.used_one.q.val()
                & !self.counts_posted.q.val()
                & (self.step.q.val() != Step::Burst));
        self.set_new.d.next = self.set.val() & !self.set_now.val() & !self.set_done.q.val();
        self.set_writes.d.next = self.set_new.q.val() & !self.set_now.val() & self.set_good.val();
        self.set_refuses.d.next = self.set_new.q.val() & !self.set_now.val() & !self.set_good.val();
        self.set_mask.d.next = self
            .arguments
            .val()
            .get_bits::<16>(self.entries_at.val().index())
            - 1;
        self.set_done.d.next = self.set_now.val();
        self.set_refused.d.next = self.set_refuses.q.val();
        self.set_ready.next = self.set_done.q.val();
        self.set_failed.next = self.set_refused.q.val();
        self.rings.write.next = self.set_writes.q.val();
        self.rings.write_row.next = self.set_row.q.val();
        self.rings.data.next.base = self
            .arguments
            .val()
            .get_bits::<64>(self.base_at.val().index())
            .get_bits::<56>(8);
        self.rings.data.next.mask = self.set_mask.q.val();
        self.rings.read_row.next = self.row.q.val();

        comment!("the counts; `fetch` reads a row's when none is counted");
        self.produced.write.next = self.rung.q.val() | self.set_writes.q.val();
        self.produced.write_row.next = self.set_row.q.val();
        self.produced.data.next = 0.into();
        if self.rung.q.val() {
            self.produced.write_row.next = self.rung_row.q.val();
            self.produced.data.next = self.rung_value.q.val();
        }
        self.produced.read_row.next = self.row.q.val();
        self.taken.read_row.next = self.row.q.val();
        if self.counts.q.val() {
            self.produced.read_row.next = self.count_row.q.val();
            self.taken.read_row.next = self.count_row.q.val();
        }
        self.taken.write.next = self.used_one.q.val() | self.set_writes.q.val();
        self.taken.write_row.next = self.set_row.q.val();
        self.taken.data.next = 0.into();
        if self.used_one.q.val() {
            self.taken.write_row.next = self.key_row.q.val();
            self.taken.data.next = self.one_more.q.val();
        }
        self.fetched.write.next = (self.step.q.val() == Step::Burst) | self.set_writes.q.val();
        self.fetched.write_row.next = self.set_row.q.val();
        self.fetched.data.next = 0.into();
        if self.step.q.val() == Step::Burst {
            self.fetched.write_row.next = self.row.q.val();
            self.fetched.data.next = self.first.q.val() + self.left.q.val();
        }
        self.fetched.read_row.next = self.row.q.val();
        self.produced_key.write.next = self.produced.write.val();
        self.produced_key.write_row.next = self.produced.write_row.val();
        self.produced_key.data.next = self.produced.data.val();
        self.produced_key.read_row.next = self.key_row.q.val();
        self.taken_key.write.next = self.taken.write.val();
        self.taken_key.write_row.next = self.taken.write_row.val();
        self.taken_key.data.next = self.taken.data.val();
        self.taken_key.read_row.next = self.key_row.q.val();
        self.one_more.d.next = self.taken_key.out.val() + 1;
        self.known.d.next = self.produced_key.out.val() - self.taken_key.out.val();
        self.known_ring.d.next = self.key_ring.val();
        self.expects.d.next = self.known_ring.q.val()
            & (bit_cast::<16, 8>(self.key_distance.val()) < self.known.q.val());
        self.coming.next = self.expects.q.val();

        comment!(
            "supply: a row is counted when its counts show what has happened; a used buffer first, a posted one last"
        );
        self.bell_waits.next = self.used_one.q.val() & (self.rung.q.val() | self.bell_held.q.val());
        self.bell_held.d.next =
            self.bell_waits.val() | (self.bell_held.q.val() & self.rung.q.val());
        if self.rung.q.val() {
            self.bell_row.d.next = self.rung_row.q.val();
        }
        self.posted_waits.next = self.posted_one.q.val()
            & (self.used_one.q.val() | self.rung.q.val() | self.bell_held.q.val());
        self.counts.d.next = self.used_one.q.val()
            | self.rung.q.val()
            | self.bell_held.q.val()
            | self.posted_one.q.val();
        self.counts_posted.d.next = self.posted_one.q.val() & !self.posted_waits.val();
        self.count_row.d.next = self.posted_row.q.val();
        if self.rung.q.val() {
            self.count_row.d.next = self.rung_row.q.val();
        }
        if self.bell_held.q.val() {
            self.count_row.d.next = self.bell_row.q.val();
        }
        if self.used_one.q.val() {
            self.count_row.d.next = self.key_row.q.val();
        }
        self.posted.read_row.next = self.count_row.q.val();
        self.one_more_posted.next = self.posted.out.val() + self.counts_posted.q.val();
        self.posted.write.next = self.counts_posted.q.val() | self.set_writes.q.val();
        self.posted.write_row.next = self.set_row.q.val();
        self.posted.data.next = 0.into();
        if self.counts_posted.q.val() {
            self.posted.write_row.next = self.count_row.q.val();
            self.posted.data.next = self.one_more_posted.val();
        }
        self.counted.d.next = self.counts.q.val();
        self.counted_row.d.next = self.count_row.q.val();
        self.has_produced.d.next = self.produced.out.val();
        self.has_posted.d.next = self.one_more_posted.val();
        self.has_taken.d.next = self.taken.out.val().get_bits::<9>(0);
        self.judged.d.next = self.counted.q.val();
        self.judged_row.d.next = self.counted_row.q.val();
        self.unposted.d.next = self.has_produced.q.val() != self.has_posted.q.val();
        comment!("a queue holds 256 buffers at most");
        self.unused.d.next = self.has_posted.q.val().get_bits::<9>(0) - self.has_taken.q.val();
        self.is_scarce.next = self.unposted.q.val() & (self.unused.q.val() < self.ample.val());
        self.is_few.next = self.unposted.q.val() & (self.unused.q.val() < self.some.val());
        self.is_empty.next = self.unposted.q.val() & !self.unused.q.val().any();
        for i in 0..S {
            self.judged_stream[i].next = self.judged.q.val()
                & (self.judged_row.q.val().get_bits::<4>(2) == self.index[i].val());
            for k in 0..4 {
                if self.judged_stream[i].val()
                    & (self.judged_row.q.val().get_bits::<2>(0) == k.to_bits::<2>())
                    & self.ring[i].q.val().get_bit(k)
                {
                    self.row_scarce[i][k].d.next = self.is_scarce.val();
                    self.row_few[i][k].d.next = self.is_few.val();
                    self.row_empty[i][k].d.next = self.is_empty.val();
                }
                if self.broken[i].q.val()
                    | (self.closed.q.val()
                        & (self.closed_stream.q.val().get_bits::<4>(0) == self.index[i].val()))
                    | self.reset.val()
                {
                    self.row_scarce[i][k].d.next = false;
                    self.row_few[i][k].d.next = false;
                    self.row_empty[i][k].d.next = false;
                }
            }
            self.scarce[i].next = self.row_scarce[i][0].q.val()
                | self.row_scarce[i][1].q.val()
                | self.row_scarce[i][2].q.val()
                | self.row_scarce[i][3].q.val();
            self.few[i].next = self.row_few[i][0].q.val()
                | self.row_few[i][1].q.val()
                | self.row_few[i][2].q.val()
                | self.row_few[i][3].q.val();
            self.empty[i].next = self.row_empty[i][0].q.val()
                | self.row_empty[i][1].q.val()
                | self.row_empty[i][2].q.val()
                | self.row_empty[i][3].q.val();
        }

        comment!("seek: the pointer stops at a marked row");
        self.moves.next = !self.wanted.val() | (self.step.q.val() == Step::Seek);
        if self.moves.val() {
            self.seek.d.next = self.seek_next.q.val();
            self.seek_next.d.next = self.seek_next.q.val() + 1;
            if self.seek_next.q.val() == self.last_row.val() {
                self.seek_next.d.next = 0.into();
            }
        }

        comment!("a beat is held and decoded, half a descriptor at a time");
        self.wants_half.next = self.held_valid.q.val()
            & !self.skips.q.val()
            & self.some_left.q.val()
            & !self.bad.q.val();
        self.push.next = self.wants_half.val() & self.second.q.val() & self.row_open.q.val();
        self.stalled.next = self.push.val() & !self.buffers.s_ready.val();
        self.last_half.next =
            self.held_valid.q.val() & self.at_last_half.q.val() & !self.stalled.val();
        self.takes.next = (self.step.q.val() == Step::Beats)
            & (!self.held_valid.q.val() | (self.last_half.val() & !self.ends.q.val()));
        self.m_axi.rready.next = self.takes.val();
        self.buffers.s_valid.next = self.push.val();
        self.buffers.s_data.next.row = self.row.q.val();
        self.buffers.s_data.next.length = self.held.q.val().get_bits::<32>(0);
        self.buffers.s_data.next.address = self.address.q.val();
        if self.held_valid.q.val() & !self.stalled.val() {
            self.held.d.next = self.held.q.val() >> self.half_shift.val();
            self.halves.d.next = self.halves.q.val() - 1;
            self.at_last_half.d.next = self.halves.q.val() == 1;
            if self.last_half.val() {
                self.held_valid.d.next = false;
            }
            if self.skips.q.val() {
                self.skip.d.next = self.skip.q.val() - 1;
                self.skips.d.next = self.skip.q.val() != 1;
            }
            if self.wants_half.val() {
                self.address.d.next = self.held.q.val().get_bits::<64>(0);
                self.second.d.next = !self.second.q.val();
                if self.second.q.val() {
                    self.left.d.next = self.left.q.val() - 1;
                    self.some_left.d.next = self.left.q.val() != 1;
                }
            }
        }
        if self.takes.val() & self.m_axi.rvalid.val() {
            self.held_valid.d.next = true;
            self.held.d.next = self.m_axi.rdata.val();
            self.halves.d.next = self.halves_less_one.val();
            self.at_last_half.d.next = !self.halves_less_one.val().any();
            self.ends.d.next = self.m_axi.rlast.val();
            self.bad.d.next = self.bad.q.val() | self.m_axi.rresp.val().get_bit(1);
        }

        comment!("post: one buffer at a time");
        self.post_stream.next = bit_cast::<8, 4>(self.buffers.m_data.val().row.get_bits::<4>(2));
        self.buffer.next = bit_cast::<128, 8>(self.post_stream.val())
            | (bit_cast::<128, 2>(self.buffers.m_data.val().row.get_bits::<2>(0)) << 8)
            | (bit_cast::<128, 32>(self.buffers.m_data.val().length) << 32)
            | (bit_cast::<128, 64>(self.buffers.m_data.val().address) << 64);
        comment!("not before the last one is counted, so that it is not forgotten");
        self.buffer_valid.next =
            self.buffers.m_valid.val() & !self.asked.q.val() & !self.posted_waits.val();
        if self.buffer_ready.val() {
            self.asked.d.next = true;
        }
        self.pop.next = self.asked.q.val() & self.buffer_done.val();
        self.posted_one.d.next = self.pop.val() | self.posted_waits.val();
        if self.pop.val() {
            self.posted_row.d.next = self.buffers.m_data.val().row;
        }
        self.refused.next = self.pop.val() & self.buffer_failed.val();
        if self.pop.val() {
            self.asked.d.next = false;
        }
        self.buffers.m_ready.next = self.pop.val();

        comment!("fetch");
        self.loads.next = (self.step.q.val() == Step::Load) & !self.counts.q.val();
        self.behind_still.next = false;
        self.has_room.next = false;
        self.breaks.next = false;
        self.to_skip.next = 0.into();
        self.to_block_end.next = bit_cast::<16, 4>(self.first.q.val().get_bits::<4>(0) ^ 0xF) + 1;
        self.offset.next = self.first.q.val() & self.place.q.val().mask;
        self.from.next = bit_cast::<8, 4>(self.first.q.val().get_bits::<4>(0)) << 4;
        self.to.next = self.from.val() + (self.left.q.val().get_bits::<8>(0) << 4) - 1;
        match self.step.q.val() {
            Step::Seek => {
                self.row.d.next = self.seek.q.val();
                if self.wanted.val() {
                    self.step.d.next = Step::Load;
                }
            }
            Step::Load => {
                comment!(
                    "the row counts as caught up and full; a doorbell or a used buffer undoes that, even in this cycle"
                );
                self.place.d.next = self.rings.out.val();
                self.first.d.next = self.fetched.out.val();
                self.written.d.next = self.produced.out.val();
                self.gone.d.next = self.taken.out.val();
                if self.loads.val() {
                    self.step.d.next = Step::Count;
                }
            }
            Step::Count => {
                self.behind.d.next = self.written.q.val() - self.first.q.val();
                self.used.d.next = self.first.q.val() - self.gone.q.val();
                self.step.d.next = Step::Block;
            }
            Step::Block => {
                comment!("not behind, or no room");
                self.behind_still.next = self.behind.q.val().any() & self.row_open.q.val();
                self.has_room.next =
                    (self.used.q.val() != self.slots.val()) | !self.row_open.q.val();
                self.most.d.next = self.to_block_end.val();
                if self.behind.q.val() < self.to_block_end.val() {
                    self.most.d.next = self.behind.q.val();
                }
                self.room.d.next = self.slots.val() - self.used.q.val();
                self.step.d.next = Step::Seek;
                if self.behind_still.val() & self.has_room.val() {
                    self.step.d.next = Step::Room;
                }
            }
            Step::Room => {
                self.left.d.next = self.most.q.val();
                if self.room.q.val() < self.most.q.val() {
                    self.left.d.next = self.room.q.val();
                }
                self.low.d.next = bit_cast::<25, 24>(self.place.q.val().base.get_bits::<24>(0))
                    + bit_cast::<25, 12>(self.offset.val().get_bits::<12>(4));
                self.step.d.next = Step::Burst;
            }
            Step::Burst => {
                self.high.d.next = self.place.q.val().base.get_bits::<32>(24)
                    + bit_cast::<32, 1>(self.low.q.val().get_bits::<1>(24));
                self.some_left.d.next = self.left.q.val().any();
                self.length.d.next = (self.to.val() >> self.beat_bits.val())
                    - (self.from.val() >> self.beat_bits.val());
                self.to_skip.next = (self.from.val() & self.lanes.val()).get_bits::<4>(3);
                self.skip.d.next = self.to_skip.val();
                self.skips.d.next = self.to_skip.val().any();
                self.bad.d.next = false;
                self.second.d.next = false;
                self.address_valid.d.next = true;
                self.step.d.next = Step::Address;
            }
            Step::Address => {
                if self.m_axi.arready.val() {
                    self.address_valid.d.next = false;
                    self.step.d.next = Step::Beats;
                }
            }
            Step::Beats => {
                if self.last_half.val() & self.ends.q.val() {
                    self.step.d.next = Step::Judge;
                }
            }
            Step::Judge => {
                if !self.refused.val() {
                    self.breaks.next =
                        (self.bad.q.val() | self.some_left.q.val()) & self.row_open.q.val();
                    self.step.d.next = Step::Seek;
                }
            }
        }
        self.m_axi.araddr.next = bit_cast::<64, 32>(
            ((bit_cast::<32, 24>(self.low.q.val().get_bits::<24>(0)) << 8)
                | bit_cast::<32, 8>(self.from.val()))
                & self.aligned.val(),
        ) | (bit_cast::<64, 32>(self.high.q.val()) << 32);
        self.m_axi.arlen.next = self.length.q.val();
        self.m_axi.arvalid.next = self.address_valid.q.val();
        self.m_axi.arsize.next = self.size.val();
        self.m_axi.arburst.next = self.burst.val();
        self.m_axi.arcache.next = self.cache.val();
        self.m_axi.arprot.next = self.prot.val();

        comment!("faults: of a read, or of a buffer that `check` refuses");
        self.fault_now.d.next = self.breaks.val() | self.refused.val();
        self.fault_of.d.next = self.row_stream.val();
        if self.refused.val() {
            self.fault_of.d.next = self.post_stream.val();
        }
        self.fault.next = self.fault_now.q.val();
        self.fault_stream.next = self.fault_of.q.val();

        comment!(
            "quiet: no burst of the stream, and nothing left of the queue's content at its close"
        );
        self.waiting.next = self.queued.q.val();
        if self.push.val() & self.buffers.s_ready.val() & !self.pop.val() {
            self.waiting.next = self.queued.q.val() + 1;
        }
        if self.pop.val() & !(self.push.val() & self.buffers.s_ready.val()) {
            self.waiting.next = self.queued.q.val() - 1;
        }
        self.queued.d.next = self.waiting.val();
        if self.pop.val() & self.ahead.q.val().any() {
            self.ahead.d.next = self.ahead.q.val() - 1;
        }
        if self.closed.q.val() {
            self.ahead.d.next = self.waiting.val();
        }
        self.still.d.next = !self.ahead.q.val().any()
            & ((self.step.q.val() == Step::Seek) | (self.row_stream.val() != self.stream.val()));
        self.quiet.next = self.still.q.val();

        comment!(
            "rows: the last assignment counts; `row_open` is a cycle behind the rings, so what it admits is cleared a cycle behind them"
        );
        self.closed.d.next = self.close.val();
        self.closed_stream.d.next = self.stream.val();
        for i in 0..S {
            self.dirty_left[i].next = self.dirty[i].q.val();
            self.full_left[i].next = self.full[i].q.val();
            if self.row_stream.val().get_bits::<4>(0) == self.index[i].val() {
                if self.loads.val() {
                    self.dirty_left[i].next = self.dirty[i].q.val() & !self.row_bit.val();
                    self.full_left[i].next = self.full[i].q.val() | self.row_bit.val();
                }
                if self.behind_still.val() {
                    self.dirty_left[i].next = self.dirty[i].q.val() | self.row_bit.val();
                }
                if self.has_room.val() {
                    self.full_left[i].next = self.full[i].q.val() & !self.row_bit.val();
                }
                if self.breaks.val() {
                    self.broken[i].d.next = true;
                }
            }
            self.dirty[i].d.next = self.dirty_left[i].val();
            self.full[i].d.next = self.full_left[i].val();
            if self.rung.q.val()
                & (self.rung_stream.q.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.dirty[i].d.next = self.dirty_left[i].val() | self.rung_bit.q.val();
            }
            if self.used_one.q.val() & (self.key_of.q.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.full[i].d.next = self.full_left[i].val() & !self.key_bit.q.val();
            }
            if self.set_now.val()
                & self.set_writes.q.val()
                & (self.set_stream.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.ring[i].d.next = self.ring[i].q.val() | self.set_bit.q.val();
            }
            if self.close.val() & (self.stream.val().get_bits::<4>(0) == self.index[i].val()) {
                self.ring[i].d.next = 0.into();
            }
            if self.closed.q.val()
                & (self.closed_stream.q.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.dirty[i].d.next = 0.into();
                self.full[i].d.next = 0.into();
                self.broken[i].d.next = false;
            }
            if self.reset.val() {
                self.ring[i].d.next = 0.into();
                self.dirty[i].d.next = 0.into();
                self.full[i].d.next = 0.into();
                self.broken[i].d.next = false;
            }
            self.wants[i].d.next = self.dirty[i].d.val() & !self.full[i].d.val();
            if self.broken[i].d.val() {
                self.wants[i].d.next = 0.into();
            }
        }
        if self.reset.val() | self.port_reset.val() {
            self.step.d.next = Step::Seek;
            self.address_valid.d.next = false;
            self.held_valid.d.next = false;
        }
        if self.reset.val() {
            self.rung.d.next = false;
            self.used_one.d.next = false;
            self.bell_held.d.next = false;
            self.posted_one.d.next = false;
            self.counts.d.next = false;
            self.counts_posted.d.next = false;
            self.counted.d.next = false;
            self.judged.d.next = false;
            self.closed.d.next = false;
            self.set_new.d.next = false;
            self.set_writes.d.next = false;
            self.set_refuses.d.next = false;
            self.set_done.d.next = false;
            self.seek.d.next = 0.into();
            self.seek_next.d.next = 1.into();
            self.queued.d.next = 0.into();
            self.asked.d.next = false;
            self.ahead.d.next = 0.into();
            self.fault_now.d.next = false;
        }
    }
}

//! Scan: follows the chain of lengths of each stream and finds whole FPDUs.
//!
//! ```text
//!                    ┌─ look ─► reader ─► header RAM ─► walker ─► Item ─► whole? ─┬─ yes ─► queue ─► Fpdu ─► fetch
//!  landed ─► edge ─► pick          (rows of one visit)                            └─ no: length known ─┐
//!  at, need ────────►└─ give ─► FPDU whose length is known ─► queue          at, need ◄─ end of visit ◄┘
//!                                       ▲
//!  beat, landing octets ─► fast_path ───┴─► length known
//!
//!  beyond, island ─► look_ahead: marker RAM, header RAM when the reader is idle ─► queue
//!                      └─► placed_ahead ◄─ verdicts of check
//! ```
//!
//! A stream is visited when the octets that it needs have landed: 4 for ULPDU_Length, 8 with a leading marker. The
//! visit follows the chain through all that has landed. ULPDU_Length is read from the ring, so it does not matter how
//! segments cut it. The length on the wire includes markers (MPA-FMT-10). If the last FPDU found is not whole, its
//! length is kept, and the FPDU is issued without another visit as soon as its last octet lands.
//!
//! A length above `max_ulpdu`, unless the stream accepts any, or an FPDU larger than the buffers, is issued as a refused
//! FPDU as soon as the length is known, and its stream is not visited again (AMB-21, AMB-22).
//!
//! When a stream has ended and no whole FPDU is left in front of the end, the end is issued as a refused FPDU, too,
//! behind all others: `CLOSED` if the FIN is behind an FPDU, `TRUNCATED` if it cuts one, or the cause for which the
//! stream was lost. Only `CLOSED` may be followed, by the loss of the stream. No edge is accepted behind a mark, so
//! the chain never runs past the end.
//!
//! Throughput within a visit: an FPDU takes one cycle, or one for each row from its begin to that of the next one if
//! there are more; that is never more than the beats in which `fetch` reads it. Streams take turns. Visits overlap,
//! so a change of stream costs the reader at most two cycles. An FPDU that reaches [`FAR`] rows ends its visit; its
//! stream is visited again at most [`AGAIN`] cycles later. Idle streams cost nothing.
//!
//! `pace` holds a stream back whose receive buffers are under way: without `may_run` a whole FPDU that is found has its length
//! kept, as if it was not whole, and without `may_issue` it is not issued; other streams go on. What needs no further buffer is
//! issued all the same: refused FPDUs, ends, FPDUs `ahead`, and those that are `placed`, whose buffer was there when
//! they went ahead. An FPDU that has been selected is issued, whatever `may_issue` is by then. From one that is issued by itself
//! to the next one of its stream it takes at least [`SINGLE`] cycles.
//!
//! Latency: 12 cycles from the landing of the last octet to `issued`, 4 more for a long FPDU with markers, and 5 if
//! the length was known before. The FPDU is at the output a cycle later. An FPDU that arrives alone and begins with a
//! beat needs no visit ([`fast_path`]): if it ends with that beat or the next one, it is issued 3 cycles after its first
//! beat has landed; otherwise its length is known by then.
//!
//! Behind gaps, [`look_ahead`] finds whole FPDUs by their markers. They are issued with `ahead` when no FPDU in order is
//! pending. The chain in order finds them again and marks the accepted ones as `placed` ([`placed_ahead`]).
//!
//! FPDUs that were found before their stream was closed, and not issued by then, are dropped. The first visit for the
//! next owner begins only when the last visit for the previous owner has ended. Arm and close take effect a cycle
//! later.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
pub mod fast_path;
mod kernel;
pub mod lengths;
pub mod look_ahead;
pub mod placed_ahead;
pub mod reader;
pub mod walker;

use crate::parts::queue::{Queue, Store};
use crate::parts::round_robin::RoundRobin;
use crate::records::{Fpdu, HEADER, RingBeat};
use crate::rx::mpa::assembly;
use crate::rx::mpa::stream_end::Mark;
use crate::{Config, ISLANDS};
use fast_path::{FastFpdu, FastPath};
use look_ahead::LookAhead;
use placed_ahead::PlacedAhead;
use reader::{Reader, Visit};
use rust_hdl_core::prelude::*;
use walker::{Item, Walker};
use warpline_regmap::layout::refused;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record};

pub use lengths::FAR;
pub use look_ahead::{FIND, NEXT};
pub use reader::{ROWS, VISIT};

/// Cycles from one FPDU of a stream to the next one if the visit ends between them and no other stream is visited.
pub const AGAIN: usize = 16;

/// Cycles from an FPDU of known length, or of [`fast_path`], to the next one of its stream, at least.
pub const SINGLE: usize = 3;

/// Cycles after an arm or a close in which no FPDU is accepted from [`fast_path`]: it may belong to the stream's previous owner.
const BLOCKED: u64 = 8;

/// FPDUs in the queue to `fetch` from which on the search pauses.
const ENOUGH: u64 = 8;

/// Side information of an FPDU whose end is known.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Measured {
    /// As in [`Item`].
    pub found: Bit,
    /// As in [`Item`].
    pub last: Bit,
    /// Position behind it, or where it would begin if there is none.
    pub behind: Bits<32>,
}

/// Length of an FPDU that is not whole yet.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Known {
    /// As in [`Fpdu`].
    pub dwords: Bits<16>,
    /// As in [`Fpdu`].
    pub ulpdu: Bits<16>,
}

/// Scanner of S streams over header rows of H bits = 16·D, D = 2^LOGD dwords.
#[derive(Block)]
#[block(config: &Config)]
pub struct Scan<const H: usize, const D: usize, const LOGD: usize, const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Pulse: octets of `landed_stream` are in the ring up to `landed_edge`.
    pub landed: Signal<In, Bit>,
    /// That stream.
    pub landed_stream: Signal<In, Bits<8>>,
    /// The position behind its last octet.
    pub landed_edge: Signal<In, Bits<32>>,
    /// From `admit`: a beat with new octets, which lands [`assembly::latency`] cycles later.
    pub beat_valid: Signal<In, Bit>,
    /// Their place.
    pub beat: Signal<In, RingBeat>,
    /// With `landed`: first two octets of each dword, in the lanes of the ring.
    pub landed_heads: Signal<In, Bits<H>>,
    /// End of a stream; follows the landing of all octets in front of it.
    pub mark: Signal<In, Mark>,
    /// Pulse: `stream` starts at position 0, with the two flags below.
    pub arm: Signal<In, Bit>,
    /// Pulse: `stream` is no longer visited.
    pub close: Signal<In, Bit>,
    /// Stream of `arm` and `close`.
    pub stream: Signal<In, Bits<8>>,
    /// The stream carries markers.
    pub markers: Signal<In, Bit>,
    /// The stream's CRCs are checked.
    pub crc: Signal<In, Bit>,
    /// Any ULPDU_Length is accepted in the stream; not with `markers`.
    pub long_ulpdus: Signal<In, Bit>,
    /// Row of the header RAM to read.
    pub header_row: Signal<Out, Bits<20>>,
    /// First two octets of each dword of that row, two cycles later.
    pub header_data: Signal<In, Bits<H>>,
    /// From `admit`: a segment ends behind a gap.
    pub beyond: Signal<In, Bit>,
    /// From `admit`.
    pub beyond_stream: Signal<In, Bits<8>>,
    /// From `admit`.
    pub beyond_position: Signal<In, Bits<32>>,
    /// Lookup of an island: its stream,
    pub asked_stream: Signal<Out, Bits<8>>,
    /// and a position in it.
    pub asked_position: Signal<Out, Bits<32>>,
    /// Two cycles later: the island exists,
    pub island: Signal<In, Bit>,
    /// it begins here,
    pub island_begin: Signal<In, Bits<32>>,
    /// and ends here.
    pub island_end: Signal<In, Bits<32>>,
    /// Row of the marker to read.
    pub marker_row: Signal<Out, Bits<20>>,
    /// Its FPDUPTR, two cycles later.
    pub marker_data: Signal<In, Bits<16>>,
    /// Pulse: `fetch` has begun to read an FPDU with `ahead`.
    pub ahead_started: Signal<In, Bit>,
    /// Pulse: `check` has finished an FPDU with `ahead`.
    pub ahead_done: Signal<In, Bit>,
    /// Its stream.
    pub ahead_stream: Signal<In, Bits<8>>,
    /// Its stream position.
    pub ahead_position: Signal<In, Bits<32>>,
    /// It is placed.
    pub ahead_accepted: Signal<In, Bit>,
    /// Whole FPDUs, or refused ones.
    pub fpdu: Signal<Out, Fpdu>,
    /// The FPDU is valid.
    pub fpdu_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub fpdu_ready: Signal<In, Bit>,
    /// From `pace`: FPDUs of the stream may be issued as they are found,
    pub may_run: [Signal<In, Bit>; S],
    /// or at least one whose length is known.
    pub may_issue: [Signal<In, Bit>; S],
    /// Position up to which the octets of each stream have landed.
    pub edge_landed: [Signal<Out, Bits<32>>; S],
    /// Pulse: an FPDU of `issued_stream` was issued.
    pub issued: Signal<Out, Bit>,
    /// That stream.
    pub issued_stream: Signal<Out, Bits<8>>,

    // arm and close, registered
    arm_pulse: Dff<Bit>,
    close_pulse: Dff<Bit>,
    owner_changes: Dff<Bit>,
    owner_stream: Dff<Bits<8>>,
    owner_markers: Dff<Bit>,
    owner_crc: Dff<Bit>,
    owner_long: Dff<Bit>,

    // streams
    live: [Dff<Bit>; S],
    with_markers: [Dff<Bit>; S],
    with_crc: [Dff<Bit>; S],
    with_long: [Dff<Bit>; S],
    edge_at: [Dff<Bits<32>>; S],
    at: [Dff<Bits<32>>; S],
    known: [Dff<Bit>; S],
    need: [Dff<Bits<20>>; S],
    have: [Dff<Bits<20>>; S],
    eligible: [Dff<Bit>; S],
    // the stream selected for the reader, and the one selected to be issued
    picked_look: [Dff<Bit>; S],
    picked_give: [Dff<Bit>; S],
    given_here: [Signal<Local, Bit>; S],
    busy: [Dff<Bit>; S],
    /// In the previous cycle it had no visit, and none was pending.
    was_idle: [Dff<Bit>; S],
    stale: [Dff<Bit>; S],
    // its end: known; to be reported as reached, or with its cause; nothing left in front of it
    stopped: [Dff<Bit>; S],
    finished: [Dff<Bit>; S],
    cause: [Dff<Bits<3>>; S],
    ends: [Dff<Bit>; S],

    // look: the next stream to be visited
    chosen: Dff<Bits<8>>,
    chosen_valid: Dff<Bit>,
    chain_of: [Dff<Bits<4>>; S],
    #[value(Reader::new(config))]
    reader: Reader<H, D, LOGD>,
    #[value(Walker::new(config))]
    walker: Walker<H, D, LOGD>,

    // measure: end of the walker's FPDU, edge of its stream
    behind: Dff<Bits<32>>,
    measured_valid: Dff<Bit>,
    measured: Dff<Measured>,
    measured_fpdu: Dff<Fpdu>,
    measured_edge: Dff<Bits<20>>,
    weighed_valid: Dff<Bit>,
    weighed: Dff<Measured>,
    weighed_chain: Dff<Bits<4>>,
    weighed_fpdu: Dff<Fpdu>,
    /// Its stream, a bit each.
    weighed_of: [Dff<Bit>; S],
    whole: Dff<Bit>,
    short: Dff<Bit>,
    /// It is whole, and its stream is held.
    kept: Dff<Bit>,
    dropped: Dff<Bit>,
    dead: Dff<Bit>,
    visit_done: Dff<Bit>,
    visit_done_stream: Dff<Bits<8>>,

    // give: a stream whose pending FPDU has become whole
    given: Dff<Bits<8>>,
    given_valid: Dff<Bit>,
    given_ends: Dff<Bit>,
    lengths: Store<Known, 4>,
    length_write: Dff<Bit>,
    length_stream: Dff<Bits<4>>,
    length_data: Dff<Known>,
    known_fpdu_valid: Dff<Bit>,
    known_fpdu: Dff<Fpdu>,
    /// Its stream, a bit each.
    known_fpdu_of: [Dff<Bit>; S],
    known_fpdu_dropped: Dff<Bit>,
    issue_done: Dff<Bit>,
    issue_done_stream: Dff<Bits<8>>,

    // fast path: an FPDU that begins with a beat
    #[value(FastPath::new(assembly::latency(config.octets())))]
    fast_path: FastPath<H, D, LOGD, S>,
    blocked: Dff<Bits<4>>,
    /// `blocked` is 0, and no stream is being closed.
    fast_path_open: Dff<Bit>,

    // behind gaps
    #[value(LookAhead::new(config))]
    look_ahead: LookAhead<H, D, LOGD, S>,
    placed: PlacedAhead<S, ISLANDS>,

    out: Queue<Fpdu, 4>,
    waiting: Dff<Bits<8>>,
    hold: Dff<Bit>,

    marked: Signal<Local, Bit>,
    enough_for: [Signal<Local, Bit>; S],
    picked: [Signal<Local, Bit>; S],
    look: RoundRobin<S>,
    give: RoundRobin<S>,
    visit: Signal<Local, Visit>,
    edge_looked: Signal<Local, Bits<20>>,
    item: Signal<Local, Item>,
    base: Signal<Local, Bits<32>>,
    item_octets: Signal<Local, Bits<32>>,
    left: Signal<Local, Bits<20>>,
    measured_runs: Signal<Local, Bit>,
    in_full: Signal<Local, Bit>,
    stands: Signal<Local, Bit>,
    refusal: Signal<Local, Bits<3>>,
    passes: Signal<Local, Bit>,
    incomplete: Signal<Local, Bit>,
    fast_fpdu: Signal<Local, FastFpdu>,
    fast_length: Signal<Local, Known>,
    idle: [Signal<Local, Bit>; S],
    fast_may: Signal<Local, Bit>,
    fast_accepted: Signal<Local, Bit>,
    fast_accepted_of: [Signal<Local, Bit>; S],
    /// The FPDU of `fast_path` can be issued at once.
    in_time: Signal<Local, Bit>,
    fast_issues: Signal<Local, Bit>,
    fast_records: Signal<Local, Bit>,
    gives: Signal<Local, Bit>,
    given_to: Signal<Local, Bits<8>>,
    given_length: Signal<Local, Known>,
    at_its_end: Signal<Local, Bit>,
    known_fpdu_passes: Signal<Local, Bit>,
    known_fpdu_behind: Signal<Local, Bits<32>>,
    weighed_octets: Signal<Local, Bits<20>>,
    found: Signal<Local, Fpdu>,
    in_order: Signal<Local, Bit>,
    ahead_goes: Signal<Local, Bit>,
    pushes: Signal<Local, Bit>,
    pops: Signal<Local, Bit>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(config.max_fpdu() / 4)]
    max_dwords: Constant<Bits<16>>,
    #[constant(ENOUGH)]
    enough: Constant<Bits<8>>,
    #[constant(refused::LENGTH)]
    refused_length: Constant<Bits<3>>,
    #[constant(refused::TOO_LARGE)]
    refused_too_large: Constant<Bits<3>>,
    #[constant(refused::CLOSED)]
    ends_closed: Constant<Bits<3>>,
    #[constant(refused::TRUNCATED)]
    ends_truncated: Constant<Bits<3>>,
    #[constant(0)]
    no_chain: Constant<Bits<4>>,
    #[constant(BLOCKED)]
    blocked_for: Constant<Bits<4>>,
    #[constant(HEADER)]
    header: Constant<Bits<16>>,
}

impl<const H: usize, const D: usize, const LOGD: usize, const S: usize> Scan<H, D, LOGD, S> {
    /// A scanner of the rings of `config`.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(H == 16 * D && D == 1 << LOGD && (1..=16).contains(&S));
        assert!(
            config.max_fpdu() / 4 > FAR * D,
            "an FPDU above the buffers ends its visit"
        );
        Self::assemble(config)
    }
}

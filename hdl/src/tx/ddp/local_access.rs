//! Local access: releases the pieces of a segment when the STag table allows all of them.
//!
//! ```text
//!  LocalPiece ─┬─► queue of pieces ───────────────────────────────────────────┬─► release, or drop ─► Piece
//!              └─►[asked]─► STag ─► entry ─► tagged_checks ─┬─► addresses ────┘      ▲
//!                                                           └─► status of the segment ┴─► verdict
//! ```
//!
//! A piece in host memory needs an entry with its whole STag, of its protection domain, and of its stream if the STag
//! belongs to one, and all of its octets inside the entry's region; otherwise it fails with `STAG`, `ASSOC` or `BOUNDS`, in
//! this order. A last piece that is refused already fails with that status. The first piece that fails decides about its
//! segment. Rights for the peer do not matter where the memory is read for its owner. Memory that a Read Request names is
//! read for the peer (`remote`): it needs the remote read right, too, and fails with `ACCESS` behind `ASSOC` without it (RFC 5040
//! §7.2; the order is that of tagged segments, AMB-01). A segment's pieces leave when all of them are judged, in their order, or none of them does. There is one
//! verdict for each segment, in their order, in the cycle in which the first piece leaves or before.
//!
//! Assumes that a piece has at least one octet unless its segment is refused, and a segment at most [`PIECES`] pieces: with more, it would stall for
//! itself. The entry follows `stag` by [`stag_table::LATENCY`] cycles, as that of the STag table. The table itself lies
//! outside, since the receive side uses it, too. Hold `reset` for [`RESET`] cycles.
//!
//! Throughput: one piece a cycle, released or dropped, also from segment to segment. Latency: [`LATENCY`] cycles from a
//! segment's last piece to its verdict and its first piece. No output depends on an input in the same cycle.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::delay::Delay;
use crate::parts::queue::Queue;
use crate::parts::room_count::RoomCount;
use crate::records::{LocalPiece, Piece};
use crate::tables::stag_table::{self, StagEntry};
use crate::tables::tagged_checks::{self, TaggedChecks};
use rust_hdl_core::prelude::*;
use warpline_regmap::transmit::status;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Cycles from a piece to what the checks say of it.
const JUDGED: usize = 1 + stag_table::LATENCY as usize + tagged_checks::LATENCY as usize;

/// Cycles from a segment's last piece to its verdict, and to its first piece if it passes.
pub const LATENCY: usize = JUDGED + 2;

/// Cycles for which `reset` is held.
pub const RESET: usize = JUDGED + 1;

/// log2 of the pieces that are inside at a time, as the device has it.
const DEPTH: usize = 5;

/// Pieces of a segment, at most.
pub const PIECES: usize = (1 << DEPTH) - 1;

/// What the checks need of a piece.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Asked {
    /// Stream number.
    pub stream: Bits<8>,
    /// Protection domain of the stream.
    pub protection_domain: Bits<16>,
    /// STag.
    pub stag: Bits<32>,
    /// Tagged Offset of the first octet.
    pub offset: Bits<64>,
    /// Octets less one.
    pub less_one: Bits<16>,
}

/// What becomes of a piece.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Judging {
    /// There is one.
    pub valid: Bit,
    /// It lies in host memory.
    pub memory: Bit,
    /// Last piece of its segment.
    pub last: Bit,
    /// As in [`LocalPiece`].
    pub refused: Bits<4>,
    /// As in [`LocalPiece`].
    pub remote: Bit,
}

/// The block, for 2^LOG pieces at a time: less than 2^DEPTH for proofs only, since a segment must fit.
#[derive(Block)]
#[block(default)]
pub struct LocalAccess<const LOG: usize = DEPTH> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, held for [`RESET`] cycles.
    pub reset: Signal<In, Bit>,
    /// Pieces of segments, in their order.
    pub s_piece: Signal<In, LocalPiece>,
    /// It is valid.
    pub s_piece_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_piece_ready: Signal<Out, Bit>,
    /// STag to look up.
    pub stag: Signal<Out, Bits<32>>,
    /// The entry in its slot, [`stag_table::LATENCY`] cycles later.
    pub entry: Signal<In, StagEntry>,
    /// Pieces of segments that pass.
    pub m_piece: Signal<Out, Piece>,
    /// It is valid.
    pub m_piece_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_piece_ready: Signal<In, Bit>,
    /// `regmap::transmit::status` of a segment: not `OK` if its pieces are dropped.
    pub m_status: Signal<Out, Bits<4>>,
    /// That is valid.
    pub m_verdict_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_verdict_ready: Signal<In, Bit>,

    pieces: Queue<Piece, LOG>,
    addresses: Queue<Bits<64>, LOG>,
    statuses: Queue<Bits<4>, LOG>,
    verdicts: Queue<Bits<4>, 3>,
    // asked: the STag is at the table
    asked: Dff<Asked>,
    judging: Dff<Judging>,
    #[value(Delay::new(stag_table::LATENCY as usize))]
    to_check: Delay<Asked>,
    #[value(Delay::new(JUDGED - 1))]
    to_judge: Delay<Judging>,
    tagged_checks: TaggedChecks,
    /// Status of the present segment's pieces so far.
    so_far: Dff<Bits<4>>,
    // releasing: the segment whose pieces leave
    active: Dff<Bit>,
    passes: Dff<Bit>,
    /// For the next piece, and for the one that is accepted, which is not counted yet.
    #[value(RoomCount::new((1 << LOG) - 1))]
    room: RoomCount,
    left: Dff<Bit>,

    accept: Signal<Local, Bit>,
    judged: Signal<Local, Judging>,
    own: Signal<Local, Bits<4>>,
    decided: Signal<Local, Bits<4>>,
    head: Signal<Local, Piece>,
    leave: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    #[constant(status::OK)]
    ok: Constant<Bits<4>>,
    #[constant(status::STAG)]
    no_stag: Constant<Bits<4>>,
    #[constant(status::ASSOC)]
    not_associated: Constant<Bits<4>>,
    #[constant(status::ACCESS)]
    no_right: Constant<Bits<4>>,
    #[constant(status::BOUNDS)]
    out_of_bounds: Constant<Bits<4>>,
}

impl<const LOG: usize> Logic for LocalAccess<LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        self.pieces.reset.next = self.reset.val();
        self.addresses.reset.next = self.reset.val();
        self.statuses.reset.next = self.reset.val();
        self.verdicts.reset.next = self.reset.val();

        comment!("a piece goes into the queue, and its STag to the table");
        self.s_piece_ready.next = self.room.has_room.val();
        self.accept.next = self.s_piece_valid.val() & self.room.has_room.val();
        self.pieces.s_data.next.memory = self.s_piece.val().memory;
        self.pieces.s_data.next.length = self.s_piece.val().length;
        self.pieces.s_data.next.content = self.s_piece.val().content;
        self.pieces.s_data.next.last = self.s_piece.val().last;
        self.pieces.s_valid.next = self.accept.val();
        self.asked.d.next.stream = self.s_piece.val().stream;
        self.asked.d.next.protection_domain = self.s_piece.val().protection_domain;
        self.asked.d.next.stag = self.s_piece.val().content.get_bits::<32>(0);
        self.asked.d.next.offset = self.s_piece.val().content.get_bits::<64>(32);
        self.asked.d.next.less_one = self.s_piece.val().length - 1;
        self.judging.d.next.valid = self.accept.val();
        self.judging.d.next.memory = self.s_piece.val().memory;
        self.judging.d.next.last = self.s_piece.val().last;
        self.judging.d.next.refused = self.s_piece.val().refused;
        self.judging.d.next.remote = self.s_piece.val().remote;
        self.stag.next = self.asked.q.val().stag;

        comment!("the checks of the receive side; the peer's rights only where it reads");
        self.to_check.d.next = self.asked.q.val();
        self.to_judge.d.next = self.judging.q.val();
        self.tagged_checks.stream.next = self.to_check.q.val().stream;
        self.tagged_checks.protection_domain.next = self.to_check.q.val().protection_domain;
        self.tagged_checks.stag.next = self.to_check.q.val().stag;
        self.tagged_checks.offset_high.next = self.to_check.q.val().offset.get_bits::<32>(32);
        self.tagged_checks.offset_low.next = self.to_check.q.val().offset.get_bits::<32>(0);
        self.tagged_checks.last.next = bit_cast::<32, 16>(self.to_check.q.val().less_one);
        self.tagged_checks.entry.next = self.entry.val();
        self.judged.next = self.to_judge.q.val();
        self.addresses.s_data.next = self.tagged_checks.address.val();
        self.addresses.s_valid.next = self.judged.val().valid & self.judged.val().memory;

        comment!("the first piece that fails decides");
        self.own.next = self.ok.val();
        if self.judged.val().memory {
            if self.tagged_checks.fails_offset.val() | self.tagged_checks.fails_end.val() {
                self.own.next = self.out_of_bounds.val();
            }
            if self.judged.val().remote & self.tagged_checks.fails_read.val() {
                self.own.next = self.no_right.val();
            }
            if self.tagged_checks.fails_association.val() {
                self.own.next = self.not_associated.val();
            }
            if self.tagged_checks.fails_stag.val() {
                self.own.next = self.no_stag.val();
            }
        }
        if self.judged.val().last & self.judged.val().refused.any() {
            self.own.next = self.judged.val().refused;
        }
        self.decided.next = self.so_far.q.val();
        if self.so_far.q.val() == self.ok.val() {
            self.decided.next = self.own.val();
        }
        if self.judged.val().valid {
            self.so_far.d.next = self.decided.val();
            if self.judged.val().last {
                self.so_far.d.next = self.ok.val();
            }
        }
        self.statuses.s_data.next = self.decided.val();
        self.statuses.s_valid.next = self.judged.val().valid & self.judged.val().last;

        comment!("release or drop a segment's pieces up to the last one");
        self.head.next = self.pieces.m_data.val();
        self.leave.next = self.active.q.val() & (!self.passes.q.val() | self.m_piece_ready.val());
        self.pieces.m_ready.next = self.leave.val();
        self.addresses.m_ready.next = self.leave.val() & self.head.val().memory;
        self.free.next = !self.active.q.val() | (self.leave.val() & self.head.val().last);
        self.load.next =
            self.free.val() & self.statuses.m_valid.val() & self.verdicts.s_ready.val();
        self.statuses.m_ready.next = self.free.val() & self.verdicts.s_ready.val();
        self.verdicts.s_data.next = self.statuses.m_data.val();
        self.verdicts.s_valid.next = self.load.val();
        if self.free.val() {
            self.active.d.next = self.load.val();
            self.passes.d.next = self.statuses.m_data.val() == self.ok.val();
        }
        self.m_piece.next = self.head.val();
        if self.head.val().memory {
            self.m_piece.next.content = bit_cast::<144, 64>(self.addresses.m_data.val());
        }
        self.m_piece_valid.next = self.active.q.val() & self.passes.q.val();
        self.m_status.next = self.verdicts.m_data.val();
        self.m_verdict_valid.next = self.verdicts.m_valid.val();
        self.verdicts.m_ready.next = self.m_verdict_ready.val();

        comment!("pieces inside");
        self.left.d.next = self.leave.val();
        self.room.reset.next = self.reset.val();
        self.room.enters.next = self.accept.val();
        self.room.left.next = self.left.q.val();
        if self.reset.val() {
            self.judging.d.next.valid = false;
            self.so_far.d.next = self.ok.val();
            self.active.d.next = false;
            self.left.d.next = false;
        }
    }
}

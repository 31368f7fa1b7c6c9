//! What `scan` does in each cycle: which stream is visited next, and which is given its FPDU; the stages of an FPDU that the walker
//! has found; and the next state of the streams.
//!
//! ```text
//!  look ─► reader, walker ─► measure ─► weigh ─► decide ─┬─ whole, and may run ─► out
//!                                                        └─ otherwise ──────────► lengths
//!  fast path ─┬─ whole, and nothing in front of it ────────────────────► give
//!             └─ otherwise ────────────────────────────────────────────► lengths
//!  give: a stream whose FPDU is whole by now, and may go ◄─ lengths ───► out
//!  look_ahead, when none in order is pending ──────────────────────────► out ─► queue
//! ```
use super::Scan;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::comment;

impl<const H: usize, const D: usize, const LOGD: usize, const S: usize> Logic
    for Scan<H, D, LOGD, S>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.reader.reset.next = self.reset.val();
        self.walker.reset.next = self.reset.val();
        self.out.reset.next = self.reset.val();
        self.fast_path.reset.next = self.reset.val();
        self.look_ahead.reset.next = self.reset.val();
        self.placed.reset.next = self.reset.val();

        comment!(
            "each stream: octets landed behind the begin of its next FPDU, and whether they suffice"
        );
        self.marked.next = self.mark.val().finished | self.mark.val().cause.any();
        for i in 0..S {
            self.live[i].d.next = self.live[i].q.val();
            self.with_markers[i].d.next = self.with_markers[i].q.val();
            self.with_crc[i].d.next = self.with_crc[i].q.val();
            self.with_long[i].d.next = self.with_long[i].q.val();
            self.edge_at[i].d.next = self.edge_at[i].q.val();
            self.edge_landed[i].next = self.edge_at[i].q.val();
            self.at[i].d.next = self.at[i].q.val();
            self.chain_of[i].d.next = self.chain_of[i].q.val();
            self.known[i].d.next = self.known[i].q.val();
            self.need[i].d.next = self.need[i].q.val();
            if !self.known[i].q.val() {
                self.need[i].d.next = 4.into();
                if self.with_markers[i].q.val() & !self.at[i].q.val().get_bits::<9>(0).any() {
                    self.need[i].d.next = 8.into();
                }
            }
            self.have[i].d.next = (self.edge_at[i].q.val() - self.at[i].q.val()).get_bits::<20>(0);
            self.busy[i].d.next = self.busy[i].q.val();
            self.was_idle[i].d.next = !self.busy[i].q.val() & !self.eligible[i].q.val();
            self.stale[i].d.next = self.stale[i].q.val();
            self.picked_look[i].d.next = self.picked_look[i].q.val();
            self.picked_give[i].d.next = false;
            self.picked[i].next = self.picked_look[i].q.val() | self.picked_give[i].q.val();
            self.stopped[i].d.next = self.stopped[i].q.val();
            self.finished[i].d.next = self.finished[i].q.val();
            self.cause[i].d.next = self.cause[i].q.val();
            self.enough_for[i].next = self.have[i].q.val() >= self.need[i].q.val();
            self.ends[i].d.next = !self.enough_for[i].val();
            self.eligible[i].d.next = self.live[i].q.val()
                & !self.picked[i].val()
                & !self.busy[i].q.val()
                & (self.enough_for[i].val()
                    | self.finished[i].q.val()
                    | self.cause[i].q.val().any());
            if self.landed.val()
                & !self.stopped[i].q.val()
                & (self.landed_stream.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.edge_at[i].d.next = self.landed_edge.val();
            }
            if self.marked.val() & (self.mark.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.stopped[i].d.next = true;
                self.edge_at[i].d.next = self.edge_at[i].q.val();
                self.finished[i].d.next = self.finished[i].q.val() | self.mark.val().finished;
                if self.mark.val().cause.any() {
                    self.cause[i].d.next = self.mark.val().cause;
                }
            }
        }
        comment!("registered for the distance");
        self.arm_pulse.d.next = self.arm.val();
        self.close_pulse.d.next = self.close.val();
        self.owner_changes.d.next = self.arm.val() | self.close.val();
        self.owner_stream.d.next = self.stream.val();
        self.owner_markers.d.next = self.markers.val();
        self.owner_crc.d.next = self.crc.val();
        self.owner_long.d.next = self.long_ulpdus.val();

        comment!("select the next stream to visit, and the next one whose FPDU has become whole");
        self.look.last.next = self.chosen.q.val().get_bits::<4>(0);
        self.give.last.next = self.given.q.val().get_bits::<4>(0);
        for i in 0..S {
            self.look.asks[i].next =
                self.eligible[i].q.val() & !self.known[i].q.val() & !self.ends[i].q.val();
            self.give.asks[i].next = self.eligible[i].q.val()
                & ((self.known[i].q.val() & self.may_issue[i].val()) | self.ends[i].q.val());
        }

        comment!("look: visit it as soon as the reader accepts");
        self.visit.next.stream = self.chosen.q.val();
        self.visit.next.position = 0.into();
        self.visit.next.markers = false;
        self.visit.next.crc = false;
        self.visit.next.long_ulpdus = false;
        self.visit.next.cut = false;
        self.edge_looked.next = 0.into();
        for i in 0..S {
            if self.chosen.q.val().get_bits::<4>(0) == self.index[i].val() {
                self.visit.next.position = self.at[i].q.val();
                self.visit.next.markers = self.with_markers[i].q.val();
                self.visit.next.crc = self.with_crc[i].q.val();
                self.visit.next.long_ulpdus = self.with_long[i].q.val();
                self.visit.next.cut = self.stale[i].q.val();
            }
            if self.reader.looked.val().get_bits::<4>(0) == self.index[i].val() {
                self.edge_looked.next = self.edge_at[i].q.val().get_bits::<20>(0);
            }
        }
        self.reader.visit.next = self.visit.val();
        self.reader.visit_valid.next = self.chosen_valid.q.val();
        self.reader.looked_edge.next = self.edge_looked.val();
        self.reader.owner_changes.next = self.owner_changes.q.val();
        self.reader.owner_stream.next = self.owner_stream.q.val();
        self.reader.abort.next = self.walker.abort.val();
        self.reader.abort_number.next = self.walker.abort_number.val();
        self.header_row.next = self.reader.header_row.val();
        self.reader.header_data.next = self.header_data.val();
        self.walker.row.next = self.reader.row.val();
        self.walker.lengths.next = self.reader.lengths.val();
        self.walker.row_valid.next = self.reader.row_valid.val();
        self.reader.row_ready.next = self.walker.row_ready.val();
        self.walker.hold.next = self.hold.q.val();
        if self.chosen_valid.q.val() & self.reader.visit_ready.val() {
            self.chosen_valid.d.next = false;
            for i in 0..S {
                self.picked_look[i].d.next = false;
            }
        }
        if !self.chosen_valid.q.val() & self.look.any.val() {
            self.chosen_valid.d.next = true;
            self.chosen.d.next = self.look.choice.val();
            for i in 0..S {
                self.picked_look[i].d.next =
                    self.look.choice.val().get_bits::<4>(0) == self.index[i].val();
            }
        }

        comment!("measure: the end of the walker's FPDU, and the edge of its stream");
        self.item.next = self.walker.item.val();
        self.base.next = self.behind.q.val();
        if self.item.val().start {
            self.base.next = self.item.val().position;
        }
        self.item_octets.next = 0.into();
        if self.item.val().fpdu {
            self.item_octets.next = bit_cast::<32, 16>(self.item.val().dwords) << 2;
        }
        self.placed.visit.next =
            self.reader.row_valid.val() & self.walker.row_ready.val() & self.reader.row.val().first;
        self.placed.visited.next = self.reader.row.val().stream;
        self.placed.visited_at.next = self.reader.row.val().position.get_bits::<20>(0);
        self.placed.item.next = self.walker.item_valid.val();
        self.placed.item_start.next = self.item.val().start;
        self.placed.chain_at.next = self.behind.q.val().get_bits::<20>(0);
        self.measured_valid.d.next = self.walker.item_valid.val();
        self.measured.d.next.found = self.item.val().fpdu;
        self.measured.d.next.last = self.item.val().last;
        self.measured.d.next.behind = self.base.val() + self.item_octets.val();
        self.refusal.next = 0.into();
        if self.item.val().fpdu & (self.item.val().dwords > self.max_dwords.val()) {
            self.refusal.next = self.refused_too_large.val();
        }
        if self.item.val().fpdu & self.item.val().refused {
            self.refusal.next = self.refused_length.val();
        }
        self.measured_fpdu.d.next.stream = self.item.val().stream;
        self.measured_fpdu.d.next.position = self.base.val();
        self.measured_fpdu.d.next.dwords = self.item.val().dwords;
        if self.refusal.val().any() {
            self.measured_fpdu.d.next.dwords = 2.into();
        }
        self.measured_fpdu.d.next.markers = self.item.val().markers;
        self.measured_fpdu.d.next.crc = self.item.val().crc;
        self.measured_fpdu.d.next.refused = self.refusal.val();
        self.measured_fpdu.d.next.ulpdu = self.item.val().ulpdu;
        self.measured_fpdu.d.next.ahead = false;
        self.measured_fpdu.d.next.placed = self.placed.chain_now.val().any();
        self.measured_fpdu.d.next.header_only = false;
        if self.walker.item_valid.val() {
            self.behind.d.next = self.base.val() + self.item_octets.val();
        }
        for i in 0..S {
            if self.item.val().stream.get_bits::<4>(0) == self.index[i].val() {
                self.measured_edge.d.next = self.edge_at[i].q.val().get_bits::<20>(0);
            }
        }

        comment!(
            "weigh: is it whole and may go, and does its stream have the same owner? One that is placed has its buffer"
        );
        self.left.next =
            self.measured_edge.q.val() - self.measured.q.val().behind.get_bits::<20>(0);
        self.weighed_valid.d.next = self.measured_valid.q.val();
        self.weighed.d.next = self.measured.q.val();
        self.weighed_chain.d.next = self.placed.chain_behind.val();
        self.weighed_fpdu.d.next = self.measured_fpdu.q.val();
        self.weighed_fpdu.d.next.header_only = self.measured_fpdu.q.val().placed
            & (self.measured_fpdu.q.val().dwords > self.header.val());
        self.measured_runs.next = self.measured_fpdu.q.val().placed;
        for i in 0..S {
            if (self.measured_fpdu.q.val().stream.get_bits::<4>(0) == self.index[i].val())
                & self.may_run[i].val()
            {
                self.measured_runs.next = true;
            }
        }
        self.in_full.next = (!self.left.val().get_bit(19) & self.measured_runs.val())
            | self.measured_fpdu.q.val().refused.any();
        self.whole.d.next =
            self.measured_valid.q.val() & self.measured.q.val().found & self.in_full.val();
        self.short.d.next =
            self.measured_valid.q.val() & self.measured.q.val().found & !self.in_full.val();
        self.kept.d.next = self.measured_valid.q.val()
            & self.measured.q.val().found
            & !self.left.val().get_bit(19)
            & !self.in_full.val();
        self.dropped.d.next = self.owner_changes.q.val()
            & (self.owner_stream.q.val() == self.measured_fpdu.q.val().stream);
        for i in 0..S {
            self.weighed_of[i].d.next =
                self.measured_fpdu.q.val().stream.get_bits::<4>(0) == self.index[i].val();
            if self.weighed_of[i].d.val() & self.stale[i].q.val() {
                self.dropped.d.next = true;
            }
        }

        comment!(
            "decide: issue it, or keep its length until the rest lands; later items of that visit are void"
        );
        self.stands.next = self.weighed_valid.q.val() & !self.dropped.q.val() & !self.dead.q.val();
        self.passes.next = self.whole.q.val() & !self.dropped.q.val() & !self.dead.q.val();
        self.incomplete.next = self.short.q.val() & !self.dropped.q.val() & !self.dead.q.val();
        self.weighed_octets.next = bit_cast::<20, 16>(self.weighed_fpdu.q.val().dwords) << 2;
        if self.incomplete.val() {
            self.dead.d.next = true;
        }
        self.reader.held.next = self.incomplete.val() & self.kept.q.val();
        self.reader.held_stream.next = self.weighed_fpdu.q.val().stream;
        if self.weighed_valid.q.val() & self.weighed.q.val().last {
            self.dead.d.next = false;
        }
        self.visit_done.d.next = self.weighed_valid.q.val() & self.weighed.q.val().last;
        self.visit_done_stream.d.next = self.weighed_fpdu.q.val().stream;

        comment!("fast path: the next FPDU of a stream whose landed octets have all been visited");
        self.fast_path.beat_valid.next = self.beat_valid.val();
        self.fast_path.beat.next = self.beat.val();
        self.fast_path.heads.next = self.landed_heads.val();
        self.fast_fpdu.next = self.fast_path.fpdu.val();
        self.fast_length.next.dwords = self.fast_fpdu.val().dwords;
        self.fast_length.next.ulpdu = self.fast_fpdu.val().ulpdu;
        self.fast_accepted.next = false;
        self.fast_may.next = false;
        for i in 0..S {
            self.fast_path.at[i].next = self.at[i].q.val().get_bits::<20>(0);
            self.fast_path.with_markers[i].next = self.with_markers[i].q.val();
            self.idle[i].next = self.live[i].q.val()
                & !self.stopped[i].q.val()
                & !self.known[i].q.val()
                & !self.eligible[i].q.val()
                & !self.picked[i].val()
                & !self.busy[i].q.val();
            self.fast_accepted_of[i].next = self.fast_path.fpdu_valid.val()
                & self.fast_path.fpdu_of[i].val()
                & self.idle[i].val()
                & self.fast_path_open.q.val();
            if self.fast_accepted_of[i].val() {
                self.fast_accepted.next = true;
            }
            if self.fast_path.fpdu_of[i].val() & self.may_issue[i].val() {
                self.fast_may.next = true;
            }
        }
        self.in_time.next = self.fast_fpdu.val().whole
            & self.fast_may.val()
            & !self.given_valid.q.val()
            & !self.known_fpdu_valid.q.val()
            & !self.give.any.val();
        self.fast_issues.next = self.fast_accepted.val() & self.in_time.val();
        self.fast_records.next =
            self.fast_accepted.val() & !self.in_time.val() & !self.incomplete.val();
        if self.blocked.q.val().any() {
            self.blocked.d.next = self.blocked.q.val() - 1;
        }
        self.fast_path_open.d.next = !(self.blocked.q.val() >> 1).any()
            & !self.owner_changes.q.val()
            & !self.arm.val()
            & !self.close.val();
        if self.owner_changes.q.val() {
            self.blocked.d.next = self.blocked_for.val();
        }
        comment!("a known length is written a cycle later, before it can be issued");
        self.length_write.d.next = self.incomplete.val() | self.fast_records.val();
        self.length_stream.d.next = self.fast_fpdu.val().stream.get_bits::<4>(0);
        self.length_data.d.next = self.fast_length.val();
        if self.incomplete.val() {
            self.length_stream.d.next = self.weighed_fpdu.q.val().stream.get_bits::<4>(0);
            self.length_data.d.next.dwords = self.weighed_fpdu.q.val().dwords;
            self.length_data.d.next.ulpdu = self.weighed_fpdu.q.val().ulpdu;
        }
        self.lengths.write.next = self.length_write.q.val();
        self.lengths.write_row.next = self.length_stream.q.val();
        self.lengths.data.next = self.length_data.q.val();

        comment!(
            "give: the pending FPDU is whole, or its stream has ended; or the FPDU of `fast_path`"
        );
        self.lengths.read_row.next = self.given.q.val().get_bits::<4>(0);
        if !self.given_valid.q.val() & !self.known_fpdu_valid.q.val() & self.give.any.val() {
            self.given_valid.d.next = true;
            self.given.d.next = self.give.choice.val();
            self.given_ends.d.next = false;
            for i in 0..S {
                if self.give.choice.val().get_bits::<4>(0) == self.index[i].val() {
                    self.picked_give[i].d.next = true;
                    self.given_ends.d.next = self.ends[i].q.val();
                }
            }
        }
        self.gives.next = self.given_valid.q.val() | self.fast_issues.val();
        self.given_to.next = self.given.q.val();
        self.given_length.next = self.lengths.out.val();
        self.at_its_end.next = self.given_ends.q.val();
        if !self.given_valid.q.val() {
            self.given_to.next = self.fast_fpdu.val().stream;
            self.given_length.next = self.fast_length.val();
            self.at_its_end.next = false;
        }
        comment!("in this cycle `picked_give` has the selected stream, too");
        for i in 0..S {
            self.given_here[i].next = self.picked_give[i].q.val()
                | (!self.given_valid.q.val() & self.fast_path.fpdu_of[i].val());
            if !self.known_fpdu_valid.q.val() {
                self.known_fpdu_of[i].d.next = self.given_here[i].val();
            }
        }
        comment!("not read before it is issued");
        if !self.known_fpdu_valid.q.val() {
            self.known_fpdu.d.next.stream = self.given_to.val();
            self.known_fpdu.d.next.dwords = self.given_length.val().dwords;
            self.known_fpdu.d.next.ulpdu = self.given_length.val().ulpdu;
            self.known_fpdu.d.next.refused = 0.into();
            self.known_fpdu.d.next.ahead = false;
            self.known_fpdu.d.next.placed = false;
            self.known_fpdu.d.next.header_only = false;
            self.known_fpdu_dropped.d.next = false;
            for i in 0..S {
                if self.given_here[i].val() {
                    self.known_fpdu.d.next.position = self.at[i].q.val();
                    self.known_fpdu.d.next.markers = self.with_markers[i].q.val();
                    self.known_fpdu.d.next.crc = self.with_crc[i].q.val();
                    self.known_fpdu_dropped.d.next = self.stale[i].q.val();
                    if self.at_its_end.val() {
                        if !self.known[i].q.val() {
                            self.known_fpdu.d.next.ulpdu = 0.into();
                        }
                        self.known_fpdu.d.next.refused = self.cause[i].q.val();
                        if self.finished[i].q.val() {
                            self.known_fpdu.d.next.refused = self.ends_closed.val();
                            if self.have[i].q.val().any() {
                                self.known_fpdu.d.next.refused = self.ends_truncated.val();
                            }
                        }
                    }
                }
            }
            if self.at_its_end.val() {
                self.known_fpdu.d.next.dwords = 2.into();
            }
        }
        if self.owner_changes.q.val() & (self.owner_stream.q.val() == self.given.q.val()) {
            self.known_fpdu_dropped.d.next = true;
        }
        self.known_fpdu_passes.next = self.known_fpdu_valid.q.val()
            & !self.known_fpdu_dropped.q.val()
            & !self.passes.val()
            & !self.hold.q.val();
        self.known_fpdu_behind.next = self.known_fpdu.q.val().position
            + (bit_cast::<32, 16>(self.known_fpdu.q.val().dwords) << 2);
        self.issue_done.d.next = false;
        self.issue_done_stream.d.next = self.known_fpdu.q.val().stream;
        if self.known_fpdu_passes.val() | self.known_fpdu_dropped.q.val() {
            self.known_fpdu_valid.d.next = false;
            self.issue_done.d.next = self.known_fpdu_valid.q.val();
        }
        if self.gives.val() {
            self.given_valid.d.next = false;
            self.known_fpdu_valid.d.next = true;
        }
        if self.fast_issues.val() {
            self.given.d.next = self.fast_fpdu.val().stream;
        }

        comment!(
            "behind gaps: streams with markers and CRC; an FPDU ahead is issued when none in order is pending. After a visit its"
        );
        comment!("stream is not busy for a cycle before it is eligible again");
        self.look_ahead.owner_changes.next = self.owner_changes.q.val();
        self.look_ahead.owner_stream.next = self.owner_stream.q.val();
        for i in 0..S {
            self.look_ahead.allowed[i].next =
                self.live[i].q.val() & self.with_markers[i].q.val() & self.with_crc[i].q.val();
            self.look_ahead.edge_of[i].next = self.edge_at[i].q.val().get_bits::<20>(0);
            self.look_ahead.exhausted[i].next =
                self.was_idle[i].q.val() & !self.eligible[i].q.val();
            self.placed.at[i].next = self.at[i].q.val().get_bits::<20>(0);
            self.placed.chain[i].next = self.chain_of[i].q.val();
        }
        self.look_ahead.beyond.next = self.beyond.val();
        self.look_ahead.beyond_stream.next = self.beyond_stream.val();
        self.look_ahead.beyond_position.next = self.beyond_position.val();
        self.asked_stream.next = self.look_ahead.asked_stream.val();
        self.asked_position.next = self.look_ahead.asked_position.val();
        self.look_ahead.island.next = self.island.val();
        self.look_ahead.island_begin.next = self.island_begin.val();
        self.look_ahead.island_end.next = self.island_end.val();
        self.marker_row.next = self.look_ahead.marker_row.val();
        self.look_ahead.marker_data.next = self.marker_data.val();
        self.reader.peek_row.next = self.look_ahead.peek_row.val();
        self.look_ahead.peeked.next = self.look_ahead.peek.val() & self.reader.idle.val();
        self.look_ahead.header_data.next = self.header_data.val();
        self.look_ahead.started.next = self.ahead_started.val();
        self.look_ahead.placed_pulse.next = self.placed.placed_pulse.val();
        self.look_ahead.placed_stream.next = self.placed.placed_stream.val();
        self.placed.owner_changes.next = self.owner_changes.q.val();
        self.placed.owner_stream.next = self.owner_stream.q.val();
        self.placed.ask.next = self.look_ahead.ask.val();
        self.placed.record.next = self.look_ahead.record.val();
        self.placed.record_whole.next = self.look_ahead.record_whole.val();
        self.placed.asked.next = self.look_ahead.asked_stream.val();
        self.placed.asked_at.next = self.look_ahead.at.val();
        self.placed.asked_behind.next = self.look_ahead.behind.val();
        self.look_ahead.answered.next = self.placed.answered.val();
        self.look_ahead.in_interval.next = self.placed.in_interval.val();
        self.look_ahead.interval_end.next = self.placed.interval_end.val();
        self.look_ahead.interval_placed.next = self.placed.interval_placed.val();
        self.look_ahead.room.next = self.placed.room.val();
        self.look_ahead.may_issue.next = self.placed.may_issue.val();
        self.placed.done.next = self.ahead_done.val();
        self.placed.done_stream.next = self.ahead_stream.val();
        self.placed.done_at.next = self.ahead_position.val().get_bits::<20>(0);
        self.placed.accepted.next = self.ahead_accepted.val();
        self.in_order.next = self.passes.val()
            | (self.known_fpdu_valid.q.val()
                & !self.known_fpdu_dropped.q.val()
                & !self.hold.q.val());
        self.ahead_goes.next =
            self.look_ahead.fpdu_valid.val() & !self.in_order.val() & !self.out.m_valid.val();
        self.look_ahead.taken.next = self.ahead_goes.val();
        self.placed.given.next = self.ahead_goes.val();

        comment!(
            "out: when the queue stalls the walker, it still has room for all FPDUs under way"
        );
        self.found.next = self.known_fpdu.q.val();
        if self.ahead_goes.val() {
            self.found.next = self.look_ahead.fpdu.val();
        }
        if self.passes.val() {
            self.found.next = self.weighed_fpdu.q.val();
        }
        self.issued_stream.next = self.found.val().stream;
        self.pushes.next = self.in_order.val() | self.ahead_goes.val();
        self.issued.next = self.pushes.val();
        self.out.s_data.next = self.found.val();
        self.out.s_valid.next = self.pushes.val();
        self.fpdu.next = self.out.m_data.val();
        self.fpdu_valid.next = self.out.m_valid.val();
        self.out.m_ready.next = self.fpdu_ready.val();
        self.pops.next = self.out.m_valid.val() & self.fpdu_ready.val();
        if self.pushes.val() & !self.pops.val() {
            self.waiting.d.next = self.waiting.q.val() + 1;
        }
        if self.pops.val() & !self.pushes.val() {
            self.waiting.d.next = self.waiting.q.val() - 1;
        }
        self.hold.d.next = self.waiting.q.val() >= self.enough.val();

        comment!("next state of the streams");
        for i in 0..S {
            if self.stands.val() & self.weighed_of[i].q.val() {
                if self.weighed.q.val().last {
                    self.at[i].d.next = self.weighed.q.val().behind;
                    self.chain_of[i].d.next = self.weighed_chain.q.val();
                }
                if self.incomplete.val() {
                    self.at[i].d.next = self.weighed_fpdu.q.val().position;
                    self.chain_of[i].d.next = self.no_chain.val();
                    self.known[i].d.next = true;
                    self.need[i].d.next = self.weighed_octets.val();
                }
                if self.weighed_fpdu.q.val().refused.any() {
                    self.live[i].d.next = false;
                }
            }
            if self.known_fpdu_passes.val() & self.known_fpdu_of[i].q.val() {
                if self.known_fpdu.q.val().refused == 0 {
                    self.at[i].d.next = self.known_fpdu_behind.val();
                    self.chain_of[i].d.next = self.no_chain.val();
                    self.known[i].d.next = false;
                } else if self.known_fpdu.q.val().refused == self.ends_closed.val() {
                    self.finished[i].d.next = false;
                } else {
                    self.live[i].d.next = false;
                }
            }
            comment!(
                "a stream is idle again two cycles after its last change, when `have` is up to date"
            );
            if (self.visit_done.q.val()
                & (self.visit_done_stream.q.val().get_bits::<4>(0) == self.index[i].val()))
                | (self.issue_done.q.val()
                    & (self.issue_done_stream.q.val().get_bits::<4>(0) == self.index[i].val()))
            {
                self.busy[i].d.next = false;
            }
            if self.picked[i].val() {
                self.busy[i].d.next = true;
            }
            if self.fast_accepted_of[i].val() {
                comment!("also if its length is dropped: the stream is visited a cycle later then");
                self.eligible[i].d.next = false;
                if self.in_time.val() {
                    self.busy[i].d.next = true;
                }
                if !self.in_time.val() & !self.incomplete.val() {
                    self.known[i].d.next = true;
                    self.need[i].d.next = bit_cast::<20, 16>(self.fast_fpdu.val().dwords) << 2;
                }
            }
        }

        comment!("arm and close; octets of the previous owner must not make the stream eligible");
        for i in 0..S {
            if !self.busy[i].q.val() & !self.picked[i].val() {
                self.stale[i].d.next = false;
            }
            if self.owner_stream.q.val().get_bits::<4>(0) == self.index[i].val() {
                if self.arm_pulse.q.val() {
                    self.live[i].d.next = true;
                    self.with_markers[i].d.next = self.owner_markers.q.val();
                    self.with_crc[i].d.next = self.owner_crc.q.val();
                    self.with_long[i].d.next = self.owner_long.q.val();
                    self.edge_at[i].d.next = 0.into();
                    self.at[i].d.next = 0.into();
                    self.known[i].d.next = false;
                    self.have[i].d.next = 0.into();
                    self.stopped[i].d.next = false;
                    self.finished[i].d.next = false;
                    self.cause[i].d.next = 0.into();
                }
                if self.close_pulse.q.val() {
                    self.live[i].d.next = false;
                }
                if self.owner_changes.q.val() {
                    self.eligible[i].d.next = false;
                    self.stale[i].d.next = true;
                }
            }
            if self.reset.val() {
                self.live[i].d.next = false;
                self.picked_look[i].d.next = false;
                self.picked_give[i].d.next = false;
                self.busy[i].d.next = false;
                self.eligible[i].d.next = false;
            }
        }
        if self.reset.val() {
            self.chosen_valid.d.next = false;
            self.measured_valid.d.next = false;
            self.weighed_valid.d.next = false;
            self.whole.d.next = false;
            self.short.d.next = false;
            self.kept.d.next = false;
            self.dead.d.next = false;
            self.visit_done.d.next = false;
            self.given_valid.d.next = false;
            self.known_fpdu_valid.d.next = false;
            self.length_write.d.next = false;
            self.arm_pulse.d.next = false;
            self.close_pulse.d.next = false;
            self.owner_changes.d.next = false;
            self.issue_done.d.next = false;
            self.blocked.d.next = self.blocked_for.val();
            self.fast_path_open.d.next = false;
            self.waiting.d.next = 0.into();
            self.hold.d.next = false;
        }
    }
}

//! What `segment` does in each cycle. A turn, or a command, goes through the steps of [`Step`]; around them stand the rows of the
//! stream in work, its room in the ring, the decision, and what the blocks inside are given.
//!
//! ```text
//!  Wait ─ begins ─► Load ─┬─ quick, or nothing to send ───────────────────► Wait
//!                         └─► Decide ─► After ─┬─ blocked ────────────────► Wait
//!                                              ├─ last ──────────► Again ─► Wait
//!                                              └─► Walk ─ given ─► Again ─► Wait
//!
//!  Wait ─┬─ Clear, Close ───────────────────────────────► Done ─► Wait
//!        └─ Arm, SetEmss ─► Sizes ─┬─ SetEmss ──────────► Done
//!                                  └─ Arm ─► Msns ─► Gate ─► Done
//! ```
//!
//! When another turn begins in that cycle, Load takes the place of Wait.
use super::{Segment, Step};
use crate::tx::ddp::segment::command::TransmitCommand;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::comment;

impl<const S: usize> Logic for Segment<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.scheduler.reset.next = self.reset.val();
        self.payload.reset.next = self.reset.val();
        self.measure.reset.next = self.reset.val();
        self.pieces.reset.next = self.reset.val();
        self.segments.reset.next = self.reset.val();
        self.m_piece.next = self.pieces.m_data.val();
        self.m_piece_valid.next = self.pieces.m_valid.val();
        self.pieces.m_ready.next = self.m_piece_ready.val();
        self.m_segment.next = self.segments.m_data.val();
        self.m_segment_valid.next = self.segments.m_valid.val();
        self.segments.m_ready.next = self.m_segment_ready.val();

        comment!("rows of the stream whose turn it is, or which the command names");
        self.waiting.next = (self.step.q.val() == Step::Sizes)
            | (self.step.q.val() == Step::Msns)
            | (self.step.q.val() == Step::Gate)
            | (self.step.q.val() == Step::Done);
        self.stream.next = self.scheduler.stream.val().get_bits::<4>(0);
        if self.waiting.val() {
            self.stream.next = self.s_command.val().stream.get_bits::<4>(0);
        }
        self.contexts.read_row.next = self.stream.val();
        self.contexts.write_row.next = self.stream.val();
        self.progress.read_row.next = self.stream.val();
        self.progress.write_row.next = self.stream.val();
        self.acknowledged.read_row.next = self.stream.val();
        self.row_context.d.next = self.contexts.out.val();
        self.row_progress.d.next = self.progress.out.val();
        self.stream_1.d.next = self.stream.val();

        comment!("the slot, row by row: the second one first, since LENGTH needs most cycles");
        self.row_stream.next = self.scheduler.stream.val();
        self.row.next = self.row_progress.q.val().element + self.age.q.val();
        if !self.age.q.val().any() {
            self.row.next = self.row_1.val();
        }
        if self.age.q.val() == self.second.val() {
            self.row.next = self.row_0.val();
        }
        self.fill_1.d.next.valid = (self.age.q.val() >= self.first_row.val())
            & (self.age.q.val() < self.behind_rows.val());
        self.fill_1.d.next.row = bit_cast::<4, 3>(self.row.val().get_bits::<3>(0));
        if self.bank.q.val() {
            self.fill_1.d.next.row =
                bit_cast::<4, 3>(self.row.val().get_bits::<3>(0)) | self.second_bank.val();
        }
        self.fill_2.d.next = self.fill_1.q.val();
        self.fill_3.d.next = self.fill_2.q.val();
        self.payload.fill.next = self.fill_3.q.val().valid;
        self.payload.fill_row.next = self.fill_3.q.val().row;
        self.payload.fill_data.next = self.row_data.val();
        self.request.row.next = self.row_data.val();
        self.request.take_1.next =
            (self.step.q.val() == Step::Load) & (self.age.q.val() == self.arrives_1.val());
        self.request.take_0.next =
            (self.step.q.val() == Step::Load) & (self.age.q.val() == self.arrives_0.val());
        if self.request.take_0.val() {
            self.failed.d.next = self.head_failed.val();
            self.consumed_now.d.next = self.consumed.val();
            self.response.d.next = self.is_response.val();
        }
        self.request.sent.next = self.row_progress.q.val().sent;
        self.request.mulpdu.next = self.row_context.q.val().mulpdu;

        comment!(
            "room in the ring: for the longest FPDU, or for four of them while some are not measured"
        );
        self.measure.room_stream.next = self.stream.val();
        self.used_1.d.next =
            (self.measure.room_position.val() - self.acknowledged.out.val()).get_bits::<16>(0);
        self.exact.next = self.still.q.val().any();
        self.longest.next = bit_cast::<18, 15>(self.row_context.q.val().longest) << 2;
        if self.exact.val() {
            self.longest.next = bit_cast::<18, 15>(self.row_context.q.val().longest);
        }
        self.sum_2.d.next = bit_cast::<18, 16>(self.used_1.q.val()) + self.longest.val();
        self.has_room.d.next = self.fits_3.q.val();
        self.fits_3.d.next = self.sum_2.q.val() <= self.ring_dwords.val();

        comment!("a quick turn: the rows show that it ends the request, whatever is decided");
        self.room_1.d.next = self.row_context.q.val().mulpdu - self.untagged_header.val();
        self.fits_one.d.next = !self.row_data.val().get_bits::<16>(48).any()
            & (self.row_data.val().get_bits::<16>(32) <= self.room_1.q.val());
        self.word.next = self.row_data.val().get_bits::<32>(0);
        self.fence_word.next = self.word.val().get_bit(self.fence_at.val().index());
        self.many.next = (self.word.val().get_bits::<8>(self.count_at.val().index())
            & self.beyond_quick.val())
        .any()
            & !self.word.val().get_bit(self.inline_at.val().index());
        self.quick_now.next = self.fits_one.q.val()
            & self.fits_3.q.val()
            & self.request.first.val()
            & !self.fence_word.val()
            & !self.many.val()
            & !self.head_failed.val()
            & self.scheduler.sends.val()
            & !self.scheduler.flushes.val()
            & !self.scheduler.frozen.val();
        self.charge.d.next =
            bit_cast::<17, 16>(self.request.octets.val()) + self.around_message.val();
        if self.step.q.val() == Step::Load {
            self.charge.d.next =
                bit_cast::<17, 16>(self.request.slot.val().length.get_bits::<16>(0))
                    + self.around_message.val();
        }

        comment!("the header");
        self.msn_queue.next = self.request.slot.val().stag.get_bits::<8>(0);
        if self.step.q.val() == Step::Msns {
            self.msn_queue.next = self.queue.q.val();
        }
        self.msns.read_row.next =
            (bit_cast::<12, 4>(self.stream.val()) << 8) | bit_cast::<12, 8>(self.msn_queue.val());
        self.msns.write_row.next = (bit_cast::<12, 4>(self.stream_1.q.val()) << 8)
            | bit_cast::<12, 8>(self.msn_queue.val());
        self.msns.write.next = false;
        self.msns.write_data.next = self.msns.read_data.val() + 1;
        self.ddp_header.is_tagged.next = self.request.is_tagged.val();
        self.ddp_header.last.next = self.request.last.val();
        self.ddp_header.rsvd_ulp_first.next = self.request.slot.val().head.get_bits::<8>(24);
        self.ddp_header.rsvd_ulp_low.next = self.request.slot.val().rsvd_ulp_low;
        self.ddp_header.stag.next = self.request.slot.val().stag;
        self.ddp_header.tagged_offset.next = self.request.tagged_offset.val();
        self.ddp_header.msn.next = self.msns.read_data.val();
        self.ddp_header.message_offset.next = self.row_progress.q.val().sent;
        self.ulpdu.next = self.ddp_header.length.val() + self.request.octets.val();

        comment!("the decision");
        self.flushed.next = self.scheduler.flushes.val()
            | (self.scheduler.frozen.val()
                & !(self.request.terminate.val()
                    & self.scheduler.sends.val()
                    & !self.failed.q.val()));
        self.fence_holds.next = false;
        for i in 0..S {
            if (self.stream_1.q.val() == self.index[i].val())
                & (self.under_way[i].val() | self.held[i].q.val().any())
            {
                self.fence_holds.next = self.request.fence.val() & self.request.first.val();
            }
        }
        self.refuses.next = self.flushed.val() | self.failed.q.val() | self.request.malformed.val();
        self.refusal.next = 0.into();
        if self.request.malformed.val() {
            self.refusal.next = self.malformed_status.val();
        }
        if self.failed.q.val() {
            self.refusal.next = self.bus_status.val();
        }
        if self.flushed.val() {
            self.refusal.next = self.flushed_status.val();
        }
        self.blocked.next = !self.refuses.val()
            & !self.quick.q.val()
            & (!self.has_room.q.val() | self.fence_holds.val() | !self.scheduler.sends.val());
        self.sent_now.next = !self.refuses.val() & !self.blocked.val();
        self.done_with.next = self.refuses.val() | self.request.last.val();
        self.was_blocked.d.next = self.blocked.val();
        self.was_last.d.next = self.done_with.val();
        self.was_sent.d.next = self.sent_now.val();
        self.ends.d.next.stream = bit_cast::<8, 4>(self.stream_1.q.val());
        self.ends.d.next.valid = false;
        self.swaps.d.next = false;
        if self.swaps.q.val() {
            self.bank.d.next = !self.bank.q.val();
        }
        if self.verdict.q.val() {
            self.ends.d.next.valid = (self.refuses.val() & !self.flushed.val())
                | (self.sent_now.val() & self.request.terminate.val() & self.request.last.val());
            self.msns.write.next =
                self.sent_now.val() & self.request.last.val() & !self.request.is_tagged.val();
            self.cut.d.next.stream = bit_cast::<8, 4>(self.stream_1.q.val());
            self.cut.d.next.protection_domain = self.row_context.q.val().protection_domain;
            self.cut.d.next.markers = self.row_context.q.val().markers;
            self.cut.d.next.crc = self.row_context.q.val().crc;
            self.cut.d.next.refusal = self.refusal.val();
            self.cut.d.next.header = self.ddp_header.octets.val();
            self.cut.d.next.header_length = self.ddp_header.length.val();
            self.cut.d.next.octets = self.request.octets.val();
            self.cut.d.next.ulpdu = self.ulpdu.val();
            self.cut.d.next.first = self.request.first.val();
            self.cut.d.next.last = self.done_with.val();
            self.cut.d.next.in_slot = self.request.inline.val();
            self.cut.d.next.count = self.request.count.val();
            self.cut.d.next.element = self.row_progress.q.val().element;
            self.cut.d.next.into = self.row_progress.q.val().into;
            self.cut.d.next.bank = self.bank.q.val();
            self.cut.d.next.signalled = self.request.signalled.val();
            self.cut.d.next.length = self.request.slot.val().length;
            self.cut.d.next.request = self.request.slot.val().request;
            self.cut.d.next.consumed = self.consumed_now.q.val();
            self.cut.d.next.response = self.response.q.val();
            self.cut_valid.d.next = !self.blocked.val();
            self.swaps.d.next = !self.blocked.val();
        }

        comment!("the pieces, and the record behind them");
        self.payload.cut.next = self.cut.q.val();
        self.payload.start.next = self.cut_valid.q.val();
        self.payload.clear.next = self.clear.q.val();
        self.pieces.s_data.next = self.payload.m_piece.val();
        self.pieces.s_valid.next = self.payload.m_valid.val();
        self.payload.m_ready.next = self.pieces.s_ready.val();
        self.segments.s_valid.next = self.payload.finished.val() & self.measure.idle.val();
        self.hand.next =
            self.payload.finished.val() & self.measure.idle.val() & self.segments.s_ready.val();
        self.payload.accept.next = self.hand.val();
        if self.hand.val() {
            self.cut_valid.d.next = false;
        }
        self.segments.s_data.next.stream = self.cut.q.val().stream;
        self.segments.s_data.next.position = bit_cast::<32, 30>(self.measure.position.val()) << 2;
        self.segments.s_data.next.length = self.cut.q.val().ulpdu;
        self.segments.s_data.next.markers = self.cut.q.val().markers;
        self.segments.s_data.next.crc = self.cut.q.val().crc;
        self.segments.s_data.next.first = self.cut.q.val().first;
        self.segments.s_data.next.last = self.cut.q.val().last | self.payload.refused.val();
        self.segments.s_data.next.signalled = self.cut.q.val().signalled;
        self.segments.s_data.next.octets = self.cut.q.val().length;
        self.segments.s_data.next.request = self.cut.q.val().request;
        self.segments.s_data.next.consumed = self.cut.q.val().consumed;
        self.segments.s_data.next.response = self.cut.q.val().response;

        comment!("the FPDU, and sizes for a command");
        self.measure.stream.next = self.cut.q.val().stream.get_bits::<4>(0);
        self.measure.start.next = self.hand.val();
        self.measure.ulpdu.next = self.cut.q.val().ulpdu;
        self.measure.markers.next = self.cut.q.val().markers;
        self.measure.sends.next = !self.cut.q.val().refusal.any() & !self.payload.refused.val();
        self.measure.clear.next = self.step.q.val() == Step::Msns;
        self.measure.clear_stream.next = self.stream.val();
        self.measure.size.next = self.waiting.val();
        self.measure.size_length.next = self.emss_to_mulpdu.mulpdu.val();
        self.measure.size_markers.next = self.new_context.q.val().markers;
        self.emss_to_mulpdu.emss.next = self.s_command.val().emss;
        self.emss_to_mulpdu.markers.next = self.new_context.q.val().markers;

        comment!("the turn, or the command");
        self.idle.next = !self.verdict.q.val() & !self.cut_valid.q.val() & self.measure.idle.val();
        if !self.still.q.val().all() {
            self.still.d.next = self.still.q.val() + 1;
        }
        if !self.idle.val() {
            self.still.d.next = 0.into();
        }
        self.free.next = !self.cut_valid.q.val() | self.hand.val();
        self.can_begin.next =
            (self.scheduler.more.val() | self.scheduler.other.val()) & !self.command_valid.val();
        self.begins.next = false;
        self.enters.next = false;
        self.scheduler.spent.next = self.refusal_cost.val();
        if self.quick.q.val() | self.was_sent.q.val() {
            self.scheduler.spent.next =
                bit_cast::<17, 15>(self.charge.q.val().get_bits::<15>(2)) << 2;
        }
        self.scheduler.leave.next = false;
        self.scheduler.block.next = false;
        self.pop_now.d.next.valid = false;
        self.pop_now.d.next.stream = self.scheduler.stream.val();
        self.verdict.d.next = false;
        self.contexts.write.next = false;
        self.contexts.data.next = self.new_context.q.val();
        self.progress.write.next = false;
        self.progress.data.next = self.row_progress.q.val();
        self.clear.d.next.valid = false;
        self.clear.d.next.stream = self.s_command.val().stream;
        self.arm.d.next.valid = false;
        self.arm.d.next.stream = self.s_command.val().stream;
        self.close.d.next.valid = false;
        self.close.d.next.stream = self.s_command.val().stream;
        self.pop.next = self.pop_now.q.val();
        if !self.age.q.val().all() {
            self.age.d.next = self.age.q.val() + 1;
        }
        match self.step.q.val() {
            Step::Wait => {
                self.sizes_age.d.next = 0.into();
                self.queue.d.next = 0.into();
                self.new_context.d.next.protection_domain = self.s_command.val().protection_domain;
                self.new_context.d.next.markers = self.s_command.val().markers;
                self.new_context.d.next.crc = self.s_command.val().crc;
                self.new_context.d.next.mulpdu = 0.into();
                self.new_context.d.next.longest = 0.into();
                self.begins.next = self.can_begin.val();
                if self.command_valid.val() & self.idle.val() {
                    match self.command.val() {
                        TransmitCommand::Clear => {
                            self.clear.d.next.valid = true;
                            self.step.d.next = Step::Done;
                        }
                        TransmitCommand::Close => {
                            self.close.d.next.valid = true;
                            self.step.d.next = Step::Done;
                        }
                        _ => {
                            self.step.d.next = Step::Sizes;
                        }
                    }
                }
            }
            Step::Load => {
                if (self.age.q.val() == self.second.val()) & !self.scheduler.holds.val() {
                    self.scheduler.leave.next = true;
                    self.begins.next = self.scheduler.other.val() & !self.command_valid.val();
                    self.step.d.next = Step::Wait;
                }
                if self.age.q.val() == self.arrives_0.val() {
                    self.quick.d.next = self.quick_now.val();
                    self.pop_now.d.next.valid = self.quick_now.val();
                }
                if self.age.q.val() == self.popped.val() {
                    self.enters.next = self.quick.q.val();
                }
                if (self.age.q.val() >= self.loaded.val()) & self.free.val() {
                    if self.quick.q.val() {
                        self.verdict.d.next = true;
                        self.begins.next = self.can_begin.val();
                        self.step.d.next = Step::Wait;
                    } else if self.fits_3.q.val() | (self.still.q.val() == self.still_enough.val())
                    {
                        self.verdict.d.next = true;
                        self.step.d.next = Step::Decide;
                    }
                }
            }
            Step::Decide => {
                self.step.d.next = Step::After;
            }
            Step::After => {
                self.pause.d.next = self.pause_of_pop.val();
                self.progress.data.next.sent = 0.into();
                self.progress.data.next.element = 0.into();
                self.progress.data.next.into = 0.into();
                if self.was_blocked.q.val() {
                    self.scheduler.leave.next = true;
                    self.scheduler.block.next = true;
                    self.step.d.next = Step::Wait;
                } else {
                    self.enters.next = true;
                    self.step.d.next = Step::Walk;
                    if self.was_last.q.val() {
                        self.pop_now.d.next.valid = true;
                        self.progress.write.next = true;
                        self.step.d.next = Step::Again;
                    }
                }
            }
            Step::Walk => {
                self.progress.data.next.sent =
                    self.row_progress.q.val().sent + bit_cast::<32, 16>(self.cut.q.val().octets);
                self.progress.data.next.element = self.payload.next_element.val();
                self.progress.data.next.into = self.payload.next_into.val();
                self.pause.d.next = 0.into();
                if self.payload.refused.val() {
                    self.progress.data.next.sent = 0.into();
                    self.progress.data.next.element = 0.into();
                    self.progress.data.next.into = 0.into();
                    self.pause.d.next = self.pause_of_pop.val();
                }
                if self.hand.val() {
                    self.progress.write.next = true;
                    self.pop_now.d.next.valid = self.payload.refused.val();
                    self.step.d.next = Step::Again;
                }
            }
            Step::Again => {
                self.pause.d.next = self.pause.q.val() - 1;
                if !self.pause.q.val().any() {
                    self.begins.next = self.can_begin.val();
                    self.step.d.next = Step::Wait;
                }
            }
            Step::Sizes => {
                comment!("the stream keeps all but its sizes, unless it is armed");
                self.sizes_age.d.next = self.sizes_age.q.val() + 1;
                if (self.sizes_age.q.val() == self.row_is_read.val())
                    & (self.command.val() == TransmitCommand::SetEmss)
                {
                    self.new_context.d.next = self.row_context.q.val();
                }
                self.contexts.data.next.mulpdu = self.emss_to_mulpdu.mulpdu.val();
                self.contexts.data.next.longest = self.measure.dwords.val();
                if self.sizes_age.q.val() == self.sizes.val() {
                    self.contexts.write.next = true;
                    self.step.d.next = Step::Done;
                    if self.command.val() == TransmitCommand::Arm {
                        self.arm.d.next.valid = true;
                        self.step.d.next = Step::Msns;
                    }
                }
            }
            Step::Msns => {
                self.msns.write.next = true;
                self.msns.write_data.next = self.s_command.val().first_msn;
                self.queue.d.next = self.queue.q.val() + 1;
                self.progress.write.next = true;
                self.progress.data.next.sent = 0.into();
                self.progress.data.next.element = 0.into();
                self.progress.data.next.into = 0.into();
                if self.queue.q.val().all() {
                    self.step.d.next = Step::Gate;
                }
            }
            Step::Gate => {
                if self.s_command.val().gate | !self.open.val().valid {
                    self.step.d.next = Step::Done;
                }
            }
            Step::Done => {
                self.step.d.next = Step::Wait;
            }
        }
        self.scheduler.start.next = self.begins.val();
        if self.begins.val() {
            self.age.d.next = 0.into();
            self.step.d.next = Step::Load;
        }
        self.command_done.next = self.step.q.val() == Step::Done;
        self.scheduler.pays.next = self.enters.val();

        comment!("segments that the blocks behind do not count yet");
        self.leaves.next = self.segments.m_valid.val() & self.m_segment_ready.val();
        for i in 0..S {
            self.holds[i].next = self.held[i].q.val().any();
            self.up[i].next = self.enters.val() & (self.stream_1.q.val() == self.index[i].val());
            self.down[i].next = self.leaves.val()
                & (self.segments.m_data.val().stream.get_bits::<4>(0) == self.index[i].val());
            if self.up[i].val() & !self.down[i].val() {
                self.held[i].d.next = self.held[i].q.val() + 1;
            }
            if self.down[i].val() & !self.up[i].val() {
                self.held[i].d.next = self.held[i].q.val() - 1;
            }
        }

        self.scheduler.clear.next = self.clear.q.val();
        self.cleared.next = self.clear.q.val();
        self.scheduler.arm.next = self.arm.q.val();
        self.scheduler.close.next = self.close.q.val();
        self.scheduler.freeze.next = self.freeze.val();
        self.scheduler.fail.next = self.fail.val();
        self.scheduler.freed.next = self.freed.val();
        self.scheduler.settled.next = self.settled.val();
        self.scheduler.ends.next = self.ends.q.val();
        self.scheduler.refused.next = self.payload.refuses.val();
        comment!("a gate that check opens, or else the one of a stream that is armed without one");
        self.scheduler.open.next = self.open.val();
        if (self.step.q.val() == Step::Gate) & !self.open.val().valid {
            self.scheduler.open.next.valid = !self.s_command.val().gate;
            self.scheduler.open.next.stream = self.s_command.val().stream;
        }
        comment!("an acknowledgement, or else none at all for a stream that is armed");
        self.acknowledged.write.next = self.freed.val().valid | (self.step.q.val() == Step::Msns);
        self.acknowledged.write_row.next = self.s_command.val().stream.get_bits::<4>(0);
        self.acknowledged.data.next = 0.into();
        if self.freed.val().valid {
            self.acknowledged.write_row.next = self.freed.val().stream.get_bits::<4>(0);
            self.acknowledged.data.next = self.freed_position.val().get_bits::<30>(2);
        }
        for i in 0..S {
            self.scheduler.head[i].next = self.head[i].val();
            self.is_armed[i].next = self.scheduler.is_armed[i].val();
            self.is_open[i].next = self.scheduler.is_open[i].val();
            self.is_ended[i].next = self.scheduler.is_ended[i].val();
        }
        if self.reset.val() {
            self.step.d.next = Step::Wait;
            self.verdict.d.next = false;
            self.cut_valid.d.next = false;
            self.pop_now.d.next.valid = false;
            self.ends.d.next.valid = false;
            self.clear.d.next.valid = false;
            self.arm.d.next.valid = false;
            self.close.d.next.valid = false;
            for i in 0..S {
                self.held[i].d.next = 0.into();
            }
        }
    }
}

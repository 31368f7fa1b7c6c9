//! The receiving device, and what the transmit side shares with it: registers, commands, completions, the STag table.
//!
//! ```text
//!                 ┌───────── Ingress ─────────┐
//!  s_axis_segment │ rings, scan, CRC, markers,│ DdpSegment, Verdict ┌───────┐ Placement  ┌───────┐
//!  ──────────────►│ commit buffer             │────────────────────►│ check │───────────►│ place │──┐
//!  m_axis_window  │                           │◄──── payload ───────┼───────┼────────────│       │  │
//!  ◄──────────────└───────────────────────────┘                     └───┬───┘  Delivery  └───┬───┘  ▼
//!  s_axil ──► registers ──► control ──► arm, close ──► (all)    tables ─┤            ┌───────▼────┐ write_mux ──► m_axi
//!               │             └──► command_arbiter ─────────────────────┘            │ deliver    │     ▲
//!               ├─ doorbell ─► rings ─────────┘ ◄── reads ── m_axi                   └─► completion ────┘
//!               └───────────────────────────────────────────────────────────────────────► interrupts ──► m_axis_msix
//!
//!  to the transmit side:   doorbells, transmit requests, changes of STags, mpa_accepted, errors
//!  from the transmit side: results of requests, TRANSMIT_STATE, send_event, doorbells for receive rings
//!  through it:             events and fences, from `deliver` to `completion`: it may answer Read Requests
//! ```
//!
//! [`top`](crate::top) is this block with a reset and nothing on the transmit side; [`duplex`](crate::duplex) has one.
//! Throughput and latency are those of the parts; the totals are in `docs/bench`.
use crate::Config;
use crate::host::command_arbiter::CommandArbiter;
use crate::host::completion::CompletionWriter;
use crate::host::control::{Control, TransmitRequest};
use crate::host::interrupts::{Interrupts, MessageStreamOut};
use crate::host::receive_rings::ReceiveRings;
use crate::host::registers::Registers;
use crate::host::write_mux::WriteMux;
use crate::parts::axi::{AxiLiteSlave, AxiMaster, ChunkStreamIn, SegmentStreamIn};
use crate::rx::ddp::check::Check;
use crate::rx::ddp::deliver::Deliver;
use crate::rx::ddp::place::Place;
use crate::rx::mpa::ingress::Ingress;
use crate::rx::mpa::window::{Window, WindowStreamOut};
use crate::rx::sctp::receive::ChunkStatusOut;
use crate::tables::stag_table::StagEntry;
use rust_hdl_core::prelude::*;
use warpline_regmap::sctp::sctp_context;
use warpline_sv_writer::{Block, Dff, Optional, comment, constant};

/// The receiving device for beats of W bits: K octets (2^LOGK), D dwords (2^LOGD), H = 16·D; S streams.
#[derive(Block)]
#[block(config: &Config)]
pub struct Core<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
    const SCTP: usize = 0,
> {
    /// The clock of all ports.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Rises a cycle before `reset`, and falls with it.
    pub port_reset: Signal<In, Bit>,
    /// TCP payload with stream and sequence number.
    pub s_axis_segment: SegmentStreamIn<W, K>,
    /// Acknowledgement and window for TCP.
    pub m_axis_window: WindowStreamOut,
    /// Chunks of SCTP.
    pub s_axis_sctp: Optional<ChunkStreamIn<W, K>, SCTP>,
    /// What became of each.
    pub m_axis_chunk: Optional<ChunkStatusOut, SCTP>,
    /// Registers.
    pub s_axil: AxiLiteSlave,
    /// Host memory: payload and completions are written, receive descriptors are read.
    pub m_axi: AxiMaster<W, K>,
    /// Interrupt messages.
    pub m_axis_msix: MessageStreamOut,

    /// Entry of the receive side, PHASE zero.
    pub m_event: Signal<Out, Bits<256>>,
    /// It is valid.
    pub m_event_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_event_ready: Signal<In, Bit>,
    /// Pulse: a fence behind the entries accepted so far.
    pub m_fence: Signal<Out, Bit>,
    /// Entry for the completion queue, PHASE zero.
    pub s_event: Signal<In, Bits<256>>,
    /// It is valid.
    pub s_event_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_event_ready: Signal<Out, Bit>,
    /// Pulse: a fence behind the entries accepted so far.
    pub s_fence: Signal<In, Bit>,
    /// Pulse: the host's doorbell of a receive ring.
    pub receive_doorbell: Signal<Out, Bit>,
    /// Stream of it; there may be no such stream.
    pub receive_doorbell_stream: Signal<Out, Bits<8>>,
    /// Queue of it.
    pub receive_doorbell_queue: Signal<Out, Bits<8>>,
    /// Descriptors written since the ring was set, modulo 2^16.
    pub receive_doorbell_value: Signal<Out, Bits<16>>,
    /// A doorbell of the device for a receive ring.
    pub bell: Signal<In, Bit>,
    /// It is accepted: the host rings none in this cycle.
    pub bell_ready: Signal<Out, Bit>,
    /// Stream of it.
    pub bell_stream: Signal<In, Bits<8>>,
    /// Queue of it.
    pub bell_queue: Signal<In, Bits<8>>,
    /// As `receive_doorbell_value`.
    pub bell_value: Signal<In, Bits<16>>,
    /// Pulse: slots were written to a send ring.
    pub send_doorbell: Signal<Out, Bit>,
    /// Stream of `send_doorbell`; there may be no such stream.
    pub send_doorbell_stream: Signal<Out, Bits<8>>,
    /// Slots written since the ring was set, modulo 2^16.
    pub send_doorbell_value: Signal<Out, Bits<16>>,
    /// `TRANSMIT_STATE` of each stream.
    pub transmit_state: [Signal<In, Bits<32>>; S],
    /// What the transmit side has to do.
    pub transmit: Signal<Out, TransmitRequest>,
    /// It is valid, until `transmit_done`.
    pub transmit_valid: Signal<Out, Bit>,
    /// Stream of it.
    pub transmit_stream: Signal<Out, Bits<8>>,
    /// Words of `ARGUMENT`, stable while it is valid.
    pub transmit_arguments: Signal<Out, Bits<256>>,
    /// Pulse: it is done.
    pub transmit_done: Signal<In, Bit>,
    /// With `transmit_done`: it was refused.
    pub transmit_failed: Signal<In, Bit>,
    /// `send_event`, PHASE zero.
    pub s_send_event: Signal<In, Bits<256>>,
    /// It is valid.
    pub s_send_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_send_ready: Signal<Out, Bit>,
    /// Pulse: MPA has found an FPDU valid.
    pub mpa_accepted: Signal<Out, Bit>,
    /// Its stream.
    pub mpa_accepted_stream: Signal<Out, Bits<8>>,
    /// Pulse: an error has frozen a stream.
    pub errors: Signal<Out, Bit>,
    /// That stream.
    pub errors_stream: Signal<Out, Bits<8>>,
    /// A slot of the STag table changes in this cycle.
    pub stag_change: Signal<Out, Bit>,
    /// That slot.
    pub stag_change_slot: Signal<Out, Bits<12>>,
    /// Its new content.
    pub stag_change_entry: Signal<Out, StagEntry>,

    #[value(Ingress::new(config))]
    ingress: Ingress<W, K, D, H, LOGK, LOGD, S, SCTP>,
    /// The command is an arm of a stream of SCTP.
    of_sctp: Optional<Dff<Bit>, SCTP>,
    #[value(Optional::with(|| constant(sctp_context::SCTP.lsb)))]
    sctp_at: Optional<Constant<Bits<8>>, SCTP>,
    window: Window<S>,
    #[value(Check::new(config))]
    check: Check<S>,
    #[value(Place::new(config))]
    place: Place<W, K, LOGK>,
    deliver: Deliver<S>,
    completion: CompletionWriter<W, K>,
    write_mux: WriteMux<W, K>,
    #[value(Registers::new(config))]
    registers: Registers<S>,
    #[value(Control::new(config))]
    control: Control<S>,
    command_arbiter: CommandArbiter,
    #[value(ReceiveRings::new(config))]
    receive_rings: ReceiveRings<W, K, S>,
    interrupts: Interrupts,
}

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
    const SCTP: usize,
> Core<W, K, D, H, LOGK, LOGD, S, SCTP>
{
    /// The device that `config` describes.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self::assemble(config)
    }
}

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
    const SCTP: usize,
> Logic for Core<W, K, D, H, LOGK, LOGD, S, SCTP>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.ingress.reset.next = self.reset.val();
        self.window.reset.next = self.port_reset.val();
        self.check.reset.next = self.reset.val();
        self.place.reset.next = self.reset.val();
        self.deliver.reset.next = self.reset.val();
        self.completion.reset.next = self.reset.val();
        self.write_mux.reset.next = self.port_reset.val();
        self.registers.reset.next = self.reset.val();
        self.registers.port_reset.next = self.port_reset.val();
        self.control.reset.next = self.reset.val();
        self.command_arbiter.reset.next = self.reset.val();
        self.receive_rings.reset.next = self.reset.val();
        self.receive_rings.port_reset.next = self.port_reset.val();
        self.interrupts.reset.next = self.port_reset.val();

        comment!("network side");
        SegmentStreamIn::<W, K>::link(&mut self.s_axis_segment, &mut self.ingress.s_axis_segment);
        WindowStreamOut::link(&mut self.m_axis_window, &mut self.window.m_axis_window);
        for i in 0..S {
            self.window.edge_sequence[i].next = self.ingress.edge_sequence[i].val();
            self.window.limit_sequence[i].next = self.ingress.limit_sequence[i].val();
            self.registers.edge_sequence[i].next = self.ingress.edge_sequence[i].val();
            self.registers.limit_sequence[i].next = self.ingress.limit_sequence[i].val();
        }

        comment!("from the commit buffer to memory");
        self.check.segment.next = self.ingress.segment.val();
        self.check.segment_valid.next = self.ingress.segment_valid.val();
        self.check.verdict.next = self.ingress.verdict.val();
        self.check.verdict_valid.next = self.ingress.verdict_valid.val();
        self.ingress.consumed.next = self.check.consumed.val();
        self.ingress.consumed_stream.next = self.check.consumed_stream.val();
        for i in 0..S {
            self.ingress.scarce[i].next = self.receive_rings.scarce[i].val();
            self.ingress.few[i].next = self.receive_rings.few[i].val();
            self.ingress.empty[i].next = self.receive_rings.empty[i].val();
        }
        self.ingress.ahead_done.next = self.check.ahead_done.val();
        self.ingress.ahead_stream.next = self.check.ahead_stream.val();
        self.ingress.ahead_position.next = self.check.ahead_position.val();
        self.ingress.ahead_accepted.next = self.check.ahead_accepted.val();
        self.place.s_placement.next = self.check.placement.val();
        self.place.s_delivery.next = self.check.delivery.val();
        self.place.s_valid.next = self.check.m_valid.val();
        self.check.m_ready.next = self.place.s_ready.val();
        self.ingress.read_row_0.next = self.place.read_row_0.val();
        self.ingress.read_row_1.next = self.place.read_row_1.val();
        self.ingress.read_select.next = self.place.read_select.val();
        self.place.read_data.next = self.ingress.read_data.val();
        self.ingress.freed.next = self.place.release_valid.val();
        self.ingress.freed_rows.next = self.place.release_rows.val();
        self.deliver.s_delivery.next = self.place.m_delivery.val();
        self.deliver.s_issued.next = self.place.m_issued.val();
        self.deliver.s_valid.next = self.place.m_valid.val();
        self.place.m_ready.next = self.deliver.s_ready.val();
        self.m_event.next = self.deliver.m_event.val();
        self.m_event_valid.next = self.deliver.m_valid.val();
        self.deliver.m_ready.next = self.m_event_ready.val();
        self.m_fence.next = self.deliver.m_fence.val();
        self.completion.s_event.next = self.s_event.val();
        self.completion.s_valid.next = self.s_event_valid.val();
        self.s_event_ready.next = self.completion.s_ready.val();
        self.completion.s_fence.next = self.s_fence.val();
        self.check.bus_fault.next = self.deliver.bus_fault.val();
        self.check.bus_fault_stream.next = self.deliver.bus_fault_stream.val();

        comment!("two write masters, one bus");
        self.write_mux.payload.awaddr.next = self.place.m_axi.awaddr.val();
        self.write_mux.payload.awlen.next = self.place.m_axi.awlen.val();
        self.write_mux.payload.awvalid.next = self.place.m_axi.awvalid.val();
        self.place.m_axi.awready.next = self.write_mux.payload.awready.val();
        self.write_mux.payload.wdata.next = self.place.m_axi.wdata.val();
        self.write_mux.payload.wstrb.next = self.place.m_axi.wstrb.val();
        self.write_mux.payload.wlast.next = self.place.m_axi.wlast.val();
        self.write_mux.payload.wvalid.next = self.place.m_axi.wvalid.val();
        self.place.m_axi.wready.next = self.write_mux.payload.wready.val();
        self.write_mux.completion.awaddr.next = self.completion.m_axi.awaddr.val();
        self.write_mux.completion.awlen.next = self.completion.m_axi.awlen.val();
        self.write_mux.completion.awvalid.next = self.completion.m_axi.awvalid.val();
        self.completion.m_axi.awready.next = self.write_mux.completion.awready.val();
        self.write_mux.completion.wdata.next = self.completion.m_axi.wdata.val();
        self.write_mux.completion.wstrb.next = self.completion.m_axi.wstrb.val();
        self.write_mux.completion.wlast.next = self.completion.m_axi.wlast.val();
        self.write_mux.completion.wvalid.next = self.completion.m_axi.wvalid.val();
        self.completion.m_axi.wready.next = self.write_mux.completion.wready.val();
        self.deliver.b_valid.next = self.write_mux.payload_b_valid.val();
        self.deliver.b_error.next = self.write_mux.payload_b_error.val();
        self.write_mux.payload_b_ready.next = self.deliver.b_ready.val();
        self.completion.b_valid.next = self.write_mux.completion_b_valid.val();
        self.completion.b_error.next = self.write_mux.completion_b_error.val();
        self.m_axi.awaddr.next = self.write_mux.m_axi.awaddr.val();
        self.m_axi.awlen.next = self.write_mux.m_axi.awlen.val();
        self.m_axi.awsize.next = self.write_mux.m_axi.awsize.val();
        self.m_axi.awburst.next = self.write_mux.m_axi.awburst.val();
        self.m_axi.awcache.next = self.write_mux.m_axi.awcache.val();
        self.m_axi.awprot.next = self.write_mux.m_axi.awprot.val();
        self.m_axi.awvalid.next = self.write_mux.m_axi.awvalid.val();
        self.write_mux.m_axi.awready.next = self.m_axi.awready.val();
        self.m_axi.wdata.next = self.write_mux.m_axi.wdata.val();
        self.m_axi.wstrb.next = self.write_mux.m_axi.wstrb.val();
        self.m_axi.wlast.next = self.write_mux.m_axi.wlast.val();
        self.m_axi.wvalid.next = self.write_mux.m_axi.wvalid.val();
        self.write_mux.m_axi.wready.next = self.m_axi.wready.val();
        self.write_mux.m_axi.bresp.next = self.m_axi.bresp.val();
        self.write_mux.m_axi.bvalid.next = self.m_axi.bvalid.val();
        self.m_axi.bready.next = self.write_mux.m_axi.bready.val();

        comment!("receive rings: descriptors in, buffers to `check`");
        self.m_axi.araddr.next = self.receive_rings.m_axi.araddr.val();
        self.m_axi.arlen.next = self.receive_rings.m_axi.arlen.val();
        self.m_axi.arsize.next = self.receive_rings.m_axi.arsize.val();
        self.m_axi.arburst.next = self.receive_rings.m_axi.arburst.val();
        self.m_axi.arcache.next = self.receive_rings.m_axi.arcache.val();
        self.m_axi.arprot.next = self.receive_rings.m_axi.arprot.val();
        self.m_axi.arvalid.next = self.receive_rings.m_axi.arvalid.val();
        self.receive_rings.m_axi.arready.next = self.m_axi.arready.val();
        self.receive_rings.m_axi.rdata.next = self.m_axi.rdata.val();
        self.receive_rings.m_axi.rresp.next = self.m_axi.rresp.val();
        self.receive_rings.m_axi.rlast.next = self.m_axi.rlast.val();
        self.receive_rings.m_axi.rvalid.next = self.m_axi.rvalid.val();
        self.m_axi.rready.next = self.receive_rings.m_axi.rready.val();
        comment!("doorbells: those of the host first");
        self.receive_doorbell.next = self.registers.doorbell.val();
        self.receive_doorbell_stream.next = self.registers.doorbell_stream.val();
        self.receive_doorbell_queue.next = self.registers.doorbell_queue.val();
        self.receive_doorbell_value.next = self.registers.doorbell_value.val();
        self.bell_ready.next = !self.registers.doorbell.val();
        self.receive_rings.doorbell.next = self.registers.doorbell.val() | self.bell.val();
        self.receive_rings.doorbell_stream.next = self.bell_stream.val();
        self.receive_rings.doorbell_queue.next = self.bell_queue.val();
        self.receive_rings.doorbell_value.next = self.bell_value.val();
        if self.registers.doorbell.val() {
            self.receive_rings.doorbell_stream.next = self.registers.doorbell_stream.val();
            self.receive_rings.doorbell_queue.next = self.registers.doorbell_queue.val();
            self.receive_rings.doorbell_value.next = self.registers.doorbell_value.val();
        }
        self.receive_rings.set.next = self.control.set.val();
        self.receive_rings.arguments.next = self.registers.arguments.val().get_bits::<128>(0);
        self.control.set_ready.next = self.receive_rings.set_ready.val();
        self.control.set_failed.next = self.receive_rings.set_failed.val();
        self.receive_rings.close.next = self.control.forget.val();
        self.receive_rings.stream.next = self.control.stream.val();
        self.control.quiet.next = self.receive_rings.quiet.val();
        self.command_arbiter.rings_arguments.next = self.receive_rings.buffer.val();
        self.command_arbiter.rings_valid.next = self.receive_rings.buffer_valid.val();
        self.receive_rings.buffer_ready.next = self.command_arbiter.rings_ready.val();
        self.receive_rings.buffer_done.next = self.command_arbiter.rings_done.val();
        self.receive_rings.buffer_failed.next = self.command_arbiter.rings_failed.val();
        self.receive_rings.key_stream.next = self.check.key_stream.val();
        self.receive_rings.key_queue.next = self.check.key_queue.val();
        self.receive_rings.key_distance.next = self.check.key_distance.val();
        self.receive_rings.took.next = self.check.took.val();
        self.check.coming.next = self.receive_rings.coming.val();
        self.check.read_fault.next = self.receive_rings.fault.val();
        self.check.read_fault_stream.next = self.receive_rings.fault_stream.val();

        comment!("registers and commands");
        AxiLiteSlave::link(&mut self.s_axil, &mut self.registers.s_axil);
        self.control.start.next = self.registers.start.val();
        self.control.number.next = self.registers.number.val();
        self.control.arguments.next = self.registers.arguments.val();
        self.registers.busy.next = self.control.busy.val();
        self.registers.failed.next = self.control.failed.val();
        self.command_arbiter.control_command.next = self.control.command.val();
        self.command_arbiter.control_arguments.next = self.registers.arguments.val();
        self.command_arbiter.control_valid.next = self.control.command_valid.val();
        self.control.command_ready.next = self.command_arbiter.control_ready.val();
        self.control.command_done.next = self.command_arbiter.control_done.val();
        self.control.command_failed.next = self.command_arbiter.control_failed.val();
        self.check.command.next = self.command_arbiter.command.val();
        self.check.arguments.next = self.command_arbiter.arguments.val();
        self.check.command_valid.next = self.command_arbiter.command_valid.val();
        self.command_arbiter.command_ready.next = self.check.command_ready.val();
        self.command_arbiter.command_done.next = self.check.command_done.val();
        self.command_arbiter.command_failed.next = self.check.command_failed.val();
        self.control.issued.next = self.ingress.issued.val();
        self.control.issued_stream.next = self.ingress.issued_stream.val();
        self.control.consumed.next = self.check.consumed.val();
        self.control.consumed_stream.next = self.check.consumed_stream.val();
        self.control.fence_done.next = self.completion.fence_done.val();
        self.ingress.arm.next = self.control.arm.val();
        self.ingress.close.next = self.control.close.val();
        self.ingress.stream.next = self.control.stream.val();
        self.ingress.markers.next = self.control.markers.val();
        self.ingress.crc.next = self.control.crc.val();
        self.ingress.long_ulpdus.next = self.control.long_ulpdus.val();
        self.ingress.sequence_start.next = self.control.sequence_start.val();
        self.deliver.arm.next = self.control.arm.val();
        self.deliver.stream.next = self.control.stream.val();
        self.completion.base.next = self.registers.completion_base.val();
        self.completion.entries.next = self.registers.completion_entries.val().get_bits::<17>(0);
        self.completion.consumer.next = self.registers.completion_consumer.val();
        self.completion.restart.next = self.registers.restart.val();
        self.registers.completion_producer.next = self.completion.producer.val();
        self.interrupts.producer.next = self.completion.producer.val();
        self.interrupts.restart.next = self.registers.restart.val();
        self.interrupts.fault.next = self.completion.fault.val();
        self.interrupts.arm.next = self.registers.arm.val();
        self.interrupts.armed_count.next = self.registers.armed_count.val();
        self.interrupts.clear.next = self.registers.interrupt_clear.val();
        self.interrupts.enable.next = self.registers.interrupt_enable.val();
        self.interrupts.test.next = self.registers.interrupt_test.val();
        self.interrupts.holdoff.next = self.registers.holdoff.val();
        self.registers.interrupt_state.next = self.interrupts.state.val();
        MessageStreamOut::link(&mut self.m_axis_msix, &mut self.interrupts.m_axis_msix);
        self.registers.segments.next = self.ingress.segments.val();
        self.registers.octets.next = self.ingress.octets.val();
        self.registers.segments_dropped.next = self.ingress.segments_dropped.val();
        self.registers.fpdus.next = self.check.judged.val();
        self.registers.discarded.next = self.check.discarded.val();
        self.registers.payload.next = self.check.payload.val();
        self.registers.payload_valid.next = self.check.consumed.val();
        self.registers.errors.next = self.check.errors.val();
        self.check.record_row.next = self.registers.record_row.val();
        self.registers.record_data.next = self.check.record_data.val();

        comment!("the transmit side");
        self.send_doorbell.next = self.registers.send_doorbell.val();
        self.send_doorbell_stream.next = self.registers.send_doorbell_stream.val();
        self.send_doorbell_value.next = self.registers.send_doorbell_value.val();
        for i in 0..S {
            self.registers.transmit_state[i].next = self.transmit_state[i].val();
        }
        self.transmit.next = self.control.transmit.val();
        self.transmit_valid.next = self.control.transmit_valid.val();
        self.transmit_stream.next = self.control.stream.val();
        self.transmit_arguments.next = self.registers.arguments.val();
        self.control.transmit_done.next = self.transmit_done.val();
        self.control.transmit_failed.next = self.transmit_failed.val();
        self.completion.s_send_event.next = self.s_send_event.val();
        self.completion.s_send_valid.next = self.s_send_valid.val();
        self.s_send_ready.next = self.completion.s_send_ready.val();
        self.mpa_accepted.next = self.check.mpa_accepted.val();
        self.mpa_accepted_stream.next = self.check.consumed_stream.val();
        self.errors.next = self.check.errors.val();
        self.errors_stream.next = self.check.errors_stream.val();
        self.stag_change.next = self.check.stag_change.val();
        self.stag_change_slot.next = self.check.stag_change_slot.val();
        self.stag_change_entry.next = self.check.stag_change_entry.val();

        for i in 0..SCTP {
            comment!("SCTP: the argument of `start`, with the arm that follows");
            ChunkStreamIn::<W, K>::link(&mut self.s_axis_sctp[i], &mut self.ingress.s_axis_sctp[i]);
            ChunkStatusOut::link(&mut self.m_axis_chunk[i], &mut self.ingress.m_axis_chunk[i]);
            self.ingress.port_reset[i].next = self.port_reset.val();
            if self.registers.start.val() {
                self.of_sctp[i].d.next = self
                    .registers
                    .arguments
                    .val()
                    .get_bit(self.sctp_at[i].val().index());
            }
            self.ingress.of_sctp[i].next = self.of_sctp[i].q.val();
        }
    }
}

//! The device that receives and sends.
//!
//! ```text
//!  s_axis_segment ───────────────►┌────────┐ send_event ┌─────────────┐◄─ s_axis_send
//!  m_axis_window ◄────────────────┤        │◄───────────┤             ├─► m_axis_transmit
//!  s_axil ◄────────►┌─────────┐   │  core  ├─ doorbell ►│ transmitter ├─► m_axis_status
//!  s_axil_control ◄►│ mailbox ├──►│        │            └─┬─────────▲─┘
//!                   └────┬────┘   └┬──┬─┬─┬┘              │    commands, freeze, gate, Read Responses
//!  m_axis_msix ◄─ message_mux ◄────┤  │ │ └─ request ─► transmit_control
//!               writes ────────────┘  │ └─── events ◄─► read_responder
//!                 ▼        reads      ▼        │        STags: core ─► stag_copy ─► transmitter
//!               m_axi ◄─────────── read_mux ◄──┘                └─► response_stags ─► read_responder
//! ```
//!
//! One clock, `aclk`. [`DeviceReset`] samples `aresetn`; one cycle is enough. Both directions share registers, commands, the completion
//! queue, the STag table and the bus to host memory. A revocation, or a close, is done when neither direction can
//! access memory for it any more ([`access_fence`](crate::tx::ddp::access_fence)). The read responder has a copy of the table of its own: it
//! looks up while the transmitter does, every few cycles. The [`Mailbox`] stands between the ports of host and control
//! program and the registers of [`Core`]; [`MessageMux`] adds its interrupt.
use crate::Config;
use crate::core::Core;
use crate::host::interrupts::MessageStreamOut;
use crate::host::mailbox::Mailbox;
use crate::host::message_mux::MessageMux;
use crate::host::read_mux::ReadMux;
use crate::host::read_responder::ReadResponder;
use crate::host::transmit_control::TransmitControl;
use crate::parts::axi::{
    AxiLiteMaster, AxiLiteSlave, AxiMaster, AxiReadMaster, ChunkStreamIn, SegmentStreamIn,
};
use crate::reset::{DeviceReset, RESET_CYCLES};
use crate::rx::mpa::window::WindowStreamOut;
use crate::rx::sctp::receive::ChunkStatusOut;
use crate::tables::stag_copy::StagCopy;
use crate::tx::mpa::transmit_ring::ports::{SendStreamIn, StatusStreamOut, TransmitStreamOut};
use crate::tx::transmitter::{self, Transmitter};
use rust_hdl_core::prelude::*;
use warpline_regmap::sctp::sctp_transmit_context;
use warpline_regmap::transmit::{TRANSMIT_ARMED, TRANSMIT_ENDED, TRANSMIT_IDLE, TRANSMIT_OPEN};
use warpline_sv_writer::{Block, Optional, comment, constant};

const _: () = assert!(transmitter::RESET as u64 <= RESET_CYCLES);

/// The device for beats of W bits: K octets (2^LOGK), D dwords (2^LOGD), H = 16·D; S streams.
#[derive(Block)]
#[block(config: &Config)]
pub struct Duplex<
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
    pub aclk: Signal<In, Clock>,
    /// Reset, active low, sampled by `aclk`.
    pub aresetn: Signal<In, Bit>,
    /// TCP payload with stream and sequence number.
    pub s_axis_segment: SegmentStreamIn<W, K>,
    /// Acknowledgement and window for TCP.
    pub m_axis_window: WindowStreamOut,
    /// Chunks of SCTP.
    pub s_axis_sctp: Optional<ChunkStreamIn<W, K>, SCTP>,
    /// What became of each.
    pub m_axis_chunk: Optional<ChunkStatusOut, SCTP>,
    /// Commands of TCP to the transmit rings.
    pub s_axis_send: SendStreamIn,
    /// Octets for TCP to send.
    pub m_axis_transmit: TransmitStreamOut<W, K>,
    /// Reports of the transmit rings to TCP.
    pub m_axis_status: StatusStreamOut,
    /// Registers, for the host.
    pub s_axil: AxiLiteSlave,
    /// Registers and mailbox, for the control program.
    pub s_axil_control: AxiLiteSlave,
    /// Host memory: received payload and completions are written; descriptors, send slots and payload are read.
    pub m_axi: AxiMaster<W, K>,
    /// Interrupt messages.
    pub m_axis_msix: MessageStreamOut,

    device_reset: DeviceReset,
    mailbox: Mailbox,
    message_mux: MessageMux,
    #[value(Core::new(config))]
    core: Core<W, K, D, H, LOGK, LOGD, S, SCTP>,
    transmit_control: TransmitControl<S>,
    #[value(Transmitter::new(config))]
    transmitter: Transmitter<W, K, D, LOGK, LOGD, S, SCTP>,
    #[value(StagCopy::new(config.stag_slots))]
    stag_copy: StagCopy,
    #[value(StagCopy::new(config.stag_slots))]
    response_stags: StagCopy,
    read_responder: ReadResponder<W, K, S>,
    read_mux: ReadMux<W>,
    armed_bit: [Signal<Local, Bits<32>>; S],
    open_bit: [Signal<Local, Bits<32>>; S],
    idle_bit: [Signal<Local, Bits<32>>; S],
    ended_bit: [Signal<Local, Bits<32>>; S],
    #[constant(TRANSMIT_ARMED.lsb)]
    armed_at: Constant<Bits<8>>,
    #[constant(TRANSMIT_OPEN.lsb)]
    open_at: Constant<Bits<8>>,
    #[constant(TRANSMIT_IDLE.lsb)]
    idle_at: Constant<Bits<8>>,
    #[constant(TRANSMIT_ENDED.lsb)]
    ended_at: Constant<Bits<8>>,
    #[value(Optional::with(|| constant(sctp_transmit_context::SCTP.lsb)))]
    sctp_at: Optional<Constant<Bits<8>>, SCTP>,
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
> Duplex<W, K, D, H, LOGK, LOGD, S, SCTP>
{
    /// The device that `config` describes.
    ///
    /// # Panics
    /// When `config` wants a device that receives only: that is [`Warpline`](crate::top::Warpline).
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(config.transmit, "a device that sends, too");
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
> Logic for Duplex<W, K, D, H, LOGK, LOGD, S, SCTP>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.device_reset.aresetn.next = self.aresetn.val();
        self.core.reset.next = self.device_reset.reset.val();
        self.core.port_reset.next = self.device_reset.port_reset.val();
        self.transmit_control.reset.next = self.device_reset.reset.val();
        self.read_responder.reset.next = self.device_reset.reset.val();
        comment!("these drive a VALID of a port");
        self.transmitter.reset.next = self.device_reset.port_reset.val();
        self.read_mux.reset.next = self.device_reset.port_reset.val();
        self.mailbox.reset.next = self.device_reset.port_reset.val();
        self.message_mux.reset.next = self.device_reset.port_reset.val();

        comment!("registers and interrupts: the mailbox stands in front of both");
        AxiLiteSlave::link(&mut self.s_axil, &mut self.mailbox.s_axil);
        AxiLiteSlave::link(&mut self.s_axil_control, &mut self.mailbox.s_axil_control);
        AxiLiteMaster::join(&mut self.mailbox.m_axil, &mut self.core.s_axil);
        self.message_mux.raise.next = self.mailbox.raise.val();
        self.message_mux.clear.next = self.mailbox.clear.val();
        self.message_mux.enable.next = self.mailbox.interrupt_enable.val();
        MessageStreamOut::join(
            &mut self.core.m_axis_msix,
            &mut self.message_mux.s_axis_msix,
        );
        MessageStreamOut::link(&mut self.m_axis_msix, &mut self.message_mux.m_axis_msix);

        comment!("ports of the receive side, and writes");
        SegmentStreamIn::<W, K>::link(&mut self.s_axis_segment, &mut self.core.s_axis_segment);
        WindowStreamOut::link(&mut self.m_axis_window, &mut self.core.m_axis_window);
        for i in 0..SCTP {
            ChunkStreamIn::<W, K>::link(&mut self.s_axis_sctp[i], &mut self.core.s_axis_sctp[i]);
            ChunkStatusOut::link(&mut self.m_axis_chunk[i], &mut self.core.m_axis_chunk[i]);
        }
        self.m_axi.awaddr.next = self.core.m_axi.awaddr.val();
        self.m_axi.awlen.next = self.core.m_axi.awlen.val();
        self.m_axi.awsize.next = self.core.m_axi.awsize.val();
        self.m_axi.awburst.next = self.core.m_axi.awburst.val();
        self.m_axi.awcache.next = self.core.m_axi.awcache.val();
        self.m_axi.awprot.next = self.core.m_axi.awprot.val();
        self.m_axi.awvalid.next = self.core.m_axi.awvalid.val();
        self.m_axi.wdata.next = self.core.m_axi.wdata.val();
        self.m_axi.wstrb.next = self.core.m_axi.wstrb.val();
        self.m_axi.wlast.next = self.core.m_axi.wlast.val();
        self.m_axi.wvalid.next = self.core.m_axi.wvalid.val();
        self.m_axi.bready.next = self.core.m_axi.bready.val();
        self.core.m_axi.awready.next = self.m_axi.awready.val();
        self.core.m_axi.wready.next = self.m_axi.wready.val();
        self.core.m_axi.bresp.next = self.m_axi.bresp.val();
        self.core.m_axi.bvalid.next = self.m_axi.bvalid.val();

        comment!("reads");
        self.read_mux.rings.araddr.next = self.core.m_axi.araddr.val();
        self.read_mux.rings.arlen.next = self.core.m_axi.arlen.val();
        self.read_mux.rings.arsize.next = self.core.m_axi.arsize.val();
        self.read_mux.rings.arburst.next = self.core.m_axi.arburst.val();
        self.read_mux.rings.arcache.next = self.core.m_axi.arcache.val();
        self.read_mux.rings.arprot.next = self.core.m_axi.arprot.val();
        self.read_mux.rings.arvalid.next = self.core.m_axi.arvalid.val();
        self.read_mux.rings.rready.next = self.core.m_axi.rready.val();
        self.core.m_axi.arready.next = self.read_mux.rings.arready.val();
        self.core.m_axi.rdata.next = self.read_mux.rings.rdata.val();
        self.core.m_axi.rresp.next = self.read_mux.rings.rresp.val();
        self.core.m_axi.rlast.next = self.read_mux.rings.rlast.val();
        self.core.m_axi.rvalid.next = self.read_mux.rings.rvalid.val();
        AxiReadMaster::<W>::join(&mut self.transmitter.m_axi_slots, &mut self.read_mux.queues);
        AxiReadMaster::<W>::join(
            &mut self.transmitter.m_axi_memory,
            &mut self.read_mux.gather,
        );
        AxiReadMaster::<W>::join(&mut self.read_responder.m_axi, &mut self.read_mux.responder);
        self.m_axi.araddr.next = self.read_mux.m_axi.araddr.val();
        self.m_axi.arlen.next = self.read_mux.m_axi.arlen.val();
        self.m_axi.arsize.next = self.read_mux.m_axi.arsize.val();
        self.m_axi.arburst.next = self.read_mux.m_axi.arburst.val();
        self.m_axi.arcache.next = self.read_mux.m_axi.arcache.val();
        self.m_axi.arprot.next = self.read_mux.m_axi.arprot.val();
        self.m_axi.arvalid.next = self.read_mux.m_axi.arvalid.val();
        self.m_axi.rready.next = self.read_mux.m_axi.rready.val();
        self.read_mux.m_axi.arready.next = self.m_axi.arready.val();
        self.read_mux.m_axi.rdata.next = self.m_axi.rdata.val();
        self.read_mux.m_axi.rresp.next = self.m_axi.rresp.val();
        self.read_mux.m_axi.rlast.next = self.m_axi.rlast.val();
        self.read_mux.m_axi.rvalid.next = self.m_axi.rvalid.val();

        comment!("ports of the transmit side");
        SendStreamIn::link(&mut self.s_axis_send, &mut self.transmitter.s_axis_send);
        TransmitStreamOut::<W, K>::link(
            &mut self.m_axis_transmit,
            &mut self.transmitter.m_axis_transmit,
        );
        StatusStreamOut::link(&mut self.m_axis_status, &mut self.transmitter.m_axis_status);

        comment!("doorbells and commands");
        self.transmitter.doorbell.next = self.core.send_doorbell.val();
        self.transmitter.doorbell_stream.next = self.core.send_doorbell_stream.val();
        self.transmitter.doorbell_value.next = self.core.send_doorbell_value.val();
        self.transmit_control.request.next = self.core.transmit.val();
        self.transmit_control.request_valid.next = self.core.transmit_valid.val();
        self.transmit_control.request_stream.next = self.core.transmit_stream.val();
        self.transmit_control.arguments.next = self.core.transmit_arguments.val();
        self.core.transmit_done.next = self.transmit_control.done.val();
        self.core.transmit_failed.next = self.transmit_control.failed.val();
        self.transmitter.set.next = self.transmit_control.set.val();
        self.transmitter.arguments.next = self.core.transmit_arguments.val().get_bits::<128>(0);
        self.transmit_control.set_ready.next = self.transmitter.set_ready.val();
        self.transmit_control.set_failed.next = self.transmitter.set_failed.val();
        self.read_responder.set.next = self.transmit_control.set_responder.val();
        self.read_responder.arguments.next = self.core.transmit_arguments.val().get_bits::<128>(0);
        self.read_responder.protection_domain.next =
            self.transmit_control.m_command.val().protection_domain;
        self.transmit_control.set_responder_ready.next = self.read_responder.set_ready.val();
        self.transmit_control.set_responder_failed.next = self.read_responder.set_failed.val();
        self.read_responder.close.next = self.transmit_control.freeze_doorbells.val();
        self.read_responder.stream.next = self.transmit_control.stream.val();
        self.transmitter.freeze_doorbells.next = self.transmit_control.freeze_doorbells.val();
        self.transmitter.detach.next = self.transmit_control.detach.val();
        self.transmitter.ring_arm.next = self.transmit_control.ring_arm.val();
        self.transmitter.sequence_start.next = self.transmit_control.sequence_start.val();
        for i in 0..SCTP {
            self.transmitter.of_sctp[i].next = self
                .core
                .transmit_arguments
                .val()
                .get_bit(self.sctp_at[i].val().index());
        }
        self.transmitter.ring_close.next = self.transmit_control.ring_close.val();
        self.transmit_control.ring_quiet.next = self.transmitter.ring_quiet.val();
        self.transmitter.stream.next = self.transmit_control.stream.val();
        self.transmitter.command.next = self.transmit_control.command.val();
        self.transmitter.s_command.next = self.transmit_control.m_command.val();
        self.transmitter.command_valid.next = self.transmit_control.command_valid.val();
        self.transmit_control.command_done.next = self.transmitter.command_done.val();
        self.transmitter.fence.next = self.transmit_control.fence.val();
        self.transmit_control.fence_passed.next = self.transmitter.fence_passed.val();
        for i in 0..S {
            self.transmit_control.idle[i].next =
                self.transmitter.idle[i].val() & self.read_responder.idle[i].val();
            self.transmitter.response_head[i].next = self.read_responder.head[i].val();
            self.transmit_control.is_armed[i].next = self.transmitter.is_armed[i].val();
            self.armed_bit[i].next = 0.into();
            if self.transmitter.is_armed[i].val() {
                self.armed_bit[i].next = bits::<32>(1) << self.armed_at.val();
            }
            self.open_bit[i].next = 0.into();
            if self.transmitter.is_open[i].val() {
                self.open_bit[i].next = bits::<32>(1) << self.open_at.val();
            }
            self.idle_bit[i].next = 0.into();
            if self.transmitter.idle[i].val() {
                self.idle_bit[i].next = bits::<32>(1) << self.idle_at.val();
            }
            self.ended_bit[i].next = 0.into();
            if self.transmitter.is_ended[i].val() {
                self.ended_bit[i].next = bits::<32>(1) << self.ended_at.val();
            }
            self.core.transmit_state[i].next = self.armed_bit[i].val()
                | self.open_bit[i].val()
                | self.idle_bit[i].val()
                | self.ended_bit[i].val();
        }

        comment!("what the receive side finds opens the gate, and freezes");
        self.transmitter.open.next.valid = self.core.mpa_accepted.val();
        self.transmitter.open.next.stream = self.core.mpa_accepted_stream.val();
        self.transmitter.freeze.next.valid = self.core.errors.val();
        self.transmitter.freeze.next.stream = self.core.errors_stream.val();

        comment!("Read Requests leave the events, and become slots");
        self.read_responder.s_event.next = self.core.m_event.val();
        self.read_responder.s_valid.next = self.core.m_event_valid.val();
        self.core.m_event_ready.next = self.read_responder.s_ready.val();
        self.read_responder.s_fence.next = self.core.m_fence.val();
        self.core.s_event.next = self.read_responder.m_event.val();
        self.core.s_event_valid.next = self.read_responder.m_valid.val();
        self.read_responder.m_ready.next = self.core.s_event_ready.val();
        self.core.s_fence.next = self.read_responder.m_fence.val();
        self.read_responder.row_stream.next = self.transmitter.row_stream.val();
        self.read_responder.row.next = self.transmitter.row.val();
        self.transmitter.response_data.next = self.read_responder.row_data.val();
        self.read_responder.pop.next = self.transmitter.response_pop.val();
        self.read_responder.pop_stream.next = self.transmitter.pop_stream.val();
        self.read_responder.doorbell.next = self.core.receive_doorbell.val();
        self.read_responder.doorbell_stream.next = self.core.receive_doorbell_stream.val();
        self.read_responder.doorbell_queue.next = self.core.receive_doorbell_queue.val();
        self.read_responder.doorbell_value.next = self.core.receive_doorbell_value.val();
        self.core.bell.next = self.read_responder.bell.val();
        self.read_responder.bell_ready.next = self.core.bell_ready.val();
        self.core.bell_stream.next = self.read_responder.bell_stream.val();
        self.core.bell_queue.next = self.read_responder.bell_queue.val();
        self.core.bell_value.next = self.read_responder.bell_value.val();

        comment!("STags and completions");
        self.response_stags.change.next = self.core.stag_change.val();
        self.response_stags.change_slot.next = self.core.stag_change_slot.val();
        self.response_stags.change_entry.next = self.core.stag_change_entry.val();
        self.response_stags.stag.next = self.read_responder.stag.val();
        self.read_responder.entry.next = self.response_stags.entry.val();
        self.stag_copy.change.next = self.core.stag_change.val();
        self.stag_copy.change_slot.next = self.core.stag_change_slot.val();
        self.stag_copy.change_entry.next = self.core.stag_change_entry.val();
        self.stag_copy.stag.next = self.transmitter.stag.val();
        self.transmitter.entry.next = self.stag_copy.entry.val();
        self.core.s_send_event.next = self.transmitter.m_event.val();
        self.core.s_send_valid.next = self.transmitter.m_event_valid.val();
        self.transmitter.m_event_ready.next = self.core.s_send_ready.val();
    }
}

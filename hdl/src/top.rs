//! The device that receives: TCP segments in on one side, registers and host memory on the other.
//!
//! ```text
//!                  ┌─────────┐
//!  s_axis_segment ─►         ├─► m_axi: payload and completions out, descriptors in
//!  m_axis_window ◄─┤  core   │◄─► s_axil
//!  aresetn ► reset ►         ├─► m_axis_msix
//!                  └─────────┘
//! ```
//!
//! One clock, `aclk`. [`DeviceReset`] samples `aresetn`; one cycle is enough. [`Core`] is the device.
use crate::Config;
use crate::core::Core;
use crate::host::interrupts::MessageStreamOut;
use crate::parts::axi::{AxiLiteSlave, AxiMaster, ChunkStreamIn, SegmentStreamIn};
use crate::reset::DeviceReset;
use crate::rx::mpa::window::WindowStreamOut;
use crate::rx::sctp::receive::ChunkStatusOut;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::{Block, Optional, comment};

/// The device for beats of W bits: K octets (2^LOGK), D dwords (2^LOGD), H = 16·D; S streams.
#[derive(Block)]
#[block(config: &Config)]
pub struct Warpline<
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
    /// Registers.
    pub s_axil: AxiLiteSlave,
    /// Host memory: payload and completions are written, receive descriptors are read.
    pub m_axi: AxiMaster<W, K>,
    /// Interrupt messages.
    pub m_axis_msix: MessageStreamOut,

    device_reset: DeviceReset,
    #[value(Core::new(config))]
    core: Core<W, K, D, H, LOGK, LOGD, S, SCTP>,
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
> Warpline<W, K, D, H, LOGK, LOGD, S, SCTP>
{
    /// The device that `config` describes.
    ///
    /// # Panics
    /// When `config` wants a device that sends: that is [`Duplex`](crate::duplex::Duplex).
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(!config.transmit, "a device that receives only");
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
> Logic for Warpline<W, K, D, H, LOGK, LOGD, S, SCTP>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.device_reset.aresetn.next = self.aresetn.val();
        self.core.reset.next = self.device_reset.reset.val();
        self.core.port_reset.next = self.device_reset.port_reset.val();
        SegmentStreamIn::<W, K>::link(&mut self.s_axis_segment, &mut self.core.s_axis_segment);
        WindowStreamOut::link(&mut self.m_axis_window, &mut self.core.m_axis_window);
        for i in 0..SCTP {
            ChunkStreamIn::<W, K>::link(&mut self.s_axis_sctp[i], &mut self.core.s_axis_sctp[i]);
            ChunkStatusOut::link(&mut self.m_axis_chunk[i], &mut self.core.m_axis_chunk[i]);
        }
        AxiLiteSlave::link(&mut self.s_axil, &mut self.core.s_axil);
        AxiMaster::<W, K>::link(&mut self.m_axi, &mut self.core.m_axi);
        MessageStreamOut::link(&mut self.m_axis_msix, &mut self.core.m_axis_msix);

        comment!("no transmit side: all events go to the host");
        self.core.s_event.next = self.core.m_event.val();
        self.core.s_event_valid.next = self.core.m_event_valid.val();
        self.core.m_event_ready.next = self.core.s_event_ready.val();
        self.core.s_fence.next = self.core.m_fence.val();
        self.core.bell.next = false;
        self.core.bell_stream.next = 0.into();
        self.core.bell_queue.next = 0.into();
        self.core.bell_value.next = 0.into();
        for i in 0..S {
            self.core.transmit_state[i].next = 0.into();
        }
        self.core.transmit_done.next = false;
        self.core.transmit_failed.next = false;
        self.core.s_send_event.next = 0.into();
        self.core.s_send_valid.next = false;
    }
}

//! AMBA ports as bundles, with the standard names.
//!
//! ```text
//!  s_axis_segment: SegmentStreamIn   octets of TCP segments into the device
//!  s_axis_sctp:    ChunkStreamIn     chunks of SCTP into the device
//!  s_axil:         AxiLiteSlave      registers
//!  m_axi:          AxiMaster         host memory: an AxiWriteMaster and an AxiReadMaster  (m_axi.awaddr is the port m_axi_awaddr)
//!  WriteRequestOut ──► WriteRequestIn    the same inside the device, without the constant signals
//! ```
//!
//! Write master: every burst is INCR, aligned to the bus, of whole beats, and does not cross 4 KiB; strobes mask the
//! other octets. Signals that AXI4 makes optional for a master are left out (IHI 0022E §A9.3): AWID, so all writes
//! carry ID 0, the interconnect adds its own, and responses arrive in the order of addresses (§A5.3); AWLOCK, AWQOS,
//! AWREGION and AWUSER. AWPROT is mandatory. AWCACHE is not, but its default is a *device* write, which no bridge may
//! resize; warpline uses *normal, not bufferable*, which keeps the property that AMB-41 needs: the response comes
//! from the final destination, not from a buffer on the path (§A4.4).
//!
//! Read master: the same, with ARCACHE, ARPROT and no ARID, so beats arrive in the order of addresses. Receive rings have
//! one burst under way at a time, in a block of [`READ_BLOCK`] octets; `gather` and send queues have several.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Record;

/// AWBURST, ARBURST: the address increments.
pub const BURST_INCR: u64 = 0b01;
/// AWPROT, ARPROT: unprivileged, non-secure, data.
pub const PROT_DATA: u64 = 0b010;
/// AWCACHE, ARCACHE: normal memory, not cacheable, not bufferable.
pub const CACHE_NOT_BUFFERABLE: u64 = 0b0010;
/// Bit of a segment's `tuser`: the peer's FIN follows the segment's last octet.
pub const USER_FIN: usize = 32;
/// Bit of a segment's `tuser`: the connection is lost.
pub const USER_ABORT: usize = 33;
/// Bit of a chunk's `tuser`: a session control message (PPID 17), not a DDP segment (PPID 16).
pub const USER_CONTROL: usize = 0;
/// Bit of a chunk's `tuser`, with [`USER_CONTROL`]: it is the last one of the peer's half of the session, a Terminate.
pub const USER_TERMINATE: usize = 1;
/// No burst crosses a multiple of this many octets.
pub const BOUNDARY: usize = 4096;
/// No read burst crosses a multiple of this many octets.
pub const READ_BLOCK: usize = 256;
/// Most beats of an INCR burst.
pub const MOST_BEATS: usize = 256;

/// AWSIZE, ARSIZE of full-width beats of `octets`.
#[must_use]
pub const fn size_code(octets: usize) -> u64 {
    octets.ilog2() as u64
}

/// AXI4-Stream in: W bits, K = W/8 octets.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "AxiStreamOut"]
pub struct AxiStreamIn<const W: usize, const K: usize> {
    /// Octets, the first one in bits 7:0.
    pub tdata: Signal<In, Bits<W>>,
    /// Valid octets: contiguous from lane 0; all of them in every beat but the last.
    pub tkeep: Signal<In, Bits<K>>,
    /// Last beat of a packet.
    pub tlast: Signal<In, Bit>,
    /// The beat is valid.
    pub tvalid: Signal<In, Bit>,
    /// It is accepted.
    pub tready: Signal<Out, Bit>,
}

/// The other end of [`AxiStreamIn`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "AxiStreamIn"]
pub struct AxiStreamOut<const W: usize, const K: usize> {
    /// Octets, the first one in bits 7:0.
    pub tdata: Signal<Out, Bits<W>>,
    /// Valid octets.
    pub tkeep: Signal<Out, Bits<K>>,
    /// Last beat of a packet.
    pub tlast: Signal<Out, Bit>,
    /// The beat is valid.
    pub tvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub tready: Signal<In, Bit>,
}

/// AXI4-Stream of TCP segments in: a packet is the payload of one segment. A segment without payload, one beat without
/// valid lanes, carries a FIN or an abort.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "SegmentStreamOut"]
pub struct SegmentStreamIn<const W: usize, const K: usize> {
    /// Octets, the first one in bits 7:0.
    pub tdata: Signal<In, Bits<W>>,
    /// Valid octets: contiguous from lane 0; all of them in every beat but the last.
    pub tkeep: Signal<In, Bits<K>>,
    /// Last beat of the segment.
    pub tlast: Signal<In, Bit>,
    /// Stream number, the same in all beats of a segment.
    pub tdest: Signal<In, Bits<8>>,
    /// Bits 31:0 sequence number of the segment's first octet, the same in all its beats. In the last beat: [`USER_FIN`],
    /// for a FIN within the window, as often as it is sent; [`USER_ABORT`], for RST, time-out and whatever else ends the
    /// connection without FIN, once.
    pub tuser: Signal<In, Bits<34>>,
    /// The beat is valid.
    pub tvalid: Signal<In, Bit>,
    /// It is accepted.
    pub tready: Signal<Out, Bit>,
}

/// The other end of [`SegmentStreamIn`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "SegmentStreamIn"]
pub struct SegmentStreamOut<const W: usize, const K: usize> {
    /// Octets, the first one in bits 7:0.
    pub tdata: Signal<Out, Bits<W>>,
    /// Valid octets.
    pub tkeep: Signal<Out, Bits<K>>,
    /// Last beat of the segment.
    pub tlast: Signal<Out, Bit>,
    /// Stream number.
    pub tdest: Signal<Out, Bits<8>>,
    /// Sequence number of the segment's first octet, [`USER_FIN`] and [`USER_ABORT`].
    pub tuser: Signal<Out, Bits<34>>,
    /// The beat is valid.
    pub tvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub tready: Signal<In, Bit>,
}

/// AXI4-Stream of SCTP chunks in: a packet is the user data of one whole chunk (RFC 5043 §5.2), its first octet the high
/// half of the DDP-SSN. A chunk without user data is one beat without valid lanes.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "ChunkStreamOut"]
pub struct ChunkStreamIn<const W: usize, const K: usize> {
    /// Octets, the first one in bits 7:0.
    pub tdata: Signal<In, Bits<W>>,
    /// Valid octets: contiguous from lane 0; all of them in every beat but the last.
    pub tkeep: Signal<In, Bits<K>>,
    /// Last beat of the chunk.
    pub tlast: Signal<In, Bit>,
    /// Stream number, the same in all beats of a chunk.
    pub tdest: Signal<In, Bits<8>>,
    /// [`USER_CONTROL`] and [`USER_TERMINATE`], the same in all beats of a chunk.
    pub tuser: Signal<In, Bits<2>>,
    /// The beat is valid.
    pub tvalid: Signal<In, Bit>,
    /// It is accepted.
    pub tready: Signal<Out, Bit>,
}

/// The other end of [`ChunkStreamIn`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "ChunkStreamIn"]
pub struct ChunkStreamOut<const W: usize, const K: usize> {
    /// Octets, the first one in bits 7:0.
    pub tdata: Signal<Out, Bits<W>>,
    /// Valid octets.
    pub tkeep: Signal<Out, Bits<K>>,
    /// Last beat of the chunk.
    pub tlast: Signal<Out, Bit>,
    /// Stream number.
    pub tdest: Signal<Out, Bits<8>>,
    /// [`USER_CONTROL`] and [`USER_TERMINATE`].
    pub tuser: Signal<Out, Bits<2>>,
    /// The beat is valid.
    pub tvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub tready: Signal<In, Bit>,
}

/// AXI4 write master: W bits, K = W/8 octets.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "AxiWriteSlave"]
pub struct AxiWriteMaster<const W: usize, const K: usize> {
    /// Address of the first beat, aligned to the bus.
    pub awaddr: Signal<Out, Bits<64>>,
    /// Beats of the burst less one.
    pub awlen: Signal<Out, Bits<8>>,
    /// log2 of the octets of a beat: the whole bus.
    pub awsize: Signal<Out, Bits<3>>,
    /// [`BURST_INCR`].
    pub awburst: Signal<Out, Bits<2>>,
    /// [`CACHE_NOT_BUFFERABLE`].
    pub awcache: Signal<Out, Bits<4>>,
    /// [`PROT_DATA`].
    pub awprot: Signal<Out, Bits<3>>,
    /// The address is valid.
    pub awvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub awready: Signal<In, Bit>,
    /// Octets; lane i belongs to the address that is i modulo K.
    pub wdata: Signal<Out, Bits<W>>,
    /// Lanes to write.
    pub wstrb: Signal<Out, Bits<K>>,
    /// Last beat of its burst.
    pub wlast: Signal<Out, Bit>,
    /// The beat is valid.
    pub wvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub wready: Signal<In, Bit>,
    /// Response: bit 1 = error.
    pub bresp: Signal<In, Bits<2>>,
    /// The response is valid.
    pub bvalid: Signal<In, Bit>,
    /// It is accepted.
    pub bready: Signal<Out, Bit>,
}

/// The other end of [`AxiWriteMaster`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "AxiWriteMaster"]
pub struct AxiWriteSlave<const W: usize, const K: usize> {
    /// Address of the first beat.
    pub awaddr: Signal<In, Bits<64>>,
    /// Beats of the burst less one.
    pub awlen: Signal<In, Bits<8>>,
    /// log2 of the octets of a beat.
    pub awsize: Signal<In, Bits<3>>,
    /// Burst type.
    pub awburst: Signal<In, Bits<2>>,
    /// Memory type.
    pub awcache: Signal<In, Bits<4>>,
    /// Protection type.
    pub awprot: Signal<In, Bits<3>>,
    /// The address is valid.
    pub awvalid: Signal<In, Bit>,
    /// It is accepted.
    pub awready: Signal<Out, Bit>,
    /// Octets.
    pub wdata: Signal<In, Bits<W>>,
    /// Lanes to write.
    pub wstrb: Signal<In, Bits<K>>,
    /// Last beat of its burst.
    pub wlast: Signal<In, Bit>,
    /// The beat is valid.
    pub wvalid: Signal<In, Bit>,
    /// It is accepted.
    pub wready: Signal<Out, Bit>,
    /// Response: bit 1 = error.
    pub bresp: Signal<Out, Bits<2>>,
    /// The response is valid.
    pub bvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub bready: Signal<In, Bit>,
}

/// AXI4 read master: W bits.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "AxiReadSlave"]
pub struct AxiReadMaster<const W: usize> {
    /// Address of the first beat to read, aligned to the bus.
    pub araddr: Signal<Out, Bits<64>>,
    /// Beats of the burst less one.
    pub arlen: Signal<Out, Bits<8>>,
    /// log2 of the octets of a beat: the whole bus.
    pub arsize: Signal<Out, Bits<3>>,
    /// [`BURST_INCR`].
    pub arburst: Signal<Out, Bits<2>>,
    /// [`CACHE_NOT_BUFFERABLE`].
    pub arcache: Signal<Out, Bits<4>>,
    /// [`PROT_DATA`].
    pub arprot: Signal<Out, Bits<3>>,
    /// The address is valid.
    pub arvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub arready: Signal<In, Bit>,
    /// Octets read; lane i belongs to the address that is i modulo K.
    pub rdata: Signal<In, Bits<W>>,
    /// Response to the beat: bit 1 = error.
    pub rresp: Signal<In, Bits<2>>,
    /// Last beat of its burst.
    pub rlast: Signal<In, Bit>,
    /// The beat is valid.
    pub rvalid: Signal<In, Bit>,
    /// It is accepted.
    pub rready: Signal<Out, Bit>,
}

/// The other end of [`AxiReadMaster`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "AxiReadMaster"]
pub struct AxiReadSlave<const W: usize> {
    /// Address of the first beat to read, aligned to the bus.
    pub araddr: Signal<In, Bits<64>>,
    /// Beats of the burst less one.
    pub arlen: Signal<In, Bits<8>>,
    /// log2 of the octets of a beat: the whole bus.
    pub arsize: Signal<In, Bits<3>>,
    /// [`BURST_INCR`].
    pub arburst: Signal<In, Bits<2>>,
    /// [`CACHE_NOT_BUFFERABLE`].
    pub arcache: Signal<In, Bits<4>>,
    /// [`PROT_DATA`].
    pub arprot: Signal<In, Bits<3>>,
    /// The address is valid.
    pub arvalid: Signal<In, Bit>,
    /// It is accepted.
    pub arready: Signal<Out, Bit>,
    /// Octets read; lane i belongs to the address that is i modulo K.
    pub rdata: Signal<Out, Bits<W>>,
    /// Response to the beat: bit 1 = error.
    pub rresp: Signal<Out, Bits<2>>,
    /// Last beat of its burst.
    pub rlast: Signal<Out, Bit>,
    /// The beat is valid.
    pub rvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub rready: Signal<In, Bit>,
}

/// AXI4 master: W bits, K = W/8 octets; [`AxiWriteMaster`] and [`AxiReadMaster`] in one port.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "AxiSlave"]
pub struct AxiMaster<const W: usize, const K: usize> {
    /// Address of the first beat, aligned to the bus.
    pub awaddr: Signal<Out, Bits<64>>,
    /// Beats of the burst less one.
    pub awlen: Signal<Out, Bits<8>>,
    /// log2 of the octets of a beat: the whole bus.
    pub awsize: Signal<Out, Bits<3>>,
    /// [`BURST_INCR`].
    pub awburst: Signal<Out, Bits<2>>,
    /// [`CACHE_NOT_BUFFERABLE`].
    pub awcache: Signal<Out, Bits<4>>,
    /// [`PROT_DATA`].
    pub awprot: Signal<Out, Bits<3>>,
    /// The address is valid.
    pub awvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub awready: Signal<In, Bit>,
    /// Octets; lane i belongs to the address that is i modulo K.
    pub wdata: Signal<Out, Bits<W>>,
    /// Lanes to write.
    pub wstrb: Signal<Out, Bits<K>>,
    /// Last beat of its burst.
    pub wlast: Signal<Out, Bit>,
    /// The beat is valid.
    pub wvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub wready: Signal<In, Bit>,
    /// Response: bit 1 = error.
    pub bresp: Signal<In, Bits<2>>,
    /// The response is valid.
    pub bvalid: Signal<In, Bit>,
    /// It is accepted.
    pub bready: Signal<Out, Bit>,
    /// Address of the first beat to read, aligned to the bus.
    pub araddr: Signal<Out, Bits<64>>,
    /// Beats of the burst less one.
    pub arlen: Signal<Out, Bits<8>>,
    /// log2 of the octets of a beat: the whole bus.
    pub arsize: Signal<Out, Bits<3>>,
    /// [`BURST_INCR`].
    pub arburst: Signal<Out, Bits<2>>,
    /// [`CACHE_NOT_BUFFERABLE`].
    pub arcache: Signal<Out, Bits<4>>,
    /// [`PROT_DATA`].
    pub arprot: Signal<Out, Bits<3>>,
    /// The address is valid.
    pub arvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub arready: Signal<In, Bit>,
    /// Octets read; lane i belongs to the address that is i modulo K.
    pub rdata: Signal<In, Bits<W>>,
    /// Response to the beat: bit 1 = error.
    pub rresp: Signal<In, Bits<2>>,
    /// Last beat of its burst.
    pub rlast: Signal<In, Bit>,
    /// The beat is valid.
    pub rvalid: Signal<In, Bit>,
    /// It is accepted.
    pub rready: Signal<Out, Bit>,
}

/// The other end of [`AxiMaster`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "AxiMaster"]
pub struct AxiSlave<const W: usize, const K: usize> {
    /// Address of the first beat, aligned to the bus.
    pub awaddr: Signal<In, Bits<64>>,
    /// Beats of the burst less one.
    pub awlen: Signal<In, Bits<8>>,
    /// log2 of the octets of a beat: the whole bus.
    pub awsize: Signal<In, Bits<3>>,
    /// [`BURST_INCR`].
    pub awburst: Signal<In, Bits<2>>,
    /// [`CACHE_NOT_BUFFERABLE`].
    pub awcache: Signal<In, Bits<4>>,
    /// [`PROT_DATA`].
    pub awprot: Signal<In, Bits<3>>,
    /// The address is valid.
    pub awvalid: Signal<In, Bit>,
    /// It is accepted.
    pub awready: Signal<Out, Bit>,
    /// Octets; lane i belongs to the address that is i modulo K.
    pub wdata: Signal<In, Bits<W>>,
    /// Lanes to write.
    pub wstrb: Signal<In, Bits<K>>,
    /// Last beat of its burst.
    pub wlast: Signal<In, Bit>,
    /// The beat is valid.
    pub wvalid: Signal<In, Bit>,
    /// It is accepted.
    pub wready: Signal<Out, Bit>,
    /// Response: bit 1 = error.
    pub bresp: Signal<Out, Bits<2>>,
    /// The response is valid.
    pub bvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub bready: Signal<In, Bit>,
    /// Address of the first beat to read, aligned to the bus.
    pub araddr: Signal<In, Bits<64>>,
    /// Beats of the burst less one.
    pub arlen: Signal<In, Bits<8>>,
    /// log2 of the octets of a beat: the whole bus.
    pub arsize: Signal<In, Bits<3>>,
    /// [`BURST_INCR`].
    pub arburst: Signal<In, Bits<2>>,
    /// [`CACHE_NOT_BUFFERABLE`].
    pub arcache: Signal<In, Bits<4>>,
    /// [`PROT_DATA`].
    pub arprot: Signal<In, Bits<3>>,
    /// The address is valid.
    pub arvalid: Signal<In, Bit>,
    /// It is accepted.
    pub arready: Signal<Out, Bit>,
    /// Octets read; lane i belongs to the address that is i modulo K.
    pub rdata: Signal<Out, Bits<W>>,
    /// Response to the beat: bit 1 = error.
    pub rresp: Signal<Out, Bits<2>>,
    /// Last beat of its burst.
    pub rlast: Signal<Out, Bit>,
    /// The beat is valid.
    pub rvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub rready: Signal<In, Bit>,
}

/// Write addresses and data of one requester inside the device; beats follow in the order of the addresses.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "WriteRequestIn"]
pub struct WriteRequestOut<const W: usize, const K: usize> {
    /// Address of the first beat, aligned to the bus.
    pub awaddr: Signal<Out, Bits<64>>,
    /// Beats of the burst less one.
    pub awlen: Signal<Out, Bits<8>>,
    /// The address is valid.
    pub awvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub awready: Signal<In, Bit>,
    /// Octets; lane i belongs to the address that is i modulo K.
    pub wdata: Signal<Out, Bits<W>>,
    /// Lanes to write.
    pub wstrb: Signal<Out, Bits<K>>,
    /// Last beat of its burst.
    pub wlast: Signal<Out, Bit>,
    /// The beat is valid.
    pub wvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub wready: Signal<In, Bit>,
}

/// The other end of [`WriteRequestOut`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "WriteRequestOut"]
pub struct WriteRequestIn<const W: usize, const K: usize> {
    /// Address of the first beat.
    pub awaddr: Signal<In, Bits<64>>,
    /// Beats of the burst less one.
    pub awlen: Signal<In, Bits<8>>,
    /// The address is valid.
    pub awvalid: Signal<In, Bit>,
    /// It is accepted.
    pub awready: Signal<Out, Bit>,
    /// Octets.
    pub wdata: Signal<In, Bits<W>>,
    /// Lanes to write.
    pub wstrb: Signal<In, Bits<K>>,
    /// Last beat of its burst.
    pub wlast: Signal<In, Bit>,
    /// The beat is valid.
    pub wvalid: Signal<In, Bit>,
    /// It is accepted.
    pub wready: Signal<Out, Bit>,
}

/// Write address channel inside the device.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct WriteAddress {
    /// Address of the first beat, aligned to the bus.
    pub address: Bits<64>,
    /// Beats of the burst less one.
    pub length: Bits<8>,
}

/// AXI4-Lite slave of 32 bits and 4 KiB.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "AxiLiteMaster"]
pub struct AxiLiteSlave {
    /// Address to write.
    pub awaddr: Signal<In, Bits<12>>,
    /// Protection type; ignored.
    pub awprot: Signal<In, Bits<3>>,
    /// The address is valid.
    pub awvalid: Signal<In, Bit>,
    /// It is accepted.
    pub awready: Signal<Out, Bit>,
    /// Word to write.
    pub wdata: Signal<In, Bits<32>>,
    /// Octets of it to write.
    pub wstrb: Signal<In, Bits<4>>,
    /// The word is valid.
    pub wvalid: Signal<In, Bit>,
    /// It is accepted.
    pub wready: Signal<Out, Bit>,
    /// Response to the write.
    pub bresp: Signal<Out, Bits<2>>,
    /// The response is valid.
    pub bvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub bready: Signal<In, Bit>,
    /// Address to read.
    pub araddr: Signal<In, Bits<12>>,
    /// Protection type; ignored.
    pub arprot: Signal<In, Bits<3>>,
    /// The address is valid.
    pub arvalid: Signal<In, Bit>,
    /// It is accepted.
    pub arready: Signal<Out, Bit>,
    /// Word read.
    pub rdata: Signal<Out, Bits<32>>,
    /// Response to the read.
    pub rresp: Signal<Out, Bits<2>>,
    /// The word is valid.
    pub rvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub rready: Signal<In, Bit>,
}

/// The other end of [`AxiLiteSlave`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "AxiLiteSlave"]
pub struct AxiLiteMaster {
    /// Address to write.
    pub awaddr: Signal<Out, Bits<12>>,
    /// Protection type.
    pub awprot: Signal<Out, Bits<3>>,
    /// The address is valid.
    pub awvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub awready: Signal<In, Bit>,
    /// Word to write.
    pub wdata: Signal<Out, Bits<32>>,
    /// Octets of it to write.
    pub wstrb: Signal<Out, Bits<4>>,
    /// The word is valid.
    pub wvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub wready: Signal<In, Bit>,
    /// Response to the write.
    pub bresp: Signal<In, Bits<2>>,
    /// The response is valid.
    pub bvalid: Signal<In, Bit>,
    /// It is accepted.
    pub bready: Signal<Out, Bit>,
    /// Address to read.
    pub araddr: Signal<Out, Bits<12>>,
    /// Protection type.
    pub arprot: Signal<Out, Bits<3>>,
    /// The address is valid.
    pub arvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub arready: Signal<In, Bit>,
    /// Word read.
    pub rdata: Signal<In, Bits<32>>,
    /// Response to the read.
    pub rresp: Signal<In, Bits<2>>,
    /// The word is valid.
    pub rvalid: Signal<In, Bit>,
    /// It is accepted.
    pub rready: Signal<Out, Bit>,
}

/// Read address channel inside the device.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ReadAddress {
    /// Address of the first beat, aligned to the bus.
    pub address: Bits<64>,
    /// Beats of the burst less one.
    pub length: Bits<8>,
}

/// Octets between the addresses at which bursts end, for beats of `octets`: so that none crosses [`BOUNDARY`] or has more
/// than [`MOST_BEATS`] beats.
#[must_use]
pub const fn burst_block(octets: usize) -> usize {
    if octets * MOST_BEATS < BOUNDARY {
        octets * MOST_BEATS
    } else {
        BOUNDARY
    }
}

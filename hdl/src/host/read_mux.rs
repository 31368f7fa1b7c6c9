//! Read mux: receive rings, send queues, gather and the read responder share one AXI4 read master.
//!
//! ```text
//!  rings ─────AR─► queue ─┐
//!  queues ────AR─► queue ─┼► round robin ─┬─────────► AR
//!  gather ────AR─► queue ─┤               └► owners of R
//!  responder ─AR─► queue ─┘                     │
//!  rings ◄─────R─┐                              │
//!  queues ◄────R─┼─ the owner's ◄───────────────┤
//!  gather ◄────R─┤                    queue ◄───│──── R
//!  responder ◄─R─┘
//! ```
//!
//! A requester is granted one address at a time, behind at most one address of each of the others: two bursts of gather are
//! never granted in front of a small one that is offered. With a single ID the answers come in the order of addresses
//! (IHI 0022E §A5.3), so a queue of owners selects the requester. A burst ends with RLAST, whatever its length; its
//! requester judges that. An answer follows the answers to all earlier addresses of all requesters. At most
//! [`BURSTS`] bursts are under way at a time; then AR stalls.
//!
//! **No deadlock**, on one condition: a requester accepts its answers, sooner or later, without an answer or the acceptance
//! of an address of another requester. Then the oldest answer is accepted, so the next one becomes the oldest, and every
//! address is granted in its turn. Receive rings, send queues and the responder have room for what they ask for when they ask. Gather
//! accepts its beats when its output does: so what is behind gather must not stall for a send queue or a receive ring.
//!
//! There is no combinational path through the block: the handshakes of both sides come from registers. Throughput: one
//! address and one beat a cycle, without gaps between bursts, of one requester or of all. Latency: [`ADDRESS`] cycles for
//! AR, [`ANSWER`] for R.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::axi::{
    AxiReadMaster, AxiReadSlave, BURST_INCR, CACHE_NOT_BUFFERABLE, PROT_DATA, ReadAddress,
    size_code,
};
use crate::parts::queue::Queue;
use crate::parts::round_robin::RoundRobin;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Cycles from a requester's address to the bus.
pub const ADDRESS: usize = 2;

/// Cycles from the bus to the owner of a beat.
pub const ANSWER: usize = 1;

/// Bursts that may be under way: in the queue of owners, and the one that is answered.
pub const BURSTS: usize = (1 << 5) + 1;

/// The mux, for W bits.
#[derive(Block)]
#[block(octets: usize)]
pub struct ReadMux<const W: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Requests of receive rings.
    pub rings: AxiReadSlave<W>,
    /// Requests of send queues.
    pub queues: AxiReadSlave<W>,
    /// Requests of gather.
    pub gather: AxiReadSlave<W>,
    /// Requests of the read responder.
    pub responder: AxiReadSlave<W>,
    /// Bus.
    pub m_axi: AxiReadMaster<W>,

    addresses: [Queue<ReadAddress, 1>; 4],
    round_robin: RoundRobin<4>,
    address_valid: Dff<Bit>,
    address: Dff<ReadAddress>,
    granted: Dff<Bits<4>>,
    owners: Queue<Bits<2>, 5>,
    octets: Queue<Bits<W>, 1>,
    responses: Queue<Bits<2>, 1>,
    ends: Queue<Bit, 1>,
    /// Owner of the next beats, registered ahead of them, a bit for each requester.
    owns: [Dff<Bit>; 4],
    owner_valid: Dff<Bit>,

    grant: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    over: Signal<Local, Bit>,
    wins: [Signal<Local, Bit>; 4],
    winner: Signal<Local, ReadAddress>,
    #[constant(|i| i)]
    index: [Constant<Bits<8>>; 4],
    #[constant(|i| i)]
    owner: [Constant<Bits<2>>; 4],
    #[constant(size_code(octets))]
    size: Constant<Bits<3>>,
    #[constant(BURST_INCR)]
    burst: Constant<Bits<2>>,
    #[constant(CACHE_NOT_BUFFERABLE)]
    cache: Constant<Bits<4>>,
    #[constant(PROT_DATA)]
    prot: Constant<Bits<3>>,
}

impl<const W: usize> Default for ReadMux<W> {
    /// # Panics
    /// When W is no width of a bus.
    fn default() -> Self {
        assert!(
            W.is_power_of_two() && (8..=1024).contains(&W),
            "8 to 1024 bits, not {W}"
        );
        Self::assemble(W / 8)
    }
}

impl<const W: usize> Logic for ReadMux<W> {
    #[hdl_gen]
    fn update(&mut self) {
        self.owners.reset.next = self.reset.val();
        self.octets.reset.next = self.reset.val();
        self.responses.reset.next = self.reset.val();
        self.ends.reset.next = self.reset.val();

        comment!("AR input");
        self.addresses[0].s_data.next.address = self.rings.araddr.val();
        self.addresses[0].s_data.next.length = self.rings.arlen.val();
        self.addresses[0].s_valid.next = self.rings.arvalid.val();
        self.rings.arready.next = self.addresses[0].s_ready.val();
        self.addresses[1].s_data.next.address = self.queues.araddr.val();
        self.addresses[1].s_data.next.length = self.queues.arlen.val();
        self.addresses[1].s_valid.next = self.queues.arvalid.val();
        self.queues.arready.next = self.addresses[1].s_ready.val();
        self.addresses[2].s_data.next.address = self.gather.araddr.val();
        self.addresses[2].s_data.next.length = self.gather.arlen.val();
        self.addresses[2].s_valid.next = self.gather.arvalid.val();
        self.gather.arready.next = self.addresses[2].s_ready.val();
        self.addresses[3].s_data.next.address = self.responder.araddr.val();
        self.addresses[3].s_data.next.length = self.responder.arlen.val();
        self.addresses[3].s_valid.next = self.responder.arvalid.val();
        self.responder.arready.next = self.addresses[3].s_ready.val();

        comment!("AR output: in turn");
        for i in 0..4 {
            self.addresses[i].reset.next = self.reset.val();
            self.round_robin.asks[i].next = self.addresses[i].m_valid.val();
        }
        self.round_robin.last.next = self.granted.q.val();
        self.grant.next = self.round_robin.any.val()
            & (!self.address_valid.q.val() | self.m_axi.arready.val())
            & self.owners.s_ready.val();
        self.owners.s_data.next = self.owner[0].val();
        for i in 0..4 {
            self.wins[i].next = self.round_robin.choice.val() == self.index[i].val();
            self.addresses[i].m_ready.next = self.grant.val() & self.wins[i].val();
        }
        if self.m_axi.arready.val() {
            self.address_valid.d.next = false;
        }
        self.winner.next = self.addresses[0].m_data.val();
        for i in 1..4 {
            if self.wins[i].val() {
                self.owners.s_data.next = self.owner[i].val();
                self.winner.next = self.addresses[i].m_data.val();
            }
        }
        if self.grant.val() {
            self.address_valid.d.next = true;
            self.granted.d.next = self.round_robin.choice.val().get_bits::<4>(0);
            self.address.d.next = self.winner.val();
        }
        self.owners.s_valid.next = self.grant.val();
        self.m_axi.araddr.next = self.address.q.val().address;
        self.m_axi.arlen.next = self.address.q.val().length;
        self.m_axi.arvalid.next = self.address_valid.q.val();
        self.m_axi.arsize.next = self.size.val();
        self.m_axi.arburst.next = self.burst.val();
        self.m_axi.arcache.next = self.cache.val();
        self.m_axi.arprot.next = self.prot.val();

        comment!("R input");
        self.octets.s_data.next = self.m_axi.rdata.val();
        self.octets.s_valid.next = self.m_axi.rvalid.val();
        self.responses.s_data.next = self.m_axi.rresp.val();
        self.responses.s_valid.next = self.m_axi.rvalid.val();
        self.ends.s_data.next = self.m_axi.rlast.val();
        self.ends.s_valid.next = self.m_axi.rvalid.val();
        self.m_axi.rready.next = self.octets.s_ready.val();

        comment!("R: the owner's beats, up to its last one");
        self.rings.rdata.next = self.octets.m_data.val();
        self.rings.rresp.next = self.responses.m_data.val();
        self.rings.rlast.next = self.ends.m_data.val();
        self.rings.rvalid.next = self.octets.m_valid.val() & self.owns[0].q.val();
        self.queues.rdata.next = self.octets.m_data.val();
        self.queues.rresp.next = self.responses.m_data.val();
        self.queues.rlast.next = self.ends.m_data.val();
        self.queues.rvalid.next = self.octets.m_valid.val() & self.owns[1].q.val();
        self.gather.rdata.next = self.octets.m_data.val();
        self.gather.rresp.next = self.responses.m_data.val();
        self.gather.rlast.next = self.ends.m_data.val();
        self.gather.rvalid.next = self.octets.m_valid.val() & self.owns[2].q.val();
        self.responder.rdata.next = self.octets.m_data.val();
        self.responder.rresp.next = self.responses.m_data.val();
        self.responder.rlast.next = self.ends.m_data.val();
        self.responder.rvalid.next = self.octets.m_valid.val() & self.owns[3].q.val();
        self.take.next = (self.owns[0].q.val() & self.rings.rready.val())
            | (self.owns[1].q.val() & self.queues.rready.val())
            | (self.owns[2].q.val() & self.gather.rready.val())
            | (self.owns[3].q.val() & self.responder.rready.val());
        self.octets.m_ready.next = self.take.val();
        self.responses.m_ready.next = self.take.val();
        self.ends.m_ready.next = self.take.val();
        self.over.next = self.take.val() & self.octets.m_valid.val() & self.ends.m_data.val();
        self.owners.m_ready.next = !self.owner_valid.q.val() | self.over.val();
        if !self.owner_valid.q.val() | self.over.val() {
            self.owner_valid.d.next = self.owners.m_valid.val();
            for i in 0..4 {
                self.owns[i].d.next =
                    self.owners.m_valid.val() & (self.owners.m_data.val() == self.owner[i].val());
            }
        }

        if self.reset.val() {
            self.address_valid.d.next = false;
            self.granted.d.next = 0.into();
            self.owner_valid.d.next = false;
            for i in 0..4 {
                self.owns[i].d.next = false;
            }
        }
    }
}

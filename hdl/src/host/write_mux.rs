//! Write mux: payload and completion entries share one AXI4 write master.
//!
//! ```text
//!  payload ─────AW─► queue ─┐                 ┌─► AW
//!  completion ──AW─► queue ─┴► round robin ───┴─► owners of W, owners of B
//!  payload ─────W──────────┐                         │           │
//!  completion ──W──────────┴► the owner's ─► skid ───│───► W     │
//!  payload ◄────B──────────┐                                     │
//!  completion ◄─B──────────┴◄ the owner's ◄─ queue ◄─────────────┴── B
//! ```
//!
//! A requester is granted one burst at a time, in turn when both request. In AXI4 beats follow in the order of
//! addresses and, with a single ID, responses arrive in that order, too (IHI 0022E §A5.3): two queues of owners
//! select the requester. AW may be up to 19 bursts ahead of W. W depends only on its owner, never on the acceptance
//! of AW (§A3.3.1). Up to 129 bursts may lack their responses.
//!
//! There is no combinational path through the block: the handshakes of both sides come from registers. Throughput:
//! one beat a cycle without gaps between bursts, of one requester or of both. Latency: 2 cycles for AW; 1 for W, or 4
//! behind its address if the beats arrive with it; 1 for B.
use crate::parts::axi::{
    AxiWriteMaster, BURST_INCR, CACHE_NOT_BUFFERABLE, PROT_DATA, WriteAddress, WriteRequestIn,
    size_code,
};
use crate::parts::queue::Queue;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// The mux, for W bits, K = W/8 octets.
#[derive(Block)]
#[block()]
pub struct WriteMux<const W: usize, const K: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Bursts of payload.
    pub payload: WriteRequestIn<W, K>,
    /// Response to a burst of payload.
    pub payload_b_valid: Signal<Out, Bit>,
    /// It was not written.
    pub payload_b_error: Signal<Out, Bit>,
    /// It is accepted.
    pub payload_b_ready: Signal<In, Bit>,
    /// Bursts of completion entries. Their WLAST comes with WVALID only.
    pub completion: WriteRequestIn<W, K>,
    /// Pulse: a burst of a completion entry is answered.
    pub completion_b_valid: Signal<Out, Bit>,
    /// It was not written.
    pub completion_b_error: Signal<Out, Bit>,
    /// Bus.
    pub m_axi: AxiWriteMaster<W, K>,

    payload_addresses: Queue<WriteAddress, 1>,
    completion_addresses: Queue<WriteAddress, 1>,
    address_valid: Dff<Bit>,
    address: Dff<WriteAddress>,
    completion_won: Dff<Bit>,
    beat_owners: Queue<Bit, 4>,
    /// Owner of the next beats, registered ahead of them, so the queue's memory is not in their path.
    sender_valid: Dff<Bit>,
    sender: Dff<Bit>,
    answer_owners: Queue<Bit, 7>,
    out_valid: Dff<Bit>,
    out_data: Dff<Bits<W>>,
    out_strobes: Dff<Bits<K>>,
    out_last: Dff<Bit>,
    skid_valid: Dff<Bit>,
    skid_data: Dff<Bits<W>>,
    skid_strobes: Dff<Bits<K>>,
    skid_last: Dff<Bit>,
    answers: Queue<Bit, 1>,
    /// Owner of the oldest response, likewise.
    owner_valid: Dff<Bit>,
    owner: Dff<Bit>,

    completion_wins: Signal<Local, Bit>,
    grant: Signal<Local, Bit>,
    beat: Signal<Local, Bit>,
    beat_data: Signal<Local, Bits<W>>,
    beat_strobes: Signal<Local, Bits<K>>,
    beat_last: Signal<Local, Bit>,
    sent: Signal<Local, Bit>,
    answered: Signal<Local, Bit>,
    #[constant(size_code(K))]
    size: Constant<Bits<3>>,
    #[constant(BURST_INCR)]
    burst: Constant<Bits<2>>,
    #[constant(CACHE_NOT_BUFFERABLE)]
    cache: Constant<Bits<4>>,
    #[constant(PROT_DATA)]
    prot: Constant<Bits<3>>,
}

impl<const W: usize, const K: usize> Default for WriteMux<W, K> {
    /// # Panics
    /// When W is not 8·K.
    fn default() -> Self {
        assert_eq!(W, 8 * K, "a lane is an octet");
        Self::assemble()
    }
}

impl<const W: usize, const K: usize> Logic for WriteMux<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        // Written out, these defaults follow those of the derive in the text, where recorded runs have them.
        self.out_valid.d.next = self.out_valid.q.val();
        self.out_data.d.next = self.out_data.q.val();
        self.out_strobes.d.next = self.out_strobes.q.val();
        self.out_last.d.next = self.out_last.q.val();
        self.skid_valid.d.next = self.skid_valid.q.val();

        self.payload_addresses.reset.next = self.reset.val();
        self.completion_addresses.reset.next = self.reset.val();
        self.beat_owners.reset.next = self.reset.val();
        self.answer_owners.reset.next = self.reset.val();
        self.answers.reset.next = self.reset.val();

        comment!("AW input");
        self.payload_addresses.s_data.next.address = self.payload.awaddr.val();
        self.payload_addresses.s_data.next.length = self.payload.awlen.val();
        self.payload_addresses.s_valid.next = self.payload.awvalid.val();
        self.payload.awready.next = self.payload_addresses.s_ready.val();
        self.completion_addresses.s_data.next.address = self.completion.awaddr.val();
        self.completion_addresses.s_data.next.length = self.completion.awlen.val();
        self.completion_addresses.s_valid.next = self.completion.awvalid.val();
        self.completion.awready.next = self.completion_addresses.s_ready.val();

        comment!("AW output: the requester that was not granted last is granted");
        self.completion_wins.next = self.completion_addresses.m_valid.val()
            & (!self.payload_addresses.m_valid.val() | !self.completion_won.q.val());
        self.grant.next = (self.payload_addresses.m_valid.val()
            | self.completion_addresses.m_valid.val())
            & (!self.address_valid.q.val() | self.m_axi.awready.val())
            & self.beat_owners.s_ready.val()
            & self.answer_owners.s_ready.val();
        self.payload_addresses.m_ready.next = self.grant.val() & !self.completion_wins.val();
        self.completion_addresses.m_ready.next = self.grant.val() & self.completion_wins.val();
        self.beat_owners.s_data.next = self.completion_wins.val();
        self.beat_owners.s_valid.next = self.grant.val();
        self.answer_owners.s_data.next = self.completion_wins.val();
        self.answer_owners.s_valid.next = self.grant.val();
        if self.m_axi.awready.val() {
            self.address_valid.d.next = false;
        }
        if self.grant.val() {
            self.address_valid.d.next = true;
            self.address.d.next = self.payload_addresses.m_data.val();
            if self.completion_wins.val() {
                self.address.d.next = self.completion_addresses.m_data.val();
            }
            self.completion_won.d.next = self.completion_wins.val();
        }
        self.m_axi.awaddr.next = self.address.q.val().address;
        self.m_axi.awlen.next = self.address.q.val().length;
        self.m_axi.awvalid.next = self.address_valid.q.val();
        self.m_axi.awsize.next = self.size.val();
        self.m_axi.awburst.next = self.burst.val();
        self.m_axi.awcache.next = self.cache.val();
        self.m_axi.awprot.next = self.prot.val();

        comment!("W: the owner's beats, up to its last one");
        self.payload.wready.next =
            self.sender_valid.q.val() & !self.sender.q.val() & !self.skid_valid.q.val();
        self.completion.wready.next =
            self.sender_valid.q.val() & self.sender.q.val() & !self.skid_valid.q.val();
        self.beat.next =
            self.payload.wvalid.val() & self.sender_valid.q.val() & !self.skid_valid.q.val();
        self.beat_data.next = self.payload.wdata.val();
        self.beat_strobes.next = self.payload.wstrb.val();
        self.beat_last.next = self.payload.wlast.val();
        if self.sender.q.val() {
            self.beat.next =
                self.completion.wvalid.val() & self.sender_valid.q.val() & !self.skid_valid.q.val();
            self.beat_data.next = self.completion.wdata.val();
            self.beat_strobes.next = self.completion.wstrb.val();
            self.beat_last.next = self.completion.wlast.val();
        }
        comment!(
            "repeated, instead of the beat's valid and last, which depend on all of its octets"
        );
        self.sent.next = self.sender_valid.q.val()
            & !self.skid_valid.q.val()
            & ((self.sender.q.val() & self.completion.wlast.val())
                | (!self.sender.q.val() & self.payload.wvalid.val() & self.payload.wlast.val()));

        self.beat_owners.m_ready.next = !self.sender_valid.q.val() | self.sent.val();
        if !self.sender_valid.q.val() | self.sent.val() {
            self.sender_valid.d.next = self.beat_owners.m_valid.val();
            self.sender.d.next = self.beat_owners.m_data.val();
        }

        comment!("a beat that the bus does not accept yet is held in the skid register");
        if self.m_axi.wready.val() | !self.out_valid.q.val() {
            self.out_valid.d.next = self.skid_valid.q.val() | self.beat.val();
            self.out_data.d.next = self.beat_data.val();
            self.out_strobes.d.next = self.beat_strobes.val();
            self.out_last.d.next = self.beat_last.val();
            if self.skid_valid.q.val() {
                self.out_data.d.next = self.skid_data.q.val();
                self.out_strobes.d.next = self.skid_strobes.q.val();
                self.out_last.d.next = self.skid_last.q.val();
            }
            self.skid_valid.d.next = false;
        } else if self.beat.val() {
            self.skid_valid.d.next = true;
        }
        comment!("loaded whether or not a beat is valid: not used before it is");
        if !self.skid_valid.q.val() {
            self.skid_data.d.next = self.beat_data.val();
            self.skid_strobes.d.next = self.beat_strobes.val();
            self.skid_last.d.next = self.beat_last.val();
        }
        self.m_axi.wdata.next = self.out_data.q.val();
        self.m_axi.wstrb.next = self.out_strobes.q.val();
        self.m_axi.wlast.next = self.out_last.q.val();
        self.m_axi.wvalid.next = self.out_valid.q.val();

        comment!("B: SLVERR and DECERR have bit 1 set");
        self.answers.s_data.next = self.m_axi.bresp.val().get_bit(1);
        self.answers.s_valid.next = self.m_axi.bvalid.val();
        self.m_axi.bready.next = self.answers.s_ready.val();
        self.payload_b_valid.next =
            self.answers.m_valid.val() & self.owner_valid.q.val() & !self.owner.q.val();
        self.payload_b_error.next = self.answers.m_data.val();
        self.completion_b_valid.next =
            self.answers.m_valid.val() & self.owner_valid.q.val() & self.owner.q.val();
        self.completion_b_error.next = self.answers.m_data.val();
        self.answered.next = self.answers.m_valid.val()
            & self.owner_valid.q.val()
            & (self.owner.q.val() | self.payload_b_ready.val());
        self.answers.m_ready.next = self.answered.val();
        self.answer_owners.m_ready.next = !self.owner_valid.q.val() | self.answered.val();
        if !self.owner_valid.q.val() | self.answered.val() {
            self.owner_valid.d.next = self.answer_owners.m_valid.val();
            self.owner.d.next = self.answer_owners.m_data.val();
        }

        if self.reset.val() {
            self.address_valid.d.next = false;
            self.completion_won.d.next = false;
            self.sender_valid.d.next = false;
            self.owner_valid.d.next = false;
            self.out_valid.d.next = false;
            self.skid_valid.d.next = false;
        }
    }
}

//! The sending side at the ports: send rings and local memory behind the read bus, and an engine for SCTP and TCP.
//!
//! ```text
//!  slots, octets ──► m_axi reads ──►┌────────┐─► m_axis_status ─► edge, boundaries ─┐
//!  doorbells ──────► s_axil ───────►│ device │◄─ s_axis_send ◄─ SEND of each FPDU ◄─┘
//!                                   └────────┘─► m_axis_transmit ─► chunks, octets of TCP
//! ```
//!
//! A report of the edge may tell of several FPDUs. The engine asks for the last boundary of what is there, then for the last one in front
//! of that, until there is none: these are all. Then it asks for each FPDU by itself, and acknowledges every second packet, as SCTP does
//! (RFC 9260 §6.2), and the last one under way.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use fastrand::Rng;
use warpline_hdl::host::read_mux;
use warpline_hdl::tx::mpa::transmit_ring::ports as tcp;
use warpline_hdl::tx::sctp::chunks;
use warpline_regmap::transmit::{SLOT_OCTETS, SendRequest, slot_offset};
use warpline_testbenches::read_bus::{Burst, Manner, ReadBus};
use warpline_testbenches::stimulus::{Pace, Rhythm};
use warpline_verilate::{Model, ports};
use warpline_wire::mpa;
use warpline_wire::sctp::SSN_LEN;

ports! {
    /// Ports by their names.
    struct Ports:
    m_axi_araddr, m_axi_arlen, m_axi_arvalid, m_axi_arready, m_axi_rdata, m_axi_rresp, m_axi_rlast, m_axi_rvalid, m_axi_rready,
    s_axis_send_tdata, s_axis_send_tdest, s_axis_send_tvalid, s_axis_send_tready,
    m_axis_transmit_tdata, m_axis_transmit_tkeep, m_axis_transmit_tlast, m_axis_transmit_tdest, m_axis_transmit_tuser,
    m_axis_transmit_tvalid, m_axis_transmit_tready,
    m_axis_status_tdata, m_axis_status_tdest, m_axis_status_tvalid, m_axis_status_tready,
}

/// Slots of a send ring.
pub const ENTRIES: u32 = 1024;
/// Bus addresses of send rings, and octets of each.
const RINGS: u64 = 1 << 40;
const RING: u64 = ENTRIES as u64 * SLOT_OCTETS;
/// Octets that the engine measures at once, and those of a SEND of TCP at most.
const REACH: u32 = 16 << 10;
/// FPDUs whose ends are known, before the engine measures more.
const KNOWN: usize = 8;
/// Packets that an ACKNOWLEDGE frees.
const PER_ACKNOWLEDGE: u32 = 2;

/// The octet of local memory at a bus address.
pub fn octet(address: u64) -> u8 {
    (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

/// How the sending side of a stream is armed.
#[derive(Clone, Copy, Debug)]
pub struct Sends {
    /// A session of SCTP, or a connection of TCP.
    pub sctp: bool,
    pub markers: bool,
    pub emss: u16,
    /// Sequence number of the first octet; its low half is the number of the first chunk.
    pub start: u32,
}

/// What left for a SEND.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub stream: u8,
    pub sequence: u32,
    pub octets: Vec<u8>,
}

#[derive(Default)]
struct Engine {
    sctp: bool,
    edge: u32,
    next: u32,
    /// Octets from `next` to boundaries, the last one first.
    found: Vec<u16>,
    asks: bool,
    /// FPDUs to ask for.
    known: VecDeque<(u32, u16)>,
    /// Packets that are not acknowledged, and the sequence number behind them.
    unacknowledged: u32,
    behind: u32,
    posted: u16,
}

type Command = (u64, u8, u32, u16);

/// The sending side.
pub struct Transmit {
    ports: Ports,
    beat: usize,
    bus: ReadBus,
    slots: Rc<RefCell<BTreeMap<u64, u32>>>,
    /// Commands and packets.
    rhythms: [Rhythm; 2],
    engines: Vec<Engine>,
    turn: usize,
    command: Option<Command>,
    sends: VecDeque<(u8, u32, u16)>,
    packet: Vec<u8>,
    held: Option<Vec<u32>>,
    pub packets: Vec<Packet>,
    /// Cycles in which last beats have left.
    pub ends: Vec<u64>,
}

impl Transmit {
    pub fn new(model: &Model, beat: usize, streams: usize) -> Self {
        let slots = Rc::new(RefCell::new(BTreeMap::<u64, u32>::new()));
        let memory = Rc::clone(&slots);
        let read = move |address: u64| {
            let word = memory.borrow().get(&(address & !3)).copied();
            word.map_or_else(
                || octet(address),
                |word| word.to_le_bytes()[address as usize % 4],
            )
        };
        let manner = Manner {
            block: 4096,
            bursts: read_mux::BURSTS,
            ..Manner::quick(4)
        };
        Self {
            ports: Ports::find(model, "").unwrap(),
            beat,
            bus: ReadBus::new(beat, manner, read),
            slots,
            rhythms: [Pace::Always; 2].map(Rhythm::new),
            engines: (0..streams).map(|_| Engine::default()).collect(),
            turn: 0,
            command: None,
            sends: VecDeque::new(),
            packet: vec![],
            held: None,
            packets: vec![],
            ends: vec![],
        }
    }

    /// From the next cycle on.
    pub fn set_paces(&mut self, commands: Pace, packets: Pace) {
        self.rhythms = [commands, packets].map(Rhythm::new);
    }

    /// Bus address of a stream's send ring.
    pub fn ring(stream: u8) -> u64 {
        RINGS + u64::from(stream) * RING
    }

    /// A stream begins, with an empty ring.
    pub fn begin(&mut self, stream: u8, sends: Sends) {
        self.engines[usize::from(stream)] = Engine {
            sctp: sends.sctp,
            edge: sends.start,
            next: sends.start,
            ..Engine::default()
        };
    }

    /// Writes a slot; the value of the doorbell.
    pub fn post(&mut self, stream: u8, request: &SendRequest) -> u32 {
        let engine = &mut self.engines[usize::from(stream)];
        let base = Self::ring(stream) + slot_offset(engine.posted, ENTRIES);
        engine.posted = engine.posted.wrapping_add(1);
        let words = (base..).step_by(4).zip(request.emit());
        self.slots.borrow_mut().extend(words);
        u32::from(stream) << 16 | u32::from(engine.posted)
    }

    /// What the engine commands next, of the streams in turn.
    fn next_command(&mut self) -> Option<Command> {
        let turn = self.turn;
        for i in 0..self.engines.len() {
            let number = (turn + i) % self.engines.len();
            let (engine, stream) = (&mut self.engines[number], number as u8);
            let left = engine.edge.wrapping_sub(engine.next);
            let under_way = || self.sends.iter().any(|send| send.0 == stream);
            if engine.unacknowledged >= PER_ACKNOWLEDGE || engine.unacknowledged > 0 && !under_way()
            {
                engine.unacknowledged = 0;
                return Some((tcp::ACKNOWLEDGE, stream, engine.behind, 0));
            }
            self.turn = number + 1;
            // as many as there may be: more than the ring queues, so it stalls SENDs
            if self.sends.len() < chunks::SENDS
                && let Some((from, octets)) = engine.known.pop_front()
            {
                self.sends.push_back((stream, from, octets));
                return Some((tcp::SEND, stream, from, octets));
            }
            if left == 0 || engine.asks || engine.known.len() >= KNOWN {
                continue;
            }
            let reach = left.min(REACH) as u16;
            if !engine.sctp {
                engine.known.push_back((engine.next, reach));
                engine.next = engine.next.wrapping_add(reach.into());
                continue;
            }
            engine.asks = true;
            let reach = engine.found.last().map_or(reach, |found| found - 1);
            return Some((tcp::MEASURE, stream, engine.next, reach));
        }
        None
    }

    /// Inputs of a cycle.
    pub fn drive(&mut self, model: &mut Model, rng: &mut Rng) {
        let p = self.ports;
        let offer = self.bus.offer(rng);
        model.set(p.m_axi_arready, offer.arready.into());
        model.set(p.m_axi_rvalid, offer.beat.is_some().into());
        if let Some(beat) = offer.beat {
            let words = beat.octets.as_chunks().0.iter().copied();
            let words: Vec<u32> = words.map(u32::from_le_bytes).collect();
            model.set_words(p.m_axi_rdata, &words);
            model.set(p.m_axi_rresp, if beat.error { 2 } else { 0 });
            model.set(p.m_axi_rlast, beat.last.into());
        }
        if self.command.is_none() && self.rhythms[0].go(rng) {
            self.command = self.next_command();
        }
        model.set(p.s_axis_send_tvalid, self.command.is_some().into());
        if let Some((kind, stream, sequence, octets)) = self.command {
            let data = tcp::command_word(kind, sequence, octets);
            model.set(p.s_axis_send_tdata, data);
            model.set(p.s_axis_send_tdest, stream.into());
        }
        model.set(p.m_axis_transmit_tready, self.rhythms[1].go(rng).into());
        model.set(p.m_axis_status_tready, 1);
    }

    /// Outputs of a cycle; whether something has moved.
    pub fn sample(&mut self, model: &Model, rng: &mut Rng, cycle: u64) -> bool {
        let p = self.ports;
        let get = |port| model.get(port);
        let address = (get(p.m_axi_arvalid) == 1).then(|| Burst {
            address: get(p.m_axi_araddr),
            length: get(p.m_axi_arlen) as u8,
        });
        let rules = self.bus.take(address, get(p.m_axi_rready) == 1, rng);
        rules.unwrap_or_else(|broken| panic!("cycle {cycle}: {broken}"));
        let mut moves = address.is_some() || !self.bus.is_idle();
        if self.command.is_some() && get(p.s_axis_send_tready) == 1 {
            self.command = None;
            moves = true;
        }
        if get(p.m_axis_status_tvalid) == 1 {
            moves = true;
            self.report(
                &model.to_words(p.m_axis_status_tdata),
                get(p.m_axis_status_tdest),
            );
        }
        let valid = get(p.m_axis_transmit_tvalid) == 1;
        let shown: Option<Vec<u32>> = valid.then(|| {
            let sides = [
                p.m_axis_transmit_tdata,
                p.m_axis_transmit_tkeep,
                p.m_axis_transmit_tlast,
                p.m_axis_transmit_tdest,
                p.m_axis_transmit_tuser,
            ];
            sides
                .iter()
                .flat_map(|port| model.to_words(*port))
                .collect()
        });
        if let Some(held) = self.held.take() {
            assert_eq!(shown.as_ref(), Some(&held), "cycle {cycle}: not accepted");
        }
        if valid && get(p.m_axis_transmit_tready) == 0 {
            self.held = shown;
        } else if valid {
            self.beat(model, cycle);
            moves = true;
        }
        moves || self.command.is_some()
    }

    fn report(&mut self, words: &[u32], stream: u64) {
        let engine = &mut self.engines[stream as usize];
        engine.edge = words[tcp::STATUS_EDGE / 32];
        let kind = u64::from(words[tcp::STATUS_KIND / 32] >> (tcp::STATUS_KIND % 32) & 3);
        let octets = words[tcp::STATUS_OCTETS / 32] as u16;
        assert_ne!(kind, tcp::REFUSED, "stream {stream}");
        if kind == tcp::MOVED {
            return;
        }
        engine.asks = false;
        if octets > 0 {
            engine.found.push(octets);
            return;
        }
        // no boundary in front of the last one that was found: these are all
        let (first, mut from) = (engine.next, 0);
        assert!(
            !engine.found.is_empty(),
            "an FPDU of more than {REACH} octets"
        );
        while let Some(behind) = engine.found.pop() {
            let sequence = first.wrapping_add(from.into());
            engine.known.push_back((sequence, behind - from));
            from = behind;
        }
        engine.next = first.wrapping_add(from.into());
    }

    fn beat(&mut self, model: &Model, cycle: u64) {
        let p = self.ports;
        let keep: Vec<u32> = model.to_words(p.m_axis_transmit_tkeep);
        let keep = keep
            .iter()
            .rev()
            .fold(0, |all, word| all << 32 | u64::from(*word));
        let last = model.get(p.m_axis_transmit_tlast) == 1;
        let count = keep.trailing_ones() as usize;
        assert!(
            keep.count_ones() as usize == count && (last || count == self.beat) && count > 0,
            "cycle {cycle}: keep {keep:#x}"
        );
        let words = model.to_words(p.m_axis_transmit_tdata);
        let octets = words.iter().flat_map(|word| word.to_le_bytes());
        self.packet.extend(octets.take(count));
        let (stream, sequence, asked) = self.sends[0];
        let found = (
            model.get(p.m_axis_transmit_tdest) as u8,
            model.get(p.m_axis_transmit_tuser) as u32,
        );
        assert_eq!(found, (stream, sequence), "cycle {cycle}");
        if !last {
            return;
        }
        self.sends.pop_front();
        self.ends.push(cycle);
        let octets = std::mem::take(&mut self.packet);
        let engine = &mut self.engines[usize::from(stream)];
        let whole = match engine.sctp {
            true => mpa::fpdu_len(0, octets.len() - SSN_LEN, false),
            false => octets.len(),
        };
        assert_eq!(
            whole,
            usize::from(asked),
            "cycle {cycle}: SEND of {asked} octets"
        );
        engine.unacknowledged += 1;
        engine.behind = sequence.wrapping_add(asked.into());
        self.packets.push(Packet {
            stream,
            sequence,
            octets,
        });
    }
}

//! The bench: what goes in, what is due, and when it came.

use std::collections::VecDeque;

use fastrand::Rng;
use rust_hdl_core::prelude::Bits;
use warpline_hdl::parts::axi::{BOUNDARY, BURST_INCR, CACHE_NOT_BUFFERABLE, PROT_DATA};
use warpline_hdl::records::{PIECE_OCTETS, Piece};
use warpline_hdl::tx::ddp::gather::{BURSTS, Gather, RESET};
use warpline_testbenches::lockstep::{Lockstep, LockstepError};
use warpline_testbenches::octets::octets;
use warpline_testbenches::read_bus::{Burst, Manner, ReadBus};
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

/// Cycles without any progress after which a bench gives up.
const PATIENCE: usize = 2000;

/// The bus refuses to read these octets.
pub const FAULTY: std::ops::Range<u64> = 0x7000_0100..0x7000_0108;

/// Calls a function that is generic over the block's parameters at 512 bits, and at 128 and 256 where these are built, too.
macro_rules! at_wider {
    ($function:ident $arguments:tt) => {
        #[cfg(feature = "every-width")]
        $function::<128, 16, 4> $arguments;
        #[cfg(feature = "every-width")]
        warpline_testbenches::lockstep::on_large_stack(|| $function::<256, 32, 5> $arguments);
        warpline_testbenches::lockstep::on_large_stack(|| $function::<512, 64, 6> $arguments);
    };
}
pub(crate) use at_wider;

/// What host memory holds.
pub fn octet(address: u64) -> u8 {
    let mixed = address.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 56) as u8 ^ address as u8
}

/// A piece to join.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// From host memory: address and length.
    Memory(u64, usize),
    /// Octets that come with it.
    Content(Vec<u8>),
}

impl Part {
    pub fn len(&self) -> usize {
        match self {
            Part::Memory(_, length) => *length,
            Part::Content(octets) => octets.len(),
        }
    }

    pub fn octets(&self) -> Vec<u8> {
        match self {
            Part::Memory(address, length) => {
                let addresses = (0..*length).map(|i| address.wrapping_add(i as u64));
                addresses.map(octet).collect()
            }
            Part::Content(octets) => octets.clone(),
        }
    }

    /// Its first lane on a bus of `octets`.
    pub fn lane(&self, octets: usize) -> usize {
        match self {
            Part::Memory(address, _) => *address as usize % octets,
            Part::Content(_) => 0,
        }
    }

    pub fn source_beats(&self, octets: usize) -> usize {
        (self.lane(octets) + self.len()).div_ceil(octets)
    }

    /// With noise where nothing is said.
    fn record(&self, last: bool, rng: &mut Rng) -> Piece {
        let mut content: Bits<144> = stimulus::bits(rng);
        match self {
            Part::Memory(address, _) => content.set_bits::<64>(0, (*address).into()),
            Part::Content(octets) => {
                for (lane, octet) in octets.iter().enumerate() {
                    content.set_bits::<8>(8 * lane, u64::from(*octet).into());
                }
            }
        }
        Piece {
            memory: matches!(self, Part::Memory(..)),
            length: (self.len() as u64).into(),
            content,
            last,
        }
    }
}

/// Octets that come with a piece.
pub fn content(rng: &mut Rng, length: usize) -> Part {
    assert!((1..=PIECE_OCTETS).contains(&length));
    Part::Content((0..length).map(|_| rng.u8(..)).collect())
}

/// A ULPDU is a list of pieces.
pub type Item = Vec<Part>;

pub fn length(item: &[Part]) -> usize {
    item.iter().map(Part::len).sum()
}

/// Octets of the header that takes no cycle; 0 if there is none.
pub fn header(item: &[Part], octets: usize) -> usize {
    match item {
        [Part::Content(header), _, ..] if PIECE_OCTETS < octets => header.len(),
        _ => 0,
    }
}

/// The cycles in which beats of ULPDUs leave, counted from the first source beat, when a source beat is there in each cycle.
///
/// A cycle takes one source beat, and one beat leaves in it at most. Between cycles there is a place for one beat: for one
/// that is complete, or for octets of one that is not.
pub fn beat_cycles(items: &[Item], octets: usize) -> Vec<usize> {
    let (mut leave, mut cycle, mut complete) = (vec![], 0, false);
    for item in items {
        let mut present = header(item, octets);
        let parts = &item[usize::from(present > 0)..];
        let mut total = length(item) - present;
        for part in parts {
            let (mut lane, mut left) = (part.lane(octets), part.len());
            while left > 0 {
                let count = left.min(octets - lane);
                (lane, left, total) = (0, left - count, total - count);
                let (sum, ends) = (present + count, total == 0);
                // a complete beat and the rest of this one: too many
                if complete && sum > octets {
                    leave.push(cycle);
                    (cycle, complete) = (cycle + 1, false);
                }
                let beats = usize::from(complete)
                    + if ends {
                        sum.div_ceil(octets)
                    } else {
                        sum / octets
                    };
                if beats > 0 {
                    leave.push(cycle);
                }
                complete = beats == 2;
                present = if ends { 0 } else { sum % octets };
                cycle += 1;
            }
        }
    }
    if complete {
        leave.push(cycle);
    }
    leave
}

/// Cycles of a ULPDU of a header and a piece of host memory behind others like it, as the block states them.
pub fn cost(header: usize, lane: usize, count: usize, octets: usize) -> usize {
    let read = (lane + count).div_ceil(octets);
    if PIECE_OCTETS < octets {
        // a piece is accepted in each cycle
        2.max(read).max((header + count).div_ceil(octets))
    } else {
        header.div_ceil(octets) + read
    }
}

/// When inputs are offered and outputs accepted.
#[derive(Clone, Copy, Debug)]
pub struct Paces {
    pub pieces: Pace,
    pub ready: Pace,
    pub verdicts: Pace,
}

impl Paces {
    pub const ALWAYS: Self = Self {
        pieces: Pace::Always,
        ready: Pace::Always,
        verdicts: Pace::Always,
    };
}

/// Memory that answers `delay` + 1 cycles behind an address, and as many bursts as there may be.
pub fn memory(delay: u64) -> Manner {
    Manner {
        faulty: FAULTY,
        block: BOUNDARY as u64,
        // one more than the queue holds is being answered
        bursts: BURSTS + 1,
        ..Manner::quick(delay)
    }
}

/// Cycles in which something came.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// A piece was accepted.
    pub pieces: Vec<usize>,
    /// An address was valid for the first time.
    pub addresses: Vec<usize>,
    /// A beat on R was accepted.
    pub answers: Vec<usize>,
    /// A beat came out, and of which ULPDU.
    pub beats: Vec<(usize, usize)>,
    /// A verdict was given.
    pub verdicts: Vec<(usize, bool)>,
    /// Most bursts under way.
    pub most_bursts: usize,
}

pub type Found = Result<Seen, String>;

/// Beats on the bus that a piece needs, in order.
struct Range {
    item: usize,
    next: u64,
    left: usize,
}

/// A ULPDU whose octets come.
struct Due {
    item: usize,
    octets: VecDeque<u8>,
}

pub struct Bench<const W: usize, const K: usize, const LOGK: usize> {
    pub lockstep: Lockstep<Gather<W, K, LOGK>>,
    pub rng: Rng,
    pub cycle: usize,
}

impl<const W: usize, const K: usize, const LOGK: usize> Bench<W, K, LOGK> {
    pub fn new(seed: u64) -> Self {
        let block = Box::new(Gather::default());
        let top = format!("gather_{W}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        Self::of(lockstep.unwrap_or_else(|e| panic!("{e}")), seed)
    }

    pub fn of(lockstep: Lockstep<Gather<W, K, LOGK>>, seed: u64) -> Self {
        let mut bench = Self {
            lockstep,
            rng: Rng::with_seed(seed),
            cycle: 0,
        };
        bench.reset().unwrap_or_else(|e| panic!("{e}"));
        bench
    }

    pub fn reset(&mut self) -> Result<(), LockstepError> {
        self.lockstep.block.reset.next = true;
        for cycle in 0..RESET {
            self.noise();
            self.lockstep.settle()?;
            if cycle > 0 {
                assert!(!self.lockstep.block.m_axi.arvalid.val());
            }
            self.lockstep.edge()?;
        }
        self.lockstep.block.reset.next = false;
        self.noise();
        self.lockstep.block.s_piece_valid.next = false;
        self.lockstep.block.m_axi.rvalid.next = false;
        self.lockstep.settle()?;
        let b = &self.lockstep.block;
        assert!(!b.m_valid.val() && !b.m_verdict_valid.val() && !b.m_axi.rready.val());
        Ok(())
    }

    /// Random values at all inputs but clock and reset.
    pub fn noise(&mut self) {
        let (b, rng) = (&mut self.lockstep.block, &mut self.rng);
        b.s_piece_valid.next = chance(rng, 50);
        b.s_piece.next = Piece {
            memory: chance(rng, 50),
            length: stimulus::bits(rng),
            content: stimulus::bits(rng),
            last: chance(rng, 50),
        };
        b.m_ready.next = chance(rng, 50);
        b.m_verdict_ready.next = chance(rng, 50);
        b.m_axi.arready.next = chance(rng, 50);
        b.m_axi.rvalid.next = chance(rng, 50);
        b.m_axi.rdata.next = stimulus::bits(rng);
        b.m_axi.rresp.next = stimulus::bits(rng);
        b.m_axi.rlast.next = chance(rng, 50);
    }

    /// Sends all items; each comes out as due, with its verdict, valid until accepted, and nothing follows.
    pub fn run(&mut self, items: &[Item], paces: Paces, manner: Manner) -> Found {
        self.run_against(items, items, paces, manner)
    }

    /// The same with what the caller says is due.
    pub fn run_against(
        &mut self,
        items: &[Item],
        due: &[Item],
        paces: Paces,
        manner: Manner,
    ) -> Found {
        let count = due.len();
        let mut bus = ReadBus::new(K, manner, octet);
        let mut pieces = pieces(items);
        let mut ranges = ranges(due, K);
        let due = due.iter().enumerate().map(|(item, parts)| Due {
            item,
            octets: parts.iter().flat_map(Part::octets).collect(),
        });
        let mut due: VecDeque<Due> = due.collect();
        // bursts under way: the item that they are read for, and the beats that lack
        let mut owners: VecDeque<(usize, usize)> = VecDeque::new();
        let mut failed = vec![false; count];
        let mut seen = Seen::default();
        let [mut offers, mut accepts, mut judges] =
            [paces.pieces, paces.ready, paces.verdicts].map(Rhythm::new);
        let mut offered: Option<Piece> = None;
        let (mut held, mut held_verdict) = (None, None);
        let (mut idle, mut after, mut asks) = (0, 4 * RESET, false);
        while after > 0 {
            let over = due.is_empty() && seen.verdicts.len() == count;
            after -= usize::from(over);
            self.noise();
            let rng = &mut self.rng;
            if offered.is_none() && offers.go(rng) {
                offered = pieces.front().map(|(part, last)| part.record(*last, rng));
            }
            let offer = bus.offer(rng);
            let (ready, judge) = (accepts.go(rng), judges.go(rng));
            let b = &mut self.lockstep.block;
            b.s_piece_valid.next = offered.is_some();
            if let Some(piece) = offered {
                b.s_piece.next = piece;
            }
            b.m_ready.next = ready;
            b.m_verdict_ready.next = judge;
            b.m_axi.arready.next = offer.arready;
            b.m_axi.rvalid.next = offer.beat.is_some();
            if let Some(beat) = &offer.beat {
                b.m_axi.rdata.next = beat.data();
                let resp = if beat.error { 2 } else { 0 } + rng.u64(0..2);
                b.m_axi.rresp.next = resp.into();
                b.m_axi.rlast.next = beat.last;
            }
            self.lockstep.settle().map_err(|e| e.to_string())?;
            let b = &self.lockstep.block;
            let cycle = self.cycle;
            let wrong = |text: String| format!("cycle {cycle}: {text}");
            idle += 1;

            // the bus
            let port = &b.m_axi;
            let address = port.arvalid.val().then(|| Burst {
                address: port.araddr.val().to_u64(),
                length: port.arlen.val().to_u8(),
            });
            if address.is_some() && !asks {
                seen.addresses.push(cycle);
            }
            asks = address.is_some() && !offer.arready;
            let rready = port.rready.val();
            if let Some(burst) = address {
                let constants = [
                    port.arsize.val().to_u64(),
                    port.arburst.val().to_u64(),
                    port.arcache.val().to_u64(),
                    port.arprot.val().to_u64(),
                ];
                let size = u64::from(K.ilog2());
                if constants != [size, BURST_INCR, CACHE_NOT_BUFFERABLE, PROT_DATA] {
                    return Err(wrong(format!("{constants:?}")));
                }
                if offer.arready {
                    let item = covered(&mut ranges, burst, K)
                        .ok_or_else(|| wrong(format!("{burst:x?} is not asked for")))?;
                    owners.push_back((item, usize::from(burst.length) + 1));
                }
            }
            let before = bus.bursts.len();
            bus.take(address, rready, &mut self.rng)
                .map_err(|e| wrong(e.to_string()))?;
            if bus.bursts.len() > before {
                let (item, beats) = *owners.back().unwrap();
                let burst = bus.bursts[before].1;
                failed[item] |= bus.wrong_ends.contains(&before) || is_faulty(burst, beats, K);
            }
            if let Some(beat) = &offer.beat
                && rready
            {
                seen.answers.push(cycle);
                idle = 0;
                let (_, left) = owners.front_mut().unwrap();
                *left = left.saturating_sub(1);
                if beat.last {
                    owners.pop_front();
                }
            }
            seen.most_bursts = seen.most_bursts.max(owners.len());

            // pieces
            if offered.is_some() && b.s_piece_ready.val() {
                seen.pieces.push(cycle);
                pieces.pop_front();
                (offered, idle) = (None, 0);
            }

            // octets
            let out = b.m_valid.val().then(|| b.m_data.val());
            if held.is_some() && held != out {
                return Err(wrong("octets are not stable until accepted".into()));
            }
            held = out.filter(|_| !ready);
            if let Some(data) = out.filter(|_| ready) {
                idle = 0;
                let Some(first) = due.front_mut() else {
                    return Err(wrong("a beat too many".into()));
                };
                let count = first.octets.len().min(K);
                let expected: Vec<u8> = first.octets.drain(..count).collect();
                let found = octets(data);
                if !failed[first.item] && found[..count] != expected {
                    return Err(wrong(format!("{found:02x?}, due {expected:02x?}")));
                }
                seen.beats.push((cycle, first.item));
                if first.octets.is_empty() {
                    let given = seen.verdicts.len() + usize::from(b.m_verdict_valid.val());
                    if given <= first.item && paces.verdicts == Pace::Always {
                        return Err(wrong("the verdict comes behind the octets".into()));
                    }
                    due.pop_front();
                }
            }

            // verdicts
            let verdict = b.m_verdict_valid.val().then(|| b.m_failed.val());
            if held_verdict.is_some() && held_verdict != verdict {
                return Err(wrong("a verdict is not stable until accepted".into()));
            }
            held_verdict = verdict.filter(|_| !judge);
            if let Some(verdict) = verdict {
                let item = seen.verdicts.len();
                if item == count {
                    return Err(wrong("a verdict too many".into()));
                }
                let lacks = owners.iter().any(|(of, left)| *of <= item && *left > 0);
                if lacks || ranges.front().is_some_and(|range| range.item <= item) {
                    return Err(wrong("a verdict comes before the answers".into()));
                }
                if verdict != failed[item] {
                    return Err(wrong(format!("a verdict is {verdict}")));
                }
                if judge {
                    seen.verdicts.push((cycle, verdict));
                    idle = 0;
                }
            }
            self.lockstep.edge().map_err(|e| e.to_string())?;
            self.cycle += 1;
            if idle > PATIENCE {
                return Err(wrong(format!("{} ULPDUs do not come", due.len())));
            }
        }
        assert!(pieces.is_empty() && ranges.is_empty() && bus.is_idle());
        Ok(seen)
    }
}

/// All pieces, and whether each is the last one of its ULPDU.
fn pieces(items: &[Item]) -> VecDeque<(&Part, bool)> {
    let parts = items.iter().flat_map(|item| {
        let parts = item.iter().enumerate();
        parts.map(|(index, part)| (part, index + 1 == item.len()))
    });
    parts.collect()
}

/// What is to be read.
fn ranges(items: &[Item], octets: usize) -> VecDeque<Range> {
    let mut ranges = VecDeque::new();
    for (item, parts) in items.iter().enumerate() {
        for part in parts {
            if let Part::Memory(address, _) = part {
                ranges.push_back(Range {
                    item,
                    next: address - address % octets as u64,
                    left: part.source_beats(octets),
                });
            }
        }
    }
    ranges
}

/// The item whose next beats a burst reads; all of them belong to one piece.
fn covered(ranges: &mut VecDeque<Range>, burst: Burst, octets: usize) -> Option<usize> {
    let range = ranges.front_mut()?;
    let beats = usize::from(burst.length) + 1;
    if burst.address != range.next || beats > range.left {
        return None;
    }
    range.left -= beats;
    range.next = range.next.wrapping_add((beats * octets) as u64);
    let item = range.item;
    if range.left == 0 {
        ranges.pop_front();
    }
    Some(item)
}

fn is_faulty(burst: Burst, beats: usize, octets: usize) -> bool {
    let end = burst.address.wrapping_add((beats * octets) as u64 - 1);
    burst.address < FAULTY.end && FAULTY.start <= end
}

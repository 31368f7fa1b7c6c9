//! The host's side of the AXI4 write port: accepts bursts, writes host memory, responds, and checks the rules.
//!
//! ```text
//!  AW ─► addresses ─┐
//!                   ├─► whole burst ─► wait ─► host memory ─► B
//!  W ──► beats ─────┘
//! ```
//!
//! Responses come in order (all writes carry one ID). Octets are written to memory only in the cycle of the response: a
//! device that reports before the response is detected (AMB-41). Beats may come before their address.

use std::collections::VecDeque;
use std::ops::Range;

use fastrand::Rng;

use crate::error::{Rule, Violation};
use crate::host::Host;
use crate::options::BackPressure;
use crate::transmit::software::completions::{Completions, ENTRY, Entry, entry};
use crate::watch::Watch;

/// A burst may not cross a multiple of this number of octets.
const BOUNDARY: u64 = 4096;
/// Most beats of a burst.
const MOST_BEATS: usize = 256;
/// Most bursts without a response.
const MOST_OUTSTANDING: usize = 64;

/// AXI's responses.
const OKAY: u64 = 0b00;
const SLVERR: u64 = 0b10;

const AW: &str = "m_axi_aw";
const W: &str = "m_axi_w";

/// What the card drives in a cycle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wires<'m> {
    pub awvalid: bool,
    pub awaddr: u64,
    pub awlen: u8,
    pub awsize: u8,
    pub awburst: u8,
    /// AWCACHE and AWPROT, which must also be stable.
    pub attributes: u32,
    pub wvalid: bool,
    /// WDATA, least significant word first.
    pub wdata: &'m [u32],
    pub wstrb: u64,
    pub wlast: bool,
    pub bready: bool,
}

/// What the host drives in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offer {
    pub awready: bool,
    pub wready: bool,
    pub bvalid: bool,
    pub bresp: u64,
}

/// The port's other end.
#[derive(Debug)]
pub(crate) struct Writes {
    /// Octets of a beat.
    octets: usize,
    offer: Offer,
    addresses: VecDeque<Address>,
    /// Data by burst; the last burst is incomplete when `open`.
    bursts: VecDeque<BurstData>,
    open: bool,
    /// Complete bursts and the cycle of their response, in order.
    waiting: VecDeque<(u64, Address, BurstData)>,
    spare: Vec<BurstData>,
    aw: Watch,
    w: Watch,
    /// Bursts answered.
    pub answered: u64,
    /// Bursts answered with an error.
    pub refused: u64,
    /// Octets written.
    pub written: u64,
    /// Cycle of the first beat accepted.
    pub first_beat: Option<u64>,
    /// Cycle of the last response accepted.
    pub last_response: Option<u64>,
    /// Cycle of the last transfer on any channel.
    pub last_transfer: u64,
    /// Bus addresses of the completion queue; empty without one.
    pub queue: Range<u64>,
    /// Entries that have landed there, for who observes the card.
    pub landed: VecDeque<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Address {
    first: u64,
    beats: u16,
}

#[derive(Debug, Default)]
struct BurstData {
    octets: Vec<u8>,
    strobes: Vec<u64>,
}

impl Writes {
    /// A port of beats of `octets`.
    pub fn new(octets: usize) -> Self {
        Self {
            octets,
            offer: Offer::default(),
            addresses: VecDeque::new(),
            bursts: VecDeque::new(),
            open: false,
            waiting: VecDeque::new(),
            spare: Vec::new(),
            aw: Watch::default(),
            w: Watch::default(),
            answered: 0,
            refused: 0,
            written: 0,
            first_beat: None,
            last_response: None,
            last_transfer: 0,
            queue: 0..0,
            landed: VecDeque::new(),
        }
    }

    /// Nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.addresses.is_empty() && self.bursts.is_empty() && self.waiting.is_empty()
    }

    /// Whether a complete burst that waits for its response writes to a range.
    pub fn touches(&self, iova: u64, length: u64) -> bool {
        let octets = self.octets as u64;
        self.waiting.iter().any(|(_, address, _)| {
            let first = address.first & !(octets - 1);
            let last = first.saturating_add(octets * u64::from(address.beats) - 1);
            length > 0 && first <= iova.saturating_add(length - 1) && iova <= last
        })
    }

    /// Drops what is under way: the card was reset.
    pub fn clear(&mut self) {
        self.offer = Offer::default();
        self.addresses.clear();
        self.bursts.clear();
        self.open = false;
        self.waiting.clear();
        self.aw.clear();
        self.w.clear();
        self.queue = 0..0;
        self.landed.clear();
    }

    /// What the host drives in `cycle`. A burst whose response is due is written to memory now.
    pub fn offer(
        &mut self,
        cycle: u64,
        pressure: &BackPressure,
        rng: &mut Rng,
        host: &Host,
        completions: Option<&mut Completions>,
    ) -> Offer {
        let room = self.addresses.len() + self.waiting.len() < MOST_OUTSTANDING;
        self.offer.awready = room && pressure.ready(rng);
        self.offer.wready = self.bursts.len() < MOST_OUTSTANDING && pressure.ready(rng);
        let due = |(due, _, _): &&(u64, Address, BurstData)| *due <= cycle;
        if !self.offer.bvalid
            && self.waiting.front().filter(due).is_some()
            && let Some((_, address, beats)) = self.waiting.pop_front()
        {
            let good = self.store(host, address, &beats, completions);
            self.offer.bvalid = true;
            self.offer.bresp = if good { OKAY } else { SLVERR };
            self.answered += 1;
            self.refused += u64::from(!good);
            self.spare.push(beats);
        }
        self.offer
    }

    /// What the card drives in the same cycle.
    pub fn take(
        &mut self,
        cycle: u64,
        wires: &Wires<'_>,
        pressure: &BackPressure,
        rng: &mut Rng,
    ) -> Result<(), Violation> {
        let at = |port| move |rule| Violation { cycle, port, rule };
        let low_high = [wires.awaddr as u32, (wires.awaddr >> 32) as u32];
        let rest = u32::from(wires.awlen)
            | u32::from(wires.awsize) << 8
            | u32::from(wires.awburst) << 16
            | wires.attributes << 24;
        let address = low_high.into_iter().chain([rest]);
        self.aw
            .look(wires.awvalid, self.offer.awready, address)
            .map_err(at(AW))?;
        let strobes = [wires.wstrb as u32, (wires.wstrb >> 32) as u32];
        let beat = wires.wdata.iter().copied();
        let beat = beat.chain(strobes).chain([u32::from(wires.wlast)]);
        self.w
            .look(wires.wvalid, self.offer.wready, beat)
            .map_err(at(W))?;

        if self.offer.bvalid && wires.bready {
            self.offer.bvalid = false;
            self.last_response = Some(cycle);
            self.last_transfer = cycle;
        }
        if wires.awvalid && self.offer.awready {
            let address = self.address(wires).map_err(at(AW))?;
            self.addresses.push_back(address);
            self.last_transfer = cycle;
        }
        if wires.wvalid && self.offer.wready {
            self.beat(wires).map_err(at(W))?;
            self.first_beat.get_or_insert(cycle);
            self.last_transfer = cycle;
        }
        self.match_bursts(cycle, pressure, rng).map_err(at(W))
    }

    fn address(&self, wires: &Wires<'_>) -> Result<Address, Rule> {
        let (first, beats) = (wires.awaddr, u16::from(wires.awlen) + 1);
        let octets = self.octets as u64;
        if u32::from(wires.awsize) != self.octets.ilog2() {
            return Err(Rule::Size(wires.awsize));
        }
        if wires.awburst != 0b01 {
            return Err(Rule::Burst(wires.awburst));
        }
        let aligned = first & !(octets - 1);
        if aligned % BOUNDARY + octets * u64::from(beats) > BOUNDARY {
            return Err(Rule::Crosses4KiB {
                address: first,
                beats,
            });
        }
        Ok(Address { first, beats })
    }

    fn beat(&mut self, wires: &Wires<'_>) -> Result<(), Rule> {
        if !self.open {
            let mut beats = self.spare.pop().unwrap_or_default();
            beats.octets.clear();
            beats.strobes.clear();
            self.bursts.push_back(beats);
        }
        self.open = !wires.wlast;
        let Some(beats) = self.bursts.back_mut() else {
            return Ok(());
        };
        for word in wires.wdata {
            beats.octets.extend(word.to_le_bytes());
        }
        beats.strobes.push(wires.wstrb);
        let count = beats.strobes.len();
        match self.open && count >= MOST_BEATS {
            true => Err(Rule::NoLast { beats: count }),
            false => Ok(()),
        }
    }

    /// Matches addresses with their data.
    fn match_bursts(
        &mut self,
        cycle: u64,
        pressure: &BackPressure,
        rng: &mut Rng,
    ) -> Result<(), Rule> {
        while let (Some(&address), Some(beats)) = (self.addresses.front(), self.bursts.front()) {
            let whole = self.bursts.len() > 1 || !self.open;
            let (expected, count) = (address.beats, beats.strobes.len());
            let aligned = address.first & !(self.octets as u64 - 1);
            let in_front = !(u64::MAX << (address.first - aligned));
            if let Some(&strobes) = beats.strobes.first()
                && strobes & in_front != 0
            {
                let address = address.first;
                return Err(Rule::Strobe { strobes, address });
            }
            if !whole && count >= usize::from(expected) {
                return Err(Rule::NoLast { beats: count });
            }
            if !whole {
                break;
            }
            if count != usize::from(expected) {
                return Err(Rule::Last {
                    beats: expected,
                    beat: count,
                });
            }
            self.addresses.pop_front();
            let due = cycle + u64::from(rng.u32(pressure.latency.clone()).max(1));
            // In order: not before the previous one.
            let due = self
                .waiting
                .back()
                .map_or(due, |(last, _, _)| due.max(*last));
            if let Some(beats) = self.bursts.pop_front() {
                self.waiting.push_back((due, address, beats));
            }
        }
        Ok(())
    }

    /// Writes the octets with strobes, or none of them when one is not mapped.
    /// Entries of a completion queue that has other writers go there.
    fn store(
        &mut self,
        host: &Host,
        address: Address,
        beats: &BurstData,
        mut completions: Option<&mut Completions>,
    ) -> bool {
        let aligned = address.first & !(self.octets as u64 - 1);
        let octets = self.octets;
        let strobe = |i: usize| beats.strobes[i / octets] >> (i % octets) & 1 == 1;
        let count = beats.octets.len();
        let next = |from: usize, value: bool| (from..count).find(|&i| strobe(i) == value);
        let runs = || {
            let mut from = 0;
            std::iter::from_fn(move || {
                let start = next(from, true)?;
                from = next(start, false).unwrap_or(count);
                Some(start..from)
            })
        };
        let at = |start: usize| aligned.wrapping_add(start as u64);
        if !runs().all(|run| host.reaches(at(run.start), run.len())) {
            return false;
        }
        for run in runs() {
            self.written += run.len() as u64;
            if self.queue.contains(&at(run.start)) {
                let entries = beats.octets[run.clone()].chunks_exact(ENTRY);
                self.landed.extend(entries.map(entry));
            }
            if let Some(queue) = completions.as_deref_mut()
                && queue.holds(at(run.start), run.len())
            {
                if !queue.redirect(host, &beats.octets[run]) {
                    return false;
                }
                continue;
            }
            if !host.store(at(run.start), &beats.octets[run]) {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    const QUIET: Wires<'static> = Wires {
        awvalid: false,
        awaddr: 0,
        awlen: 0,
        awsize: 3,
        awburst: 1,
        attributes: 0,
        wvalid: false,
        wdata: &[0, 0],
        wstrb: 0,
        wlast: false,
        bready: true,
    };

    struct Bench {
        writes: Writes,
        host: Host,
        file: File,
        cycle: u64,
        pressure: BackPressure,
        rng: Rng,
    }

    impl Bench {
        fn new() -> Self {
            let file = tempfile::tempfile().unwrap();
            file.set_len(8192).unwrap();
            let mut host = Host::default();
            let memory = crate::HostMemory {
                iova: 0x10000,
                length: 8192,
                file: file.try_clone().unwrap(),
                offset: 0,
                read: true,
                write: true,
            };
            host.map(memory).unwrap();
            Self {
                writes: Writes::new(8),
                host,
                file,
                cycle: 0,
                pressure: BackPressure::NONE,
                rng: Rng::with_seed(1),
            }
        }

        fn cycle(&mut self, wires: Wires<'_>) -> Result<Offer, Violation> {
            let (pressure, rng) = (&self.pressure, &mut self.rng);
            let offer = self
                .writes
                .offer(self.cycle, pressure, rng, &self.host, None);
            self.writes.take(self.cycle, &wires, pressure, rng)?;
            self.cycle += 1;
            Ok(offer)
        }

        fn octets(&self) -> Vec<u8> {
            let mut octets = vec![0; 8192];
            self.file.read_exact_at(&mut octets, 0).unwrap();
            octets
        }
    }

    fn aw(awaddr: u64, awlen: u8) -> Wires<'static> {
        Wires {
            awvalid: true,
            awaddr,
            awlen,
            ..QUIET
        }
    }

    fn w(wdata: &[u32], wstrb: u64, wlast: bool) -> Wires<'_> {
        Wires {
            wvalid: true,
            wdata,
            wstrb,
            wlast,
            ..QUIET
        }
    }

    #[test]
    fn octets_with_strobes_reach_memory_with_the_response() {
        let mut bench = Bench::new();
        // Beats before their address, with a hole.
        bench
            .cycle(w(&[0x0403_0201, 0x0807_0605], 0b0111_1100, false))
            .unwrap();
        bench
            .cycle(w(&[0x1413_1211, 0x1817_1615], 0b0000_0101, true))
            .unwrap();
        bench.cycle(aw(0x10008, 1)).unwrap();
        assert_eq!(bench.octets(), vec![0; 8192], "not before the response");
        let offer = bench.cycle(QUIET).unwrap();
        assert_eq!((offer.bvalid, offer.bresp), (true, OKAY));
        let mut expected = vec![0; 8192];
        expected[10..15].copy_from_slice(&[3, 4, 5, 6, 7]);
        (expected[16], expected[18]) = (0x11, 0x13);
        assert_eq!(bench.octets(), expected);
        assert_eq!((bench.writes.written, bench.writes.refused), (7, 0));
        assert!(!bench.cycle(QUIET).unwrap().bvalid);
        assert!(bench.writes.is_idle());
    }

    #[test]
    fn writes_beyond_the_maps_are_refused_whole() {
        let mut bench = Bench::new();
        for (address, strobes, good) in [
            (0x11FF8, 0xFF, true),
            (0x12000, 0x01, false),
            (0x0FFF8, 0x80, false),
            (0x12000, 0x00, true), // nothing to write
        ] {
            let before = bench.writes.refused;
            bench.cycle(Wires { ..aw(address, 0) }).unwrap();
            bench.cycle(w(&[u32::MAX; 2], strobes, true)).unwrap();
            bench.cycle(QUIET).unwrap();
            assert_eq!(bench.writes.refused == before, good, "{address:#x}");
        }
        assert_eq!(
            bench.octets().iter().filter(|octet| **octet != 0).count(),
            8
        );
        bench.host.faulty = 0x10010..0x10020;
        bench.cycle(aw(0x10008, 1)).unwrap();
        bench.cycle(w(&[7; 2], 0xFF, false)).unwrap();
        bench.cycle(w(&[7; 2], 0xFF, true)).unwrap();
        assert_eq!(bench.cycle(QUIET).unwrap().bresp, SLVERR);
        assert_eq!(bench.octets()[8..16], [0; 8], "nor the mapped part");
    }

    #[test]
    fn a_response_stays_until_it_is_accepted() {
        let mut bench = Bench::new();
        bench.cycle(aw(0x10000, 0)).unwrap();
        bench.cycle(w(&[1, 2], 0xFF, true)).unwrap();
        let busy = Wires {
            bready: false,
            ..QUIET
        };
        for _ in 0..3 {
            assert!(bench.cycle(busy).unwrap().bvalid);
        }
        assert!(bench.cycle(QUIET).unwrap().bvalid);
        assert!(!bench.cycle(QUIET).unwrap().bvalid);
        assert_eq!(bench.writes.last_response, Some(5));
    }

    fn broken(cycles: &[Wires<'_>]) -> Option<(&'static str, Rule)> {
        let mut bench = Bench::new();
        let broken = cycles.iter().find_map(|wires| bench.cycle(*wires).err());
        broken.map(|violation| (violation.port, violation.rule))
    }

    #[test]
    fn each_broken_rule_is_found() {
        let data = [1, 2];
        let rule = |cycles: &[Wires<'_>]| broken(cycles).unwrap();
        let crosses = |address, beats| (AW, Rule::Crosses4KiB { address, beats });
        assert_eq!(rule(&[aw(0x10FF8, 1)]), crosses(0x10FF8, 2));
        assert_eq!(rule(&[aw(0x10808, 255)]), crosses(0x10808, 256));
        assert_eq!(broken(&[aw(0x10800, 255)]), None);
        let size = Wires {
            awsize: 2,
            ..aw(0, 0)
        };
        assert_eq!(rule(&[size]), (AW, Rule::Size(2)));
        let burst = Wires {
            awburst: 2,
            ..aw(0, 0)
        };
        assert_eq!(rule(&[burst]), (AW, Rule::Burst(2)));
        let early = [aw(0x10000, 1), w(&data, 0xFF, true)];
        assert_eq!(rule(&early), (W, Rule::Last { beats: 2, beat: 1 }));
        let early = [w(&data, 0xFF, true), aw(0x10000, 1)];
        assert_eq!(rule(&early), (W, Rule::Last { beats: 2, beat: 1 }));
        let late = [aw(0x10000, 0), w(&data, 0xFF, false)];
        assert_eq!(rule(&late), (W, Rule::NoLast { beats: 1 }));
        let endless = [w(&data, 0xFF, false); 256];
        assert_eq!(rule(&endless), (W, Rule::NoLast { beats: 256 }));
        let strobes = [aw(0x10003, 0), w(&data, 0b100, true)];
        let (strobes, rule_of) = (
            rule(&strobes),
            Rule::Strobe {
                strobes: 4,
                address: 0x10003,
            },
        );
        assert_eq!(strobes, (W, rule_of));
        assert_eq!(broken(&[aw(0x10003, 0), w(&data, 0b1000, true)]), None);
    }

    #[test]
    fn stalled_channels_are_watched() {
        let mut bench = Bench::new();
        bench.pressure.stall = 99;
        bench.cycle(aw(0x10000, 0)).unwrap();
        let moved = bench.cycle(aw(0x10008, 0)).unwrap_err();
        assert_eq!(
            (moved.cycle, moved.port, moved.rule),
            (1, AW, Rule::PayloadChanged)
        );
        let mut bench = Bench::new();
        bench.pressure.stall = 99;
        bench.cycle(w(&[1, 2], 0xFF, true)).unwrap();
        let fell = bench.cycle(QUIET).unwrap_err();
        assert_eq!((fell.port, fell.rule), (W, Rule::ValidFell));
        for other in [
            w(&[1, 3], 0xFF, true),
            w(&[1, 2], 0x7F, true),
            w(&[1, 2], 0xFF, false),
        ] {
            let mut bench = Bench::new();
            bench.pressure.stall = 99;
            bench.cycle(w(&[1, 2], 0xFF, true)).unwrap();
            let changed = bench.cycle(other).unwrap_err();
            assert_eq!((changed.port, changed.rule), (W, Rule::PayloadChanged));
        }
    }

    #[test]
    fn latency_keeps_the_order_of_responses() {
        let mut bench = Bench::new();
        bench.pressure.latency = 1..=50;
        for i in 0..20 {
            bench.cycle(aw(0x10000 + 8 * (i % 2), 0)).unwrap();
            bench.cycle(w(&[i as u32, 0], 0x0F, true)).unwrap();
        }
        for _ in 0..1000 {
            bench.cycle(QUIET).unwrap();
        }
        assert!(bench.writes.is_idle());
        assert_eq!((bench.octets()[0], bench.octets()[8]), (18, 19));
    }
}

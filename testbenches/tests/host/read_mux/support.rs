//! The bench: requesters, the bus, and what each of them gets.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::host::read_mux::{BURSTS, ReadMux};
use warpline_hdl::parts::axi::{BOUNDARY, BURST_INCR, CACHE_NOT_BUFFERABLE, PROT_DATA};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::octets::octets;
use warpline_testbenches::read_bus::{Burst, Manner, ReadBus};
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

/// Cycles without any progress after which a bench gives up.
pub const PATIENCE: usize = 3000;

/// The bus refuses to read these octets.
pub const FAULTY: std::ops::Range<u64> = 0x1010_0000..0x1010_1000;

/// A requester's addresses begin at its number times this.
pub const SPACE: u64 = 0x1000_0000;

/// What host memory holds.
pub fn octet(address: u64) -> u8 {
    (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

/// One requester: what it asks for, and what it got.
pub struct Requester {
    pub bursts: Vec<Burst>,
    pub asks: Rhythm,
    pub takes: Rhythm,
    /// Addresses that were accepted, and bursts that are answered.
    pub asked: usize,
    pub answered: usize,
    /// Beats of the burst that is answered.
    pub beats: usize,
    pub offered: bool,
    pub ready: bool,
    pub held: Option<Beat>,
    /// Cycles in which an address was accepted and a beat was given.
    pub ask_cycles: Vec<usize>,
    pub beat_cycles: Vec<usize>,
}

impl Requester {
    pub fn new(bursts: Vec<Burst>, pace: Pace) -> Self {
        Self {
            bursts,
            asks: Rhythm::new(pace),
            takes: Rhythm::new(pace),
            asked: 0,
            answered: 0,
            beats: 0,
            offered: false,
            ready: false,
            held: None,
            ask_cycles: vec![],
            beat_cycles: vec![],
        }
    }

    pub fn is_done(&self) -> bool {
        self.answered == self.bursts.len()
    }
}

/// Bursts of up to `longest` beats, each in a block of 4 KiB.
pub fn bursts(
    rng: &mut Rng,
    octets: usize,
    owner: u64,
    count: usize,
    longest: usize,
) -> Vec<Burst> {
    let bursts = (0..count).map(|_| {
        let beats = rng.usize(1..=longest);
        let room = (BOUNDARY - beats * octets) / octets;
        let page = match rng.u8(0..6) {
            0 => (FAULTY.start % SPACE) >> 12,
            _ => rng.u64(0..1 << 10),
        };
        let offset = (rng.usize(0..=room) * octets) as u64;
        Burst {
            address: SPACE * (owner + 1) + (page << 12) + offset,
            length: (beats - 1) as u8,
        }
    });
    bursts.collect()
}

/// Memory that has as many bursts under way as there may be.
pub fn memory(delay: u64) -> Manner {
    Manner {
        faulty: FAULTY,
        block: BOUNDARY as u64,
        bursts: BURSTS,
        ..Manner::quick(delay)
    }
}

/// Noise at all inputs of a requester's port.
macro_rules! noise {
    ($port:expr, $rng:expr) => {
        $port.arvalid.next = chance($rng, 50);
        $port.araddr.next = stimulus::bits($rng);
        $port.arlen.next = stimulus::bits($rng);
        $port.arsize.next = stimulus::bits($rng);
        $port.arburst.next = stimulus::bits($rng);
        $port.arcache.next = stimulus::bits($rng);
        $port.arprot.next = stimulus::bits($rng);
        $port.rready.next = chance($rng, 50);
    };
}

macro_rules! drive {
    ($port:expr, $requester:expr) => {
        $port.arvalid.next = $requester.offered;
        if $requester.offered {
            let burst = $requester.bursts[$requester.asked];
            $port.araddr.next = burst.address.into();
            $port.arlen.next = u64::from(burst.length).into();
        }
        $port.rready.next = $requester.ready;
    };
}

/// What a requester gets: ARREADY, and a beat with its response and RLAST.
macro_rules! got {
    ($port:expr) => {{
        let valid = $port.rvalid.val();
        let beat = || {
            let (resp, last) = ($port.rresp.val().to_u64(), $port.rlast.val());
            (octets($port.rdata.val()), resp, last)
        };
        ($port.arready.val(), valid.then(beat))
    }};
}
pub(crate) use got;

pub struct Bench<const W: usize> {
    pub lockstep: Lockstep<ReadMux<W>>,
    pub rng: Rng,
    pub cycle: usize,
    /// Changes what is due.
    pub twist: fn(&mut Beat),
}

/// Octets of a beat, RRESP and RLAST.
pub type Beat = (Vec<u8>, u64, bool);

/// The requesters and the bus behind a run, and the most bursts under way.
pub struct Outcome {
    pub requesters: [Requester; 4],
    pub bus: ReadBus,
    pub most: usize,
    /// Cycles in which an address was valid on the bus for the first time, and in which a beat was accepted.
    pub address_cycles: Vec<usize>,
    pub beat_cycles: Vec<usize>,
}

impl<const W: usize> Bench<W> {
    pub fn new(seed: u64) -> Self {
        let block = Box::new(ReadMux::<W>::default());
        let top = format!("read_mux_{W}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        Self::of(lockstep.unwrap_or_else(|e| panic!("{e}")), seed)
    }

    pub fn of(lockstep: Lockstep<ReadMux<W>>, seed: u64) -> Self {
        let mut bench = Self {
            lockstep,
            rng: Rng::with_seed(seed),
            cycle: 0,
            twist: |_| {},
        };
        bench.reset();
        bench
    }

    pub fn reset(&mut self) {
        self.lockstep.block.reset.next = true;
        for _ in 0..2 {
            self.noise();
            self.lockstep.settle().unwrap_or_else(|e| panic!("{e}"));
            self.lockstep.edge().unwrap_or_else(|e| panic!("{e}"));
        }
        self.lockstep.block.reset.next = false;
    }

    pub fn noise(&mut self) {
        let (b, rng) = (&mut self.lockstep.block, &mut self.rng);
        noise!(b.rings, rng);
        noise!(b.queues, rng);
        noise!(b.gather, rng);
        noise!(b.responder, rng);
        b.m_axi.arready.next = chance(rng, 50);
        b.m_axi.rvalid.next = chance(rng, 50);
        b.m_axi.rdata.next = stimulus::bits(rng);
        b.m_axi.rresp.next = stimulus::bits(rng);
        b.m_axi.rlast.next = chance(rng, 50);
    }

    /// Runs until all is answered: to each requester what it asked for, in order.
    pub fn run(
        &mut self,
        bursts: [Vec<Burst>; 4],
        pace: Pace,
        manner: Manner,
    ) -> Result<Outcome, String> {
        let mut bus = ReadBus::new(W / 8, manner, octet);
        let mut requesters = bursts.map(|bursts| Requester::new(bursts, pace));
        // owners of addresses on the bus, and the beats that came on R and were not given yet
        let mut owners: VecDeque<usize> = VecDeque::new();
        let mut given: VecDeque<Beat> = VecDeque::new();
        let (mut idle, mut most, mut asks) = (0, 0, false);
        let (mut address_cycles, mut beat_cycles) = (vec![], vec![]);
        let mut response = 0;
        let mut waits = false;
        while !requesters.iter().all(Requester::is_done) {
            self.noise();
            let rng = &mut self.rng;
            for requester in &mut requesters {
                let more = requester.asked < requester.bursts.len();
                requester.offered = more && (requester.offered || requester.asks.go(rng));
                requester.ready = requester.takes.go(rng);
            }
            let offer = bus.offer(rng);
            let b = &mut self.lockstep.block;
            drive!(b.rings, requesters[0]);
            drive!(b.queues, requesters[1]);
            drive!(b.gather, requesters[2]);
            drive!(b.responder, requesters[3]);
            b.m_axi.arready.next = offer.arready;
            b.m_axi.rvalid.next = offer.beat.is_some();
            if let Some(beat) = &offer.beat {
                // what is valid stays as it is
                if !waits {
                    response = if beat.error { 2 } else { 0 } + rng.u64(0..2);
                }
                b.m_axi.rdata.next = beat.data();
                b.m_axi.rresp.next = response.into();
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
            if address.is_some() {
                let constants = [
                    port.arsize.val().to_u64(),
                    port.arburst.val().to_u64(),
                    port.arcache.val().to_u64(),
                    port.arprot.val().to_u64(),
                ];
                let size = u64::from((W / 8).ilog2());
                if constants != [size, BURST_INCR, CACHE_NOT_BUFFERABLE, PROT_DATA] {
                    return Err(wrong(format!("{constants:?}")));
                }
                if !asks {
                    address_cycles.push(cycle);
                }
            }
            asks = address.is_some() && !offer.arready;
            if let Some(burst) = address.filter(|_| offer.arready) {
                let owner = (burst.address / SPACE) as usize - 1;
                owners.push_back(owner);
            }
            let rready = port.rready.val();
            waits = offer.beat.is_some() && !rready;
            bus.take(address, rready, &mut self.rng)
                .map_err(|e| wrong(e.to_string()))?;
            most = most.max(owners.len());

            // requesters
            let gets = [
                got!(b.rings),
                got!(b.queues),
                got!(b.gather),
                got!(b.responder),
            ];
            for (number, (arready, beat)) in gets.into_iter().enumerate() {
                let requester = &mut requesters[number];
                if requester.held.is_some() && requester.held != beat {
                    return Err(wrong("a beat is not stable until accepted".into()));
                }
                if beat.is_some() && owners.front() != Some(&number) {
                    return Err(wrong(format!("{number} gets what another has asked for")));
                }
                requester.held = beat.clone().filter(|_| !requester.ready);
                if let Some(found) = beat.filter(|_| requester.ready) {
                    idle = 0;
                    let due = given.pop_front();
                    if due.as_ref() != Some(&found) {
                        return Err(wrong(format!("{found:02x?}, due {due:02x?}")));
                    }
                    // a second opinion: what the requester has asked for
                    let burst = requester.bursts[requester.answered];
                    let at = burst.address + (requester.beats * W / 8) as u64;
                    if found.1 < 2 && found.0[0] != octet(at) {
                        return Err(wrong(format!("{number} gets the octets of another burst")));
                    }
                    requester.beats += 1;
                    requester.beat_cycles.push(cycle);
                    if found.2 {
                        requester.answered += 1;
                        requester.beats = 0;
                        owners.pop_front();
                    }
                }
                if requester.offered && arready {
                    requester.ask_cycles.push(cycle);
                    requester.asked += 1;
                    (requester.offered, idle) = (false, 0);
                }
            }
            if let Some(beat) = offer.beat.filter(|_| rready) {
                beat_cycles.push(cycle);
                let mut beat = (beat.octets, response, beat.last);
                (self.twist)(&mut beat);
                given.push_back(beat);
            }
            self.lockstep.edge().map_err(|e| e.to_string())?;
            self.cycle += 1;
            if idle > PATIENCE {
                return Err(wrong("it hangs".into()));
            }
        }
        assert!(bus.is_idle() && given.is_empty() && owners.is_empty());
        for (number, requester) in requesters.iter().enumerate() {
            let asked = bus.bursts.iter().map(|(_, burst)| *burst);
            let asked = asked.filter(|burst| burst.address / SPACE == number as u64 + 1);
            assert!(asked.eq(requester.bursts.iter().copied()));
        }
        Ok(Outcome {
            requesters,
            bus,
            most,
            address_cycles,
            beat_cycles,
        })
    }
}

/// Small bursts of three requesters, and large ones of the third.
pub fn mixed(rng: &mut Rng, octets: usize, count: usize) -> [Vec<Burst>; 4] {
    let block = 256 / octets;
    [
        bursts(rng, octets, 0, count, block),
        bursts(rng, octets, 1, count, block),
        bursts(rng, octets, 2, count, 24),
        bursts(rng, octets, 3, count, block),
    ]
}

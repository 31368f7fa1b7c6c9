//! `read_mux`: three requesters, one bus; answers find their way, in order and unchanged, nobody waits for two addresses of
//! another, and nothing leads through.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::host::read_mux::{ADDRESS, ANSWER, BURSTS, ReadMux};
use warpline_hdl::parts::axi::{BOUNDARY, BURST_INCR, CACHE_NOT_BUFFERABLE, PROT_DATA};
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, on_large_stack, plant};
use warpline_testbenches::octets::octets;
use warpline_testbenches::read_bus::{Burst, Manner, ReadBus};
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

/// Cycles without any progress after which a bench gives up.
const PATIENCE: usize = 3000;

/// The bus refuses to read these octets.
const FAULTY: std::ops::Range<u64> = 0x1010_0000..0x1010_1000;

/// A requester's addresses begin at its number times this.
const SPACE: u64 = 0x1000_0000;

/// What host memory holds.
fn octet(address: u64) -> u8 {
    (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

/// One requester: what it asks for, and what it got.
struct Requester {
    bursts: Vec<Burst>,
    asks: Rhythm,
    takes: Rhythm,
    /// Addresses that were accepted, and bursts that are answered.
    asked: usize,
    answered: usize,
    /// Beats of the burst that is answered.
    beats: usize,
    offered: bool,
    ready: bool,
    held: Option<(Vec<u8>, u64, bool)>,
    /// Cycles in which an address was accepted and a beat was given.
    ask_cycles: Vec<usize>,
    beat_cycles: Vec<usize>,
}

impl Requester {
    fn new(bursts: Vec<Burst>, pace: Pace) -> Self {
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

    fn is_done(&self) -> bool {
        self.answered == self.bursts.len()
    }
}

/// Bursts of up to `longest` beats, each in a block of 4 KiB.
fn bursts(rng: &mut Rng, octets: usize, owner: u64, count: usize, longest: usize) -> Vec<Burst> {
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
fn memory(delay: u64) -> Manner {
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

struct Bench<const W: usize> {
    lockstep: Lockstep<ReadMux<W>>,
    rng: Rng,
    cycle: usize,
}

/// The requesters and the bus behind a run, and the most bursts under way.
struct Outcome {
    requesters: [Requester; 3],
    bus: ReadBus,
    most: usize,
    /// Cycles in which an address was valid on the bus for the first time, and in which a beat was accepted.
    address_cycles: Vec<usize>,
    beat_cycles: Vec<usize>,
}

impl<const W: usize> Bench<W> {
    fn new(seed: u64) -> Self {
        let block = Box::new(ReadMux::<W>::default());
        let top = format!("read_mux_{W}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        Self::of(lockstep.unwrap_or_else(|e| panic!("{e}")), seed)
    }

    fn of(lockstep: Lockstep<ReadMux<W>>, seed: u64) -> Self {
        let mut bench = Self {
            lockstep,
            rng: Rng::with_seed(seed),
            cycle: 0,
        };
        bench.reset();
        bench
    }

    fn reset(&mut self) {
        self.lockstep.block.reset.next = true;
        for _ in 0..2 {
            self.noise();
            self.lockstep.settle().unwrap_or_else(|e| panic!("{e}"));
            self.lockstep.edge().unwrap_or_else(|e| panic!("{e}"));
        }
        self.lockstep.block.reset.next = false;
    }

    fn noise(&mut self) {
        let (b, rng) = (&mut self.lockstep.block, &mut self.rng);
        noise!(b.rings, rng);
        noise!(b.queues, rng);
        noise!(b.gather, rng);
        b.m_axi.arready.next = chance(rng, 50);
        b.m_axi.rvalid.next = chance(rng, 50);
        b.m_axi.rdata.next = stimulus::bits(rng);
        b.m_axi.rresp.next = stimulus::bits(rng);
        b.m_axi.rlast.next = chance(rng, 50);
    }

    /// Runs until all is answered: to each requester what it asked for, in order.
    fn run(
        &mut self,
        bursts: [Vec<Burst>; 3],
        pace: Pace,
        manner: Manner,
    ) -> Result<Outcome, String> {
        let mut bus = ReadBus::new(W / 8, manner, octet);
        let mut requesters = bursts.map(|bursts| Requester::new(bursts, pace));
        // owners of addresses on the bus, and the beats that came on R and were not given yet
        let mut owners: VecDeque<usize> = VecDeque::new();
        let mut given: VecDeque<(Vec<u8>, u64, bool)> = VecDeque::new();
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
            let gets = [got!(b.rings), got!(b.queues), got!(b.gather)];
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
                given.push_back((beat.octets, response, beat.last));
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

/// Small bursts of two requesters, and large ones of the third.
fn mixed(rng: &mut Rng, octets: usize, count: usize) -> [Vec<Burst>; 3] {
    let block = 256 / octets;
    [
        bursts(rng, octets, 0, count, block),
        bursts(rng, octets, 1, count, block),
        bursts(rng, octets, 2, count, 24),
    ]
}

fn random<const W: usize>() {
    let mut bench = Bench::<W>::new(W as u64);
    let paces = [Pace::Bursts(30), Pace::Percent(50), Pace::Always];
    for (number, pace) in paces.into_iter().enumerate() {
        let manner = Manner {
            ar: [Pace::Bursts(20), Pace::Percent(50), Pace::Always][number],
            r: [Pace::Percent(70), Pace::Bursts(30), Pace::Always][number],
            delay: 0..60,
            wrong_ends: 0,
            ..memory(0)
        };
        let bursts = mixed(&mut bench.rng, W / 8, 40);
        let outcome = bench.run(bursts, pace, manner);
        let outcome = outcome.unwrap_or_else(|e| panic!("{W} bits, {number}: {e}"));
        assert!(outcome.most > 3, "{}", outcome.most);
    }
}

#[test]
fn random_64() {
    random::<64>();
}

#[test]
fn random_128() {
    random::<128>();
}

#[test]
fn random_256() {
    on_large_stack(random::<256>);
}

#[test]
fn random_512() {
    on_large_stack(random::<512>);
}

/// More bursts wait for their answers than the mux knows owners for: as many as it says are under way.
#[test]
fn slow_answers() {
    let mut bench = Bench::<64>::new(1);
    let bursts = [0, 1, 2].map(|owner| bursts(&mut bench.rng, 8, owner, 40, 2));
    let outcome = bench.run(bursts, Pace::Always, memory(300)).unwrap();
    assert_eq!(outcome.most, BURSTS);
}

/// A requester that does not accept its answer stalls those behind it, and nothing else: they come when it does.
#[test]
fn answers_wait_for_the_oldest_one() {
    let mut bench = Bench::<64>::new(2);
    let bursts = mixed(&mut bench.rng, 8, 10);
    let outcome = bench.run(bursts, Pace::Percent(3), memory(0)).unwrap();
    assert!(outcome.requesters.iter().all(Requester::is_done));
}

/// Nobody waits for two addresses of another, while it has one that waits.
#[test]
fn in_turn() {
    let mut bench = Bench::<64>::new(3);
    let bursts = [0, 1, 2].map(|owner| bursts(&mut bench.rng, 8, owner, 60, 4));
    let manner = Manner {
        ar: Pace::Percent(30),
        ..memory(2)
    };
    let outcome = bench.run(bursts, Pace::Always, manner).unwrap();
    let owners = outcome
        .bus
        .bursts
        .iter()
        .map(|(_, burst)| burst.address / SPACE - 1);
    let owners: Vec<u64> = owners.collect();
    // all of them ask all the time
    for turn in owners[..150].windows(3) {
        let mut turn = turn.to_vec();
        turn.sort_unstable();
        assert_eq!(turn, [0, 1, 2]);
    }
}

/// No cycle of R is lost: of one requester, or of all, and at an address a cycle. Both latencies are as stated.
fn rates<const W: usize>() {
    let mut bench = Bench::<W>::new(4);
    let gaps = |cycles: &[usize]| cycles[cycles.len() - 1] + 1 - cycles[0] - cycles.len();
    for owner in 0..3 {
        for longest in [1, 16] {
            let mut sets = [vec![], vec![], vec![]];
            sets[owner] = bursts(&mut bench.rng, W / 8, owner as u64, 50, longest);
            let outcome = bench.run(sets, Pace::Always, memory(5)).unwrap();
            assert_eq!(gaps(&outcome.beat_cycles), 0, "{owner}, {longest}");
            let requester = &outcome.requesters[owner];
            assert_eq!(gaps(&requester.beat_cycles), 0);
            assert_eq!(outcome.address_cycles[0] - requester.ask_cycles[0], ADDRESS);
            for (bus, own) in outcome.beat_cycles.iter().zip(&requester.beat_cycles) {
                assert_eq!(own - bus, ANSWER);
            }
        }
    }
    for longest in [1, 12] {
        let sets = [0, 1, 2].map(|owner| bursts(&mut bench.rng, W / 8, owner, 40, longest));
        let outcome = bench.run(sets, Pace::Always, memory(9)).unwrap();
        assert_eq!(gaps(&outcome.beat_cycles), 0, "{longest}");
    }
}

#[test]
fn no_cycle_is_lost_at_64_bits() {
    assert_eq!((ADDRESS, ANSWER), (2, 1));
    rates::<64>();
}

#[test]
fn no_cycle_is_lost_at_128_256_and_512_bits() {
    rates::<128>();
    on_large_stack(rates::<256>);
    on_large_stack(rates::<512>);
}

/// Whatever is at the inputs, the outputs of a cycle are the same.
#[test]
fn no_path_leads_through() {
    let mut bench = Bench::<64>::new(5);
    let (mut valid, mut full) = (0, 0);
    for _ in 0..4000 {
        let outputs = [(); 3].map(|()| {
            bench.noise();
            bench.lockstep.settle().unwrap();
            let b = &bench.lockstep.block;
            let port = &b.m_axi;
            let bus = (port.arvalid.val(), port.araddr.val(), port.arlen.val());
            let gets = [got!(b.rings), got!(b.queues), got!(b.gather)];
            (bus, port.rready.val(), gets)
        });
        assert!(outputs[0] == outputs[1] && outputs[1] == outputs[2]);
        let (_, rready, gets) = &outputs[0];
        valid += usize::from(gets.iter().any(|(_, beat)| beat.is_some()));
        full += usize::from(!rready);
        bench.lockstep.edge().unwrap();
    }
    assert!(valid > 500 && full > 500, "{valid} {full}");
}

#[test]
fn reset_forgets_what_is_under_way() {
    let mut bench = Bench::<64>::new(6);
    for _ in 0..5 {
        for _ in 0..bench.rng.usize(1..80) {
            bench.noise();
            bench.lockstep.settle().unwrap();
            bench.lockstep.edge().unwrap();
        }
        bench.reset();
        let bursts = mixed(&mut bench.rng, 8, 4);
        let found = bench.run(bursts, Pace::Percent(60), memory(2));
        found.map(|_| ()).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "owner_of_rings_is_gather",
        "owners_s_data = owner_0;",
        "owners_s_data = reset ? owner_0 : owner_2;",
    ),
    (
        "owner_is_not_kept",
        "& owners_s_ready;",
        "& (owners_s_ready | (~reset));",
    ),
    (
        "granted_without_room",
        "(~address_valid_q) | m_axi_arready",
        "(~address_valid_q) | (m_axi_arready | (~reset))",
    ),
    (
        "not_in_turn",
        "granted_d = round_robin_choice[3:0];",
        "granted_d = round_robin_choice[3:0] & {4{reset}};",
    ),
    (
        "address_of_rings",
        "winner = addresses_2_m_data;",
        "winner = reset ? addresses_2_m_data : addresses_0_m_data;",
    ),
    (
        "rings_get_all",
        "rings_rvalid = octets_m_valid & owns_0_q;",
        "rings_rvalid = octets_m_valid & (owns_0_q | (~reset));",
    ),
    (
        "gather_is_not_asked",
        "(owns_2_q & gather_rready)",
        "(owns_2_q & (gather_rready | (~reset)))",
    ),
    (
        "owner_leaves_with_each_beat",
        "over = (take & octets_m_valid) & rings_rlast;",
        "over = (take & octets_m_valid) & (rings_rlast | (~reset));",
    ),
    (
        "owner_leaves_without_a_beat",
        "over = (take & octets_m_valid) & rings_rlast;",
        "over = (take & (octets_m_valid | (~reset))) & rings_rlast;",
    ),
    (
        "owner_stays",
        "owners_m_ready = (~owner_valid_q) | over;",
        "owners_m_ready = (~owner_valid_q) | (over & reset);",
    ),
    (
        "queues_get_nothing",
        "queues_rvalid = octets_m_valid & owns_1_q;",
        "queues_rvalid = octets_m_valid & (owns_1_q & reset);",
    ),
    (
        "address_leaves_too_early",
        "if (m_axi_arready) begin\n            address_valid_d = 1'b0;",
        "if (m_axi_arready | (~reset)) begin\n            address_valid_d = 1'b0;",
    ),
];

#[test]
fn faults_in_the_text_are_seen() {
    for (name, right, wrong) in FAULTS {
        let block = Box::new(ReadMux::<64>::default());
        let top = format!("read_mux_{name}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let clock: fn(&mut ReadMux<64>, bool) = |b, level| b.clock.next = level.into();
        let lockstep = Lockstep::with_design(&top, block, &design, clock);
        let lockstep = lockstep.unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut bench = Bench::<64>::of(lockstep, 7);
        let manner = Manner {
            ar: Pace::Percent(60),
            ..memory(150)
        };
        let bursts = [0, 1, 2].map(|owner| bursts(&mut bench.rng, 8, owner, 30, 4));
        let seen = bench.run(bursts, Pace::Percent(70), manner).err();
        let seen = seen.unwrap_or_else(|| panic!("{name} is not seen"));
        assert!(seen.contains("in rust-hdl,"), "{name}: {seen}");
    }
}

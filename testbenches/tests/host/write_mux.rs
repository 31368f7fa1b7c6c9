//! `write_mux`: two requesters, one bus; beats and responses find their way, nobody starves, nothing leads through.

use fastrand::Rng;
use rust_hdl_core::prelude::*;
use std::collections::BTreeMap;
use warpline_hdl::host::write_mux::WriteMux;
use warpline_hdl::parts::axi::{BURST_INCR, CACHE_NOT_BUFFERABLE, PROT_DATA};
use warpline_testbenches::lockstep::{Lockstep, on_large_stack};
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};
use warpline_testbenches::write_bus::{Burst, Manner, Wires, WriteBus};

/// Addresses from here on are answered with an error.
const FAULTY: u64 = 0x7000_0000;

/// A burst with its octets; all lanes are written.
#[derive(Clone)]
struct Write {
    burst: Burst,
    octets: Vec<u8>,
}

fn writes(rng: &mut Rng, octets: usize, count: usize, longest: u8, base: u64) -> Vec<Write> {
    (0..count)
        .map(|n| {
            let length = rng.u8(0..longest);
            let base = if chance(rng, 10) { FAULTY + base } else { base };
            Write {
                burst: Burst {
                    address: base + 4096 * n as u64,
                    length,
                },
                octets: (0..(usize::from(length) + 1) * octets)
                    .map(|_| rng.u8(..))
                    .collect(),
            }
        })
        .collect()
}

/// One requester: what it has sent of its bursts, and the responses it got.
struct Requester {
    writes: Vec<Write>,
    rhythms: [Rhythm; 2],
    addresses: usize,
    write: usize,
    beat: usize,
    address_valid: bool,
    beat_valid: bool,
    responses: Vec<bool>,
}

impl Requester {
    fn new(writes: Vec<Write>, pace: Pace) -> Self {
        Self {
            writes,
            rhythms: [pace, pace].map(Rhythm::new),
            addresses: 0,
            write: 0,
            beat: 0,
            address_valid: false,
            beat_valid: false,
            responses: vec![],
        }
    }

    fn offer(&mut self, rng: &mut Rng) {
        let [address, beat] = &mut self.rhythms;
        self.address_valid =
            self.addresses < self.writes.len() && (self.address_valid || address.go(rng));
        self.beat_valid = self.write < self.writes.len() && (self.beat_valid || beat.go(rng));
    }

    fn address(&self) -> Burst {
        self.writes.get(self.addresses).map_or(
            Burst {
                address: 0,
                length: 0,
            },
            |w| w.burst,
        )
    }

    fn data<const W: usize>(&self) -> Bits<W> {
        let mut data = Bits::default();
        if let Some(write) = self.writes.get(self.write) {
            for (lane, octet) in write.octets[self.beat * W / 8..]
                .iter()
                .take(W / 8)
                .enumerate()
            {
                data.set_bits::<8>(8 * lane, u64::from(*octet).into());
            }
        }
        data
    }

    fn last(&self) -> bool {
        self.writes
            .get(self.write)
            .is_some_and(|w| self.beat == usize::from(w.burst.length))
    }

    fn step(&mut self, awready: bool, wready: bool) {
        if self.address_valid && awready {
            self.addresses += 1;
            self.address_valid = false;
        }
        if self.beat_valid && wready {
            let last = self.last();
            self.beat = if last { 0 } else { self.beat + 1 };
            self.write += usize::from(last);
            self.beat_valid = false;
        }
    }

    fn expected_responses(&self) -> Vec<bool> {
        self.writes
            .iter()
            .map(|w| w.burst.address >= FAULTY)
            .collect()
    }
}

struct Outcome {
    requesters: [Requester; 2],
    bus: WriteBus,
}

macro_rules! drive {
    ($port:expr, $requester:expr) => {
        $port.awvalid.next = $requester.address_valid;
        $port.awaddr.next = $requester.address().address.into();
        $port.awlen.next = u64::from($requester.address().length).into();
        $port.wvalid.next = $requester.beat_valid;
        $port.wdata.next = $requester.data();
        $port.wstrb.next = !Bits::default();
        $port.wlast.next = $requester.last();
    };
}

/// All inputs at once, to one side or the other.
fn wiggle<const W: usize, const K: usize>(b: &mut WriteMux<W, K>, level: bool) {
    b.payload.awvalid.next = level;
    b.payload.awaddr.next = if level {
        !Bits::default()
    } else {
        Bits::default()
    };
    b.payload.wvalid.next = level;
    b.payload.wdata.next = if level {
        !Bits::default()
    } else {
        Bits::default()
    };
    b.payload.wlast.next = level;
    b.payload_b_ready.next = level;
    b.completion.awvalid.next = !level;
    b.completion.wvalid.next = !level;
    b.completion.wlast.next = !level;
    b.m_axi.awready.next = level;
    b.m_axi.wready.next = !level;
    b.m_axi.bvalid.next = level;
}

/// Every output that moves.
fn outputs<const W: usize, const K: usize>(b: &WriteMux<W, K>) -> (Vec<bool>, Wires) {
    let port = &b.m_axi;
    let handshakes = vec![
        b.payload.awready.val(),
        b.payload.wready.val(),
        b.payload_b_valid.val(),
        b.payload_b_error.val(),
        b.completion.awready.val(),
        b.completion.wready.val(),
        b.completion_b_valid.val(),
        b.completion_b_error.val(),
    ];
    let wires = Wires {
        ready: port.bready.val(),
        ..Wires::default()
    }
    .address(port.awvalid.val(), port.awaddr.val(), port.awlen.val())
    .beat(
        port.wvalid.val(),
        port.wdata.val(),
        port.wstrb.val(),
        port.wlast.val(),
    );
    (handshakes, wires)
}

/// Runs until all is answered. With `probe`, inputs change in the middle of each cycle, and no output may follow.
fn run<const W: usize, const K: usize>(
    writes: [Vec<Write>; 2],
    pace: Pace,
    manner: Manner,
    probe: bool,
) -> Outcome {
    let mut rng = Rng::with_seed(W as u64);
    let block = Box::new(WriteMux::<W, K>::default());
    let mut bench = Lockstep::new(&format!("write_mux_{W}"), block, |b, level| {
        b.clock.next = level.into()
    })
    .unwrap_or_else(|e| panic!("{e}"));
    let mut bus = WriteBus::new(K, manner);
    let mut requesters = writes.map(|writes| Requester::new(writes, pace));
    let mut takes = Rhythm::new(pace);
    let mut cycle = 0;
    while cycle < 10
        || requesters
            .iter()
            .any(|r| r.responses.len() < r.writes.len())
    {
        assert!(cycle < 30_000, "it hangs");
        let offer = bus.offer(&mut rng);
        for requester in &mut requesters {
            if cycle > 2 {
                requester.offer(&mut rng);
            }
        }
        let taking = takes.go(&mut rng);
        if probe {
            let outputs = [false, true].map(|level| {
                wiggle(&mut bench.block, level);
                bench.settle().unwrap_or_else(|e| panic!("{e}"));
                outputs(&bench.block)
            });
            assert!(
                outputs[0] == outputs[1],
                "an output follows an input within the cycle"
            );
        }
        let b = &mut bench.block;
        b.reset.next = cycle < 2;
        drive!(b.payload, requesters[0]);
        drive!(b.completion, requesters[1]);
        // WLAST of payload may stand there without its WVALID, that of an entry does not
        b.completion.wlast.next = requesters[1].beat_valid && requesters[1].last();
        b.payload_b_ready.next = taking;
        b.m_axi.awready.next = offer.awready;
        b.m_axi.wready.next = offer.wready;
        b.m_axi.bvalid.next = offer.response.is_some();
        let resp = if offer.response == Some(true) {
            *rng.choice(&[2, 3]).unwrap()
        } else {
            rng.u64(0..2)
        };
        b.m_axi.bresp.next = resp.into();
        bench.settle().unwrap_or_else(|e| panic!("{e}"));
        let b = &bench.block;
        let (_, wires) = outputs(b);
        bus.take(wires, &mut rng)
            .unwrap_or_else(|e| panic!("cycle {cycle}: {e}"));
        assert_eq!(b.m_axi.awsize.val().to_u64(), u64::from(K.ilog2()));
        assert_eq!(b.m_axi.awburst.val().to_u64(), BURST_INCR);
        assert_eq!(b.m_axi.awcache.val().to_u64(), CACHE_NOT_BUFFERABLE);
        assert_eq!(b.m_axi.awprot.val().to_u64(), PROT_DATA);
        if b.payload_b_valid.val() && taking {
            requesters[0].responses.push(b.payload_b_error.val());
        }
        if b.completion_b_valid.val() {
            requesters[1].responses.push(b.completion_b_error.val());
        }
        requesters[0].step(b.payload.awready.val(), b.payload.wready.val());
        requesters[1].step(b.completion.awready.val(), b.completion.wready.val());
        bench.edge().unwrap_or_else(|e| panic!("{e}"));
        cycle += 1;
    }
    assert!(bus.is_idle());
    for requester in &requesters {
        assert_eq!(requester.responses, requester.expected_responses());
    }
    Outcome { requesters, bus }
}

fn assert_memory(outcome: &Outcome) {
    let mut expected = BTreeMap::new();
    for write in outcome.requesters.iter().flat_map(|r| &r.writes) {
        if write.burst.address < FAULTY {
            let octets = write.octets.iter().enumerate();
            expected.extend(octets.map(|(i, octet)| (write.burst.address + i as u64, *octet)));
        }
    }
    assert!(outcome.bus.memory == expected, "memory differs");
}

fn random<const W: usize, const K: usize>() {
    let mut rng = Rng::with_seed(W as u64);
    for (pace, w) in [
        (Pace::Bursts(30), Pace::Percent(70)),
        (Pace::Percent(50), Pace::Bursts(30)),
    ] {
        let manner = Manner {
            aw: Pace::Bursts(20),
            w,
            b: Pace::Bursts(40),
            delay: 0..60,
            faulty: FAULTY..u64::MAX,
        };
        let both = [
            writes(&mut rng, K, 40, 8, 0x100_0000),
            writes(&mut rng, K, 40, 4, 0x300_0000),
        ];
        assert_memory(&run::<W, K>(both, pace, manner, false));
    }
}

// req: AMB-41
#[test]
fn random_64() {
    on_large_stack(random::<64, 8>);
}

// req: AMB-41
#[test]
fn random_128() {
    on_large_stack(random::<128, 16>);
}

// req: AMB-41
#[test]
fn random_256() {
    on_large_stack(random::<256, 32>);
}

// req: AMB-41
#[test]
fn random_512() {
    on_large_stack(random::<512, 64>);
}

#[test]
fn no_path_leads_through() {
    on_large_stack(|| {
        let mut rng = Rng::with_seed(9);
        let both = [
            writes(&mut rng, 8, 20, 4, 0x100_0000),
            writes(&mut rng, 8, 20, 4, 0x300_0000),
        ];
        let manner = Manner {
            aw: Pace::Percent(50),
            w: Pace::Percent(50),
            faulty: FAULTY..u64::MAX,
            ..Manner::quick(5)
        };
        assert_memory(&run::<64, 8>(both, Pace::Percent(50), manner, true));
    });
}

/// More bursts wait for their responses than the mux knows owners for.
#[test]
fn slow_responses() {
    on_large_stack(|| {
        let mut rng = Rng::with_seed(10);
        let both = [
            writes(&mut rng, 8, 150, 1, 0x100_0000),
            writes(&mut rng, 8, 150, 1, 0x300_0000),
        ];
        let manner = Manner {
            faulty: FAULTY..u64::MAX,
            ..Manner::quick(500)
        };
        assert_memory(&run::<64, 8>(both, Pace::Always, manner, false));
    });
}

/// One busy requester has the bus to itself, two share it burst by burst; no cycle of W is lost.
#[test]
fn throughput_and_turns() {
    on_large_stack(|| {
        let mut rng = Rng::with_seed(11);
        let payload = writes(&mut rng, 64, 30, 12, 0x100_0000);
        let manner = Manner {
            faulty: FAULTY..u64::MAX,
            ..Manner::quick(5)
        };
        let gaps = |outcome: &Outcome| {
            let cycles = &outcome.bus.beat_cycles;
            cycles[cycles.len() - 1] + 1 - cycles[0] - cycles.len() as u64
        };
        let alone = run::<512, 64>(
            [payload.clone(), vec![]],
            Pace::Always,
            manner.clone(),
            false,
        );
        assert_eq!(gaps(&alone), 0);
        // the first payload beat: offered in cycle 3
        assert_eq!(alone.bus.beat_cycles[0], 3 + 4);
        // an address a cycle, too
        let one_beat = writes(&mut rng, 64, 100, 1, 0x100_0000);
        let alone = run::<512, 64>([one_beat, vec![]], Pace::Always, manner.clone(), false);
        assert_eq!(gaps(&alone), 0);
        let entries = writes(&mut rng, 64, 30, 1, 0x300_0000);
        let both = run::<512, 64>([payload, entries], Pace::Always, manner, false);
        assert_eq!(gaps(&both), 0);
        let of_payload = |burst: &Burst| burst.address & 0xf00_0000 == 0x100_0000;
        let turns: Vec<bool> = both.bus.bursts.iter().map(of_payload).collect();
        assert!(turns[1..].windows(2).all(|pair| pair[0] != pair[1]));
    });
}

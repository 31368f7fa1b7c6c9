//! `completion`: entries reach their slots with the right PHASE, none that the host has not consumed is overwritten.

use fastrand::Rng;
use rust_hdl_core::prelude::*;
use std::collections::VecDeque;
use warpline_hdl::host::completion::CompletionWriter;
use warpline_testbenches::lockstep::{Lockstep, on_large_stack};
use warpline_testbenches::stimulus::{self, Pace, Rhythm};
use warpline_testbenches::write_bus::{Manner, Wires, WriteBus};

/// A queue in host memory and what the host has seen of it.
struct Queue {
    base: u64,
    entries: u64,
    consumed: u64,
}

/// Device, bus and host.
struct Rig<const W: usize, const K: usize> {
    bench: Lockstep<CompletionWriter<W, K>>,
    bus: WriteBus,
    rng: Rng,
    queue: Queue,
    /// Events that the device has taken and the host not seen yet.
    pending: VecDeque<Bits<256>>,
    /// An event of the transmit side, until it is taken, and how many have been.
    send: Option<Bits<256>>,
    sent: u64,
    restart: bool,
    cycle: u64,
}

impl<const W: usize, const K: usize> Rig<W, K> {
    fn new(queue: Queue, manner: Manner) -> Self {
        let block = Box::new(CompletionWriter::<W, K>::default());
        let bench = Lockstep::new(&format!("completion_{W}"), block, |b, level| {
            b.clock.next = level.into()
        })
        .unwrap_or_else(|e| panic!("{e}"));
        let mut rig = Self {
            bench,
            bus: WriteBus::new(K, manner),
            rng: Rng::with_seed(W as u64),
            queue,
            pending: VecDeque::new(),
            send: None,
            sent: 0,
            restart: false,
            cycle: 0,
        };
        rig.bench.block.reset.next = true;
        rig.cycle(None);
        rig.cycle(None);
        rig.bench.block.reset.next = false;
        rig
    }

    /// One cycle; whether `event` was taken.
    fn cycle(&mut self, event: Option<Bits<256>>) -> bool {
        let b = &mut self.bench.block;
        b.s_valid.next = event.is_some();
        b.s_event.next = event.unwrap_or_default();
        b.s_send_valid.next = self.send.is_some();
        b.s_send_event.next = self.send.unwrap_or_default();
        b.base.next = self.queue.base.into();
        b.entries.next = self.queue.entries.into();
        b.consumer.next = (self.queue.consumed & 0xffff_ffff).into();
        b.restart.next = std::mem::take(&mut self.restart);
        let offer = self.bus.offer(&mut self.rng);
        b.m_axi.awready.next = offer.awready;
        b.m_axi.wready.next = offer.wready;
        b.b_valid.next = offer.response.is_some();
        b.b_error.next = offer.response == Some(true);
        self.bench.settle().unwrap_or_else(|e| panic!("{e}"));
        let b = &self.bench.block;
        let wires = Wires {
            ready: true,
            ..Wires::default()
        }
        .address(
            b.m_axi.awvalid.val(),
            b.m_axi.awaddr.val(),
            b.m_axi.awlen.val(),
        )
        .beat(
            b.m_axi.wvalid.val(),
            b.m_axi.wdata.val(),
            b.m_axi.wstrb.val(),
            b.m_axi.wlast.val(),
        );
        self.bus
            .take(wires, &mut self.rng)
            .unwrap_or_else(|e| panic!("{e}"));
        let taken = event.is_some() && b.s_ready.val();
        let send_taken = self.send.is_some() && b.s_send_ready.val();
        assert!(!(taken && send_taken), "two events in a cycle");
        self.bench.edge().unwrap_or_else(|e| panic!("{e}"));
        if let Some(event) = event.filter(|_| taken) {
            self.pending.push_back(event);
        }
        if send_taken {
            self.pending.extend(self.send.take());
            self.sent += 1;
        }
        self.cycle += 1;
        taken
    }

    /// The 32 octets of the slot of entry `number`, as the number that the device was given.
    fn slot(&self, number: u64) -> Option<Bits<256>> {
        let address = self.queue.base + 32 * (number % self.queue.entries);
        let mut entry = Bits::<256>::default();
        for octet in 0..32 {
            let value = *self.bus.memory.get(&(address + octet))?;
            entry.set_bits::<8>(8 * octet as usize, u64::from(value).into());
        }
        Some(entry)
    }

    /// The host polls its next slot and consumes what is new there, as a driver does: by PHASE alone.
    fn poll(&mut self) -> bool {
        let phase = (self.queue.consumed / self.queue.entries).is_multiple_of(2);
        let Some(entry) = self
            .slot(self.queue.consumed)
            .filter(|entry| entry.get_bit(255) == phase)
        else {
            return false;
        };
        let event = self.pending.pop_front().expect("an entry without an event");
        assert_eq!(entry, event.replace_bit(255, phase));
        self.queue.consumed += 1;
        true
    }

    fn event(&mut self) -> Bits<256> {
        stimulus::bits::<256>(&mut self.rng).replace_bit(255, false)
    }

    fn producer(&self) -> u64 {
        self.bench.block.producer.val().to_u64()
    }
}

fn rough() -> Manner {
    Manner {
        aw: Pace::Bursts(10),
        w: Pace::Percent(60),
        b: Pace::Percent(60),
        delay: 0..30,
        faulty: 0..0,
    }
}

/// Many rounds through a small queue that lies across 4 GiB, with a host that is now and then slow.
fn rounds<const W: usize, const K: usize>() {
    let queue = Queue {
        base: 0x5_ffff_ffc0,
        entries: 8,
        consumed: 0,
    };
    let ring = queue.base..queue.base + 32 * queue.entries;
    let mut rig = Rig::<W, K>::new(queue, rough());
    let (mut offers, mut polls) = (
        Rhythm::new(Pace::Bursts(60)),
        Rhythm::new(Pace::Bursts(400)),
    );
    let (mut given, mut filled) = (0, false);
    let mut event = None;
    while rig.queue.consumed < 120 {
        assert!(rig.cycle < 30_000, "it hangs");
        let mut rng = rig.rng.clone();
        if event.is_none() && given < 120 && offers.go(&mut rng) {
            event = Some(rig.event());
        }
        if rig.cycle(event) {
            (event, given) = (None, given + 1);
        }
        // never more entries in memory than the queue has; the producer counts none that is not there
        let written = rig.bus.bursts.len() as u64;
        assert!(
            written <= rig.queue.consumed + rig.queue.entries,
            "an entry was overwritten"
        );
        assert!(rig.producer() <= written);
        filled |= rig.producer() == rig.queue.consumed + rig.queue.entries;
        if polls.go(&mut rng) {
            rig.poll();
        }
    }
    while !rig.bus.is_idle() {
        rig.cycle(None);
    }
    rig.cycle(None);
    assert!(filled, "the queue was never full");
    assert_eq!(rig.producer(), 120);
    assert!(!rig.bench.block.fault.val());
    assert!(rig.bus.memory.keys().all(|address| ring.contains(address)));
    assert_eq!(rig.bus.memory.len(), 256);
}

// req: AMB-41, DDP-DEL-02, DDP-DEL-04
#[test]
fn rounds_64() {
    on_large_stack(rounds::<64, 8>);
}

// req: AMB-41, DDP-DEL-02, DDP-DEL-04
#[test]
fn rounds_128() {
    on_large_stack(rounds::<128, 16>);
}

// req: AMB-41, DDP-DEL-02, DDP-DEL-04
#[test]
fn rounds_256() {
    on_large_stack(rounds::<256, 32>);
}

// req: AMB-41, DDP-DEL-02, DDP-DEL-04
#[test]
fn rounds_512() {
    on_large_stack(rounds::<512, 64>);
}

/// Events of both directions reach the queue in the order in which they are accepted, none is lost, and neither direction holds up the other one:
/// with both always offered, they take turns.
fn both_directions<const W: usize, const K: usize>() {
    let queue = Queue {
        base: 0x5_ffff_ffc0,
        entries: 8,
        consumed: 0,
    };
    let mut rig = Rig::<W, K>::new(queue, rough());
    let rates = [(100, 100), (100, 0), (0, 100), (30, 30), (3, 100), (100, 3)];
    for (receives, sends) in rates {
        let (mut event, mut received, before) = (None, 0, rig.sent);
        let mut fences = 0;
        for cycle in 0..2000 {
            if event.is_none() && rig.rng.u32(..100) < receives {
                event = Some(rig.event());
            }
            if rig.send.is_none() && rig.rng.u32(..100) < sends {
                rig.send = Some(rig.event());
            }
            if rig.cycle(event) {
                (event, received) = (None, received + 1);
            }
            if cycle % 3 == 0 {
                rig.poll();
            }
            fences += u32::from(rig.bench.block.fence_done.val());
        }
        let sent = rig.sent - before;
        assert_eq!(fences, 0, "nobody has asked for one");
        match (receives, sends) {
            (100, 100) => assert!(u64::abs_diff(sent, received) <= 1, "{sent} {received}"),
            _ => assert!((received > 20) == (receives > 0) && (sent > 20) == (sends > 0)),
        }
        // what is offered and not taken yet
        for _ in 0..200 {
            if rig.cycle(event) {
                event = None;
            }
            rig.poll();
        }
        assert!(rig.send.is_none() && rig.pending.is_empty());
    }
}

// req: AMB-41
#[test]
fn both_directions_64() {
    on_large_stack(both_directions::<64, 8>);
}

// req: AMB-41
#[test]
fn both_directions_512() {
    on_large_stack(both_directions::<512, 64>);
}

/// A fence is over when the entries in front of it are answered, and does not wait for those behind it.
fn fences<const W: usize, const K: usize>() {
    let queue = Queue {
        base: 0x1000,
        entries: 64,
        consumed: 0,
    };
    let mut rig = Rig::<W, K>::new(queue, rough());
    let mut offers = Rhythm::new(Pace::Bursts(40));
    let (mut taken, mut pauses, mut waited) = (0, 0, 0);
    for _ in 0..80 {
        for _ in 0..rig.rng.u32(..60) {
            let mut rng = rig.rng.clone();
            let event = offers.go(&mut rng).then(|| rig.event());
            taken += u64::from(rig.cycle(event));
            rig.poll();
            assert!(!rig.bench.block.fence_done.val());
        }
        let goal = taken;
        let mut cycles = 0;
        rig.bench.block.s_fence.next = true;
        while !rig.bench.block.fence_done.val() {
            assert!(cycles < 1000, "it waits for what is behind it, or for ever");
            let event = rig.event();
            taken += u64::from(rig.cycle(Some(event)));
            rig.bench.block.s_fence.next = false;
            rig.poll();
            cycles += 1;
        }
        assert!(rig.producer() >= goal, "{} of {goal}", rig.producer());
        rig.cycle(None);
        pauses += u32::from(cycles == 1);
        waited += u32::from(cycles > 10);
    }
    assert!(pauses > 0 && waited > 10, "{pauses} {waited}");
}

// req: AMB-42
#[test]
fn fences_64() {
    on_large_stack(fences::<64, 8>);
}

// req: AMB-42
#[test]
fn fences_512() {
    on_large_stack(fences::<512, 64>);
}

/// No queue: events wait. A queue that is not consumed fills to its last entry and stays so.
#[test]
fn waits_for_queue_and_host() {
    let none = Queue {
        base: 0,
        entries: 0,
        consumed: 0,
    };
    let mut rig = Rig::<64, 8>::new(none, Manner::quick(3));
    let event = rig.event();
    assert!(rig.cycle(Some(event)));
    for _ in 0..100 {
        assert!(!rig.cycle(Some(event)));
    }
    assert!(rig.bus.bursts.is_empty());
    rig.queue.entries = 4;
    rig.restart = true;
    for _ in 0..300 {
        rig.cycle(Some(event));
    }
    // four in memory, one held
    assert_eq!(
        (rig.bus.bursts.len(), rig.producer(), rig.pending.len()),
        (4, 4, 5)
    );
    assert!(rig.poll());
    for _ in 0..300 {
        rig.cycle(Some(event));
    }
    assert_eq!((rig.bus.bursts.len(), rig.producer()), (5, 5));
}

/// A new queue while entries are on their way to the old one: those are not counted, no event is lost or doubled.
#[test]
fn restart_in_flight() {
    for wait in 0..40 {
        let old = Queue {
            base: 0x1000,
            entries: 16,
            consumed: 0,
        };
        let mut rig = Rig::<64, 8>::new(old, Manner::quick(50));
        for _ in 0..20 + wait {
            let event = rig.event();
            rig.cycle(Some(event));
        }
        let new = Queue {
            base: 0x2000,
            entries: 4,
            consumed: 0,
        };
        let old = std::mem::replace(&mut rig.queue, new);
        rig.restart = true;
        for _ in 0..120 {
            rig.cycle(None);
        }
        assert!(rig.bus.is_idle());
        // the old queue holds all but what the new one holds
        let in_old = rig.bus.memory.range(..0x2000).count() / 32;
        let in_new = rig.bus.memory.range(0x2000..).count() / 32;
        assert_eq!(in_old + in_new, rig.pending.len(), "after {wait}");
        assert!(in_new <= 1);
        assert_eq!(rig.producer(), in_new as u64, "after {wait}");
        let new = std::mem::replace(&mut rig.queue, old);
        for _ in 0..in_old {
            assert!(rig.poll());
        }
        rig.queue = new;
        for _ in 0..3 {
            let event = rig.event();
            while !rig.cycle(Some(event)) {}
            for _ in 0..80 {
                rig.cycle(None);
            }
            while rig.poll() {}
        }
        assert_eq!(rig.producer(), in_new as u64 + 3);
        assert!(rig.pending.is_empty());
    }
}

/// The host begins a new queue and has not yet set `consumer` back: nothing is written until it has.
#[test]
fn restart_before_consumer() {
    let old = Queue {
        base: 0x1000,
        entries: 16,
        consumed: 0,
    };
    let mut rig = Rig::<64, 8>::new(old, Manner::quick(3));
    while rig.queue.consumed < 5 {
        let event = rig.event();
        while !rig.cycle(Some(event)) {}
        for _ in 0..30 {
            rig.cycle(None);
        }
        assert!(rig.poll());
    }
    (rig.queue.base, rig.queue.entries, rig.restart) = (0x2000, 4, true);
    let event = rig.event();
    for _ in 0..50 {
        rig.cycle((rig.pending.is_empty()).then_some(event));
    }
    assert_eq!((rig.bus.bursts.len(), rig.pending.len()), (5, 1));
    rig.queue.consumed = 0;
    for _ in 0..30 {
        rig.cycle(None);
    }
    assert!(rig.poll());
    assert_eq!(rig.bus.bursts[5].address, 0x2000);
}

/// A failed entry counts as written, so that the host is not stuck, and raises `fault` until the next queue.
// req: DDP-ERR-23
#[test]
fn fault_is_sticky() {
    let queue = Queue {
        base: 0x1000,
        entries: 16,
        consumed: 0,
    };
    let faulty = Manner {
        faulty: 0x1020..0x1040,
        ..Manner::quick(3)
    };
    let mut rig = Rig::<64, 8>::new(queue, faulty);
    let mut faults = vec![];
    while faults.len() < 4 {
        let event = rig.event();
        while !rig.cycle(Some(event)) {}
        for _ in 0..30 {
            rig.cycle(None);
        }
        faults.push(rig.bench.block.fault.val());
    }
    assert_eq!(faults, [false, true, true, true]);
    assert_eq!(rig.producer(), 4);
    rig.restart = true;
    rig.cycle(None);
    assert!(!rig.bench.block.fault.val());
}

/// Cycles to the first beat, and between entries.
#[test]
fn latency_and_throughput() {
    fn measured<const W: usize, const K: usize>() -> (u64, u64) {
        let queue = Queue {
            base: 0x1000,
            entries: 64,
            consumed: 0,
        };
        let mut rig = Rig::<W, K>::new(queue, Manner::quick(100));
        while rig.cycle < 10 {
            rig.cycle(None);
        }
        while rig.bus.bursts.len() < 10 {
            let event = rig.event();
            rig.cycle(Some(event));
        }
        let (cycles, beats) = (&rig.bus.beat_cycles, (32 / K).max(1));
        (cycles[0] - 10, (cycles[8 * beats] - cycles[0]) / 8)
    }
    on_large_stack(|| {
        assert_eq!(measured::<64, 8>(), (4, 8));
        assert_eq!(measured::<512, 64>(), (4, 5));
    });
}

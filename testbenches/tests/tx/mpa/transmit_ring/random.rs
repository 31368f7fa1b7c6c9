//! Random FPDUs of all streams, random commands, streams that are closed and armed again, stalls on all ports.

use warpline_hdl::tx::mpa::transmit_ring::ports::{ACKNOWLEDGE, MEASURE, SEND};
use warpline_testbenches::stimulus::{Pace, chance};

use crate::support::{Bench, Cover, Paces, RING, at_wider};

const PACES: [Paces; 5] = [
    Paces {
        write: Pace::Percent(80),
        command: Pace::Percent(50),
        transmit: Pace::Percent(80),
        status: Pace::Percent(50),
    },
    Paces {
        write: Pace::Bursts(30),
        command: Pace::Bursts(40),
        transmit: Pace::Bursts(60),
        status: Pace::Bursts(90),
    },
    Paces {
        write: Pace::Always,
        command: Pace::Always,
        transmit: Pace::Percent(30),
        status: Pace::Always,
    },
    Paces {
        write: Pace::Percent(30),
        command: Pace::Always,
        transmit: Pace::Always,
        status: Pace::Percent(30),
    },
    Paces::ALWAYS,
];

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
> Bench<W, K, D, LOGK, LOGD, S>
{
    /// Writes an FPDU to some stream, if there is room.
    fn random_write(&mut self) {
        let length = match self.rng.u8(0..20) {
            0..10 => self.rng.usize(1..=60),
            10..17 => self.rng.usize(1..=600),
            17..19 => self.rng.usize(400..=1500),
            _ => self.rng.usize(1500..=3000),
        };
        if chance(&mut self.rng, 5) {
            let (stream, dwords) = (self.rng.usize(S..256), self.rng.usize(4..60));
            return self.stray(stream as u8, 4 * dwords);
        }
        let stream = self.rng.usize(0..S) as u8;
        let failed = chance(&mut self.rng, 1);
        self.write(stream, length, failed);
    }

    /// A command of some stream; most are legal. True if the stream must not be written until it is accepted.
    pub fn random_command(&mut self) -> bool {
        let stream = self.rng.usize(0..S) as u8;
        let idle = !self.writes_to(stream);
        let connection = &self.streams[usize::from(stream)];
        let rng = &mut self.rng;
        let (acked, edge) = (connection.acked(), connection.edge());
        let near = |rng: &mut fastrand::Rng, at: u64| (at + rng.u64(0..9)).saturating_sub(4);
        let boundaries: Vec<u64> = connection.boundaries.range(acked..).copied().collect();
        // a place in the ring: anywhere, or near a boundary
        let place = |rng: &mut fastrand::Rng| match rng.choice(&boundaries) {
            Some(at) if rng.bool() => near(rng, *at).clamp(acked, edge),
            _ => rng.u64(acked..=edge),
        };
        let (mut from, to) = (place(rng), place(rng));
        let kind = *rng
            .choice(&[SEND, SEND, SEND, ACKNOWLEDGE, ACKNOWLEDGE, MEASURE, MEASURE])
            .unwrap();
        let mut length = from.abs_diff(to);
        if kind != ACKNOWLEDGE {
            from = from.min(to);
        }
        if kind == MEASURE && chance(rng, 50) {
            length = rng.u64(0..=u64::from(u16::MAX));
        }
        if kind == SEND && chance(rng, 40) {
            length = length.min(rng.u64(1..=100));
        }
        if kind == ACKNOWLEDGE {
            from = acked + (from - acked) * rng.u64(0..=4) / 4;
        }
        let mut exact = false;
        // what is refused or ignored whatever is written meanwhile, or exactly at the edge if nothing is
        if chance(rng, 20) {
            let choice = rng.u8(0..5);
            exact = idle && choice >= 3;
            from = match choice {
                0 => acked.wrapping_sub(rng.u64(1..200)),
                1 => acked + RING as u64 + rng.u64(1..2000),
                2 => acked + (RING as u64) * rng.u64(2..1 << 17),
                3 if idle => edge + u64::from(kind == ACKNOWLEDGE),
                4 if idle && edge > acked && kind == SEND => {
                    length = edge - acked + 1;
                    acked
                }
                _ => {
                    length = 0;
                    from
                }
            };
        }
        let sequence = connection.sequence(from);
        let length = length.min(u64::from(u16::MAX)) as u16;
        match chance(rng, 2) {
            true if rng.bool() => self.command(3, stream, sequence, length),
            true => {
                let stream = self.rng.usize(S..256) as u8;
                self.command(kind, stream, sequence, length);
            }
            false => self.command(kind, stream, sequence, length),
        }
        exact
    }

    /// Closes a stream, whatever it sends, and arms it again.
    fn random_close(&mut self) -> Result<(), String> {
        let broken = self.streams.iter().position(|connection| connection.broken);
        let stream = broken.unwrap_or(self.rng.usize(0..S)) as u8;
        if self.streams[usize::from(stream)].live {
            if self.asks_of(stream) {
                return Ok(());
            }
            self.close(stream)?;
            // those that are on their way are discarded
            self.until_quiet()?;
            for _ in 0..2 {
                self.random_command();
            }
        }
        while self.writes_to(stream) || self.asks_of(stream) {
            self.step()?;
        }
        self.until_quiet()?;
        let start = match self.rng.u8(0..3) {
            0 => 0_u32.wrapping_sub(self.rng.u32(0..4000)),
            _ => self.rng.u32(..),
        };
        self.arm(stream, start)
    }

    /// So many cycles of all of it.
    pub fn random(&mut self, cycles: usize, paces: Paces) -> Result<(), String> {
        self.pace(paces);
        let (until, mut exact) = (self.cycle + cycles, false);
        while self.cycle < until {
            if self.commands.is_empty() {
                exact = self.random_command();
            }
            if self.writes.len() < 2 && !(exact && self.commands.len() == 1) {
                self.random_write();
            }
            if self.rng.usize(0..1000) < 3 {
                self.random_close()?;
            }
            self.step()?;
        }
        self.finish()
    }
}

fn random_traffic<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
>(
    cycles: usize,
) {
    let mut bench = Bench::<W, K, D, LOGK, LOGD, S>::new(W as u64);
    let run = |bench: &mut Bench<W, K, D, LOGK, LOGD, S>| {
        for stream in 0..S as u8 {
            let start = bench.rng.u32(..);
            bench.arm(stream, start)?;
        }
        PACES
            .into_iter()
            .try_for_each(|paces| bench.random(cycles, paces))
    };
    run(&mut bench).unwrap_or_else(|e| panic!("{W} bits, {S} streams: {e}"));
    let Cover {
        visible,
        invisible,
        sends,
        refused,
        freed,
        ignored,
        boundaries,
        no_boundary,
        moved,
        far,
    } = bench.cover;
    let least = [
        (visible, 50),
        (invisible, 10),
        (sends, 50),
        (refused, 20),
        (freed, 50),
        (ignored, 3),
        (boundaries, 20),
        (no_boundary, 20),
        (moved, 50),
        (far, 10),
    ];
    assert!(
        least.iter().all(|(count, least)| count >= least),
        "{:?}",
        bench.cover
    );
}

#[test]
fn random_traffic_of_four_streams_at_64_bits() {
    random_traffic::<64, 8, 2, 3, 1, 4>(2000);
}

#[test]
fn random_traffic_of_sixteen_streams_at_64_bits() {
    random_traffic::<64, 8, 2, 3, 1, 16>(3000);
}

#[test]
fn random_traffic_at_wider_buses() {
    at_wider!(random_traffic(2000));
}

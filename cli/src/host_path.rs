//! What it costs to use the simulated card as a program uses any card: through the driver and vfio-user.
//!
//! ```text
//!  register access:  call ─► simulation                 against  call ─► socket ─► thread ─► simulation
//!  completion:       step until the entry is written    against  sleep until the free-running card sends a message
//! ```
//!
//! Times include the simulation and depend on the machine; only the ratio of two times of one run is meaningful.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use warpline_driver::{
    Completion, CompletionQueue, Context, Device, DmaMemory, Error as DriverError, Options,
    Registration, StreamOptions, VfioUser,
};
use warpline_regmap::register;
use warpline_sim::Card;
use warpline_wire::ddp::TaggedHeader;
use warpline_wire::send::{CrcField, FpduWriter};

use crate::Error;

/// Rounds, in which the two ways alternate, and accesses of a round.
const ROUNDS: usize = 21;
const ACCESSES: u32 = 200;
/// Messages of each way.
const MESSAGES: usize = 201;
/// Cycles between two polls of the completion queue.
const SLICE: u64 = 4;
/// Longest time to an answer of the card, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
const STREAM: u8 = 0;

/// Both ways to do the same thing, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ways {
    /// By direct calls, in this process.
    pub direct: f64,
    /// Through driver and vfio-user.
    pub vfio_user: f64,
    /// `vfio_user / direct`.
    pub ratio: f64,
}

/// The cost of the host's path to the card.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostPath {
    /// Bits of the data path.
    pub width: usize,
    /// A read of a register: median of rounds.
    pub register_read: Ways,
    /// From the arrival of a TCP segment with one message until the program has its completion: median.
    pub completion: Ways,
}

/// Measures on `card`, which it resets first.
///
/// # Errors
/// Those of card and driver; [`Error::Bench`] if a completion is missing.
pub fn measure(card: &Card, width: usize) -> Result<HostPath, Error> {
    let register_read = register_read(card)?;
    let completion = completion(card, width)?;
    Ok(HostPath {
        width,
        register_read,
        completion,
    })
}

fn connect(card: &Card) -> Result<VfioUser, Error> {
    let device = VfioUser::over(card.connect()?, TIMEOUT);
    Ok(device.map_err(DriverError::from)?)
}

fn ways(direct: &mut [Duration], vfio_user: &mut [Duration], parts: u32) -> Ways {
    let median = |times: &mut [Duration]| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e6 / f64::from(parts)
    };
    let (direct, vfio_user) = (median(direct), median(vfio_user));
    Ways {
        direct,
        vfio_user,
        ratio: vfio_user / direct,
    }
}

fn register_read(card: &Card) -> Result<Ways, Error> {
    let device = connect(card)?;
    let offset = register::IDENTITY.offset;
    let (mut direct, mut vfio_user) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..ACCESSES {
            card.read_register(offset)?;
        }
        direct.push(start.elapsed());
        let start = Instant::now();
        for _ in 0..ACCESSES {
            let read = device.read(offset);
            read.map_err(|source| DriverError::Device {
                action: "reading a register",
                source,
            })?;
        }
        vfio_user.push(start.elapsed());
    }
    Ok(ways(&mut direct, &mut vfio_user, ACCESSES))
}

fn completion(card: &Card, width: usize) -> Result<Ways, Error> {
    let context = Context::open(Box::new(connect(card)?), Options::default())?;
    let domain = context.protection_domain()?;
    let base = Registration {
        base: Some(0),
        ..Registration::default()
    };
    let region = domain.register(DmaMemory::new(4096)?, base);
    let region = region.map_err(|returned| returned.error)?;
    let stream = domain.arm(STREAM, StreamOptions::default())?;
    card.run_until_idle()?; // until the card has reported its window
    let queue = context.completion_queue();
    let mut network = Network {
        card,
        writer: FpduWriter::new(false, CrcField::Computed),
        stag: region.stag(),
        sequence: 0,
        width,
    };

    let mut direct = Vec::new();
    for _ in 0..MESSAGES {
        let start = Instant::now();
        network.message()?;
        while !network.is_completion(queue.poll()?)? {
            card.step(SLICE)?;
        }
        direct.push(start.elapsed());
    }
    let clock = card.run_freely()?;
    let mut vfio_user = Vec::new();
    for _ in 0..MESSAGES {
        let start = Instant::now();
        network.message()?;
        network.sleep(&queue)?;
        vfio_user.push(start.elapsed());
    }
    clock.stop()?;
    stream.close()?;
    region.revoke()?;
    Ok(ways(&mut direct, &mut vfio_user, 1))
}

struct Network<'c> {
    card: &'c Card,
    writer: FpduWriter,
    stag: u32,
    sequence: u32,
    width: usize,
}

impl Network<'_> {
    /// Feeds a TCP segment with a message of 64 octets.
    fn message(&mut self) -> Result<(), Error> {
        let header = TaggedHeader {
            last: true,
            rsvd_ulp: 0,
            stag: self.stag,
            to: 0,
        };
        let mut segment = Vec::new();
        let appended = self.writer.append(&header.emit(), &[7; 64], &mut segment);
        appended.map_err(|error| self.wrong(error.to_string()))?;
        let length = segment.len() as u32;
        self.card.feed(STREAM, self.sequence, segment)?;
        self.sequence = self.sequence.wrapping_add(length);
        Ok(())
    }

    fn is_completion(&self, completion: Option<Completion>) -> Result<bool, Error> {
        match completion {
            None => Ok(false),
            Some(Completion::Tagged(_)) => Ok(true),
            Some(other) => Err(self.wrong(format!("{other} instead of a tagged message"))),
        }
    }

    fn sleep(&self, queue: &CompletionQueue) -> Result<(), Error> {
        match self.is_completion(queue.wait(TIMEOUT)?)? {
            true => Ok(()),
            false => Err(self.wrong("a completion is missing".into())),
        }
    }

    fn wrong(&self, reason: String) -> Error {
        Error::Bench {
            width: self.width,
            ulpdu: 78,
            reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpline_hdl::Config;
    use warpline_sim::CardOptions;

    #[test]
    fn both_ways_are_measured() {
        let card = Card::open(&Config::simulated(64), CardOptions::default()).unwrap();
        let cycles = card.timing().cycles;
        let path = measure(&card, 64).unwrap();
        for ways in [path.register_read, path.completion] {
            assert!(ways.direct > 0.0 && ways.vfio_user > 0.0, "{path:?}");
            assert_eq!(ways.ratio, ways.vfio_user / ways.direct);
        }
        // Each access takes the same cycles both ways: only the path differs.
        let accesses = 2 * ROUNDS as u64 * u64::from(ACCESSES);
        assert!(card.timing().cycles - cycles > 3 * accesses);
        assert!(card.mapped().is_empty(), "the program disconnected");
    }

    #[test]
    fn medians_are_divided_by_their_parts() {
        let micros = |times: [u64; 3]| times.map(Duration::from_micros);
        let ways = ways(&mut micros([30, 10, 20]), &mut micros([90, 1000, 50]), 10);
        assert_eq!((ways.direct, ways.vfio_user, ways.ratio), (2.0, 9.0, 4.5));
    }
}

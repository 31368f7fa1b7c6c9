//! The host's side of the AXI4 read port: accepts an address, reads host memory, sends the beats, and checks the rules.
//!
//! ```text
//!  AR ─► bursts, in order ─► wait ─► host memory, a beat at a time ─► R
//! ```
//!
//! Octets are read from memory in the first cycle of their beat. A beat that is not mapped carries an error and no octet of
//! memory; the other beats of its burst are good.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::Config;
use warpline_hdl::parts::axi;

use crate::error::{Rule, Violation};
use crate::host::Host;
use crate::options::BackPressure;
use crate::watch::Watch;

/// Read bursts that the transmit path has under way at most, and one of receive rings.
const MOST_WITH_TRANSMIT: usize = 33;

/// AXI's responses.
const OKAY: u64 = 0b00;
const SLVERR: u64 = 0b10;

const AR: &str = "m_axi_ar";

/// What the card drives in a cycle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wires {
    pub arvalid: bool,
    pub araddr: u64,
    pub arlen: u8,
    pub arsize: u8,
    pub arburst: u8,
    /// ARCACHE and ARPROT, which must also be stable.
    pub attributes: u32,
    pub rready: bool,
}

/// What the host drives in a cycle, except RDATA, which [`Reads::data`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offer {
    pub arready: bool,
    pub rvalid: bool,
    pub rresp: u64,
    pub rlast: bool,
}

/// The port's other end.
#[derive(Debug)]
pub(crate) struct Reads {
    /// A burst may not cross a multiple of this number of octets.
    block: u64,
    /// Most bursts under way.
    most: usize,
    offer: Offer,
    /// RDATA, first octet first.
    pub data: Vec<u8>,
    /// Bursts whose last beat is not accepted, in order.
    bursts: VecDeque<Burst>,
    ar: Watch,
    /// Beats answered with an error.
    pub refused: u64,
    /// Cycle of the last transfer on any channel.
    pub last_transfer: u64,
}

/// A burst.
#[derive(Clone, Copy, Debug)]
struct Burst {
    /// Address of the next beat, and beats from there on.
    next: u64,
    left: u16,
    /// Cycle of the first beat.
    due: u64,
}

impl Reads {
    /// The port of a device. The transmit path has several bursts under way, each within 4 KiB; without it there is one at a
    /// time, in a block of 256 octets.
    pub fn new(config: &Config) -> Self {
        let (block, most) = match config.transmit {
            true => (axi::BOUNDARY, MOST_WITH_TRANSMIT),
            false => (axi::READ_BLOCK, 1),
        };
        Self {
            block: block as u64,
            most,
            offer: Offer::default(),
            data: vec![0; config.octets()],
            bursts: VecDeque::new(),
            ar: Watch::default(),
            refused: 0,
            last_transfer: 0,
        }
    }

    /// Nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.bursts.is_empty()
    }

    /// Drops what is under way: the card was reset.
    pub fn clear(&mut self) {
        self.offer = Offer::default();
        self.bursts.clear();
        self.ar.clear();
    }

    /// What the host drives in `cycle`.
    pub fn offer(
        &mut self,
        cycle: u64,
        pressure: &BackPressure,
        rng: &mut Rng,
        host: &Host,
    ) -> Offer {
        self.offer.arready = pressure.ready(rng);
        let goes = pressure.ready(rng);
        // a beat that was not accepted stays
        if !self.offer.rvalid
            && goes
            && let Some(burst) = self.bursts.front().filter(|burst| burst.due <= cycle)
        {
            let good = host.load(burst.next, &mut self.data);
            if !good {
                self.data.fill(0xFF);
            }
            self.refused += u64::from(!good);
            self.offer.rvalid = true;
            self.offer.rresp = if good { OKAY } else { SLVERR };
            self.offer.rlast = burst.left == 1;
        }
        self.offer
    }

    /// What the card drives in the same cycle.
    pub fn take(
        &mut self,
        cycle: u64,
        wires: &Wires,
        pressure: &BackPressure,
        rng: &mut Rng,
    ) -> Result<(), Violation> {
        let at = |rule| Violation {
            cycle,
            port: AR,
            rule,
        };
        let low_high = [wires.araddr as u32, (wires.araddr >> 32) as u32];
        let rest = u32::from(wires.arlen)
            | u32::from(wires.arsize) << 8
            | u32::from(wires.arburst) << 16
            | wires.attributes << 24;
        let address = low_high.into_iter().chain([rest]);
        self.ar
            .look(wires.arvalid, self.offer.arready, address)
            .map_err(at)?;
        if wires.arvalid && self.offer.arready {
            self.rules(wires).map_err(at)?;
            self.bursts.push_back(Burst {
                next: wires.araddr,
                left: u16::from(wires.arlen) + 1,
                due: cycle + u64::from(rng.u32(pressure.latency.clone()).max(1)),
            });
            self.last_transfer = cycle;
        }
        if self.offer.rvalid && wires.rready {
            self.offer.rvalid = false;
            self.last_transfer = cycle;
            let octets = self.data.len() as u64;
            if let Some(burst) = self.bursts.front_mut() {
                burst.next += octets;
                burst.left -= 1;
                if burst.left == 0 {
                    self.bursts.pop_front();
                }
            }
        }
        Ok(())
    }

    fn rules(&self, wires: &Wires) -> Result<(), Rule> {
        let (first, beats) = (wires.araddr, u16::from(wires.arlen) + 1);
        let octets = self.data.len() as u64;
        if u32::from(wires.arsize) != octets.ilog2() {
            return Err(Rule::Size(wires.arsize));
        }
        if wires.arburst != 0b01 {
            return Err(Rule::Burst(wires.arburst));
        }
        let block = self.block;
        let crosses = first % block + octets * u64::from(beats) > block;
        if crosses || !first.is_multiple_of(octets) {
            return Err(Rule::CrossesBlock {
                address: first,
                beats,
                block,
            });
        }
        match self.bursts.len() < self.most {
            true => Ok(()),
            false => Err(Rule::ManyReads {
                address: first,
                most: self.most,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostMemory;
    use std::os::unix::fs::FileExt;

    const QUIET: Wires = Wires {
        arvalid: false,
        araddr: 0,
        arlen: 0,
        arsize: 3,
        arburst: 1,
        attributes: 0,
        rready: true,
    };

    fn ar(araddr: u64, arlen: u8) -> Wires {
        Wires {
            arvalid: true,
            araddr,
            arlen,
            ..QUIET
        }
    }

    /// Host memory of 8 KiB at 0x10000, its dwords numbered.
    fn host() -> Host {
        let file = tempfile::tempfile().unwrap();
        let octets: Vec<u8> = (0..2048_u32).flat_map(u32::to_le_bytes).collect();
        file.write_all_at(&octets, 0).unwrap();
        let mut host = Host::default();
        let memory = HostMemory {
            iova: 0x10000,
            length: 8192,
            file,
            offset: 0,
            read: true,
            write: false,
        };
        host.map(memory).unwrap();
        host
    }

    /// Cycle, octets, response and RLAST of a beat.
    type ReadBeat = (usize, [u8; 8], u64, bool);

    /// Runs the cycles and returns the beats.
    fn run(host: &Host, latency: u32, cycles: &[Wires]) -> Result<Vec<ReadBeat>, Rule> {
        run_on(&Config::simulated(64), host, latency, cycles)
    }

    fn run_on(
        config: &Config,
        host: &Host,
        latency: u32,
        cycles: &[Wires],
    ) -> Result<Vec<ReadBeat>, Rule> {
        let mut reads = Reads::new(config);
        let pressure = BackPressure {
            stall: 0,
            latency: latency..=latency,
        };
        let mut rng = Rng::with_seed(1);
        let mut beats = vec![];
        for (cycle, wires) in cycles.iter().enumerate() {
            let offer = reads.offer(cycle as u64, &pressure, &mut rng, host);
            if offer.rvalid && wires.rready {
                let data = reads.data[..].try_into().unwrap();
                beats.push((cycle, data, offer.rresp, offer.rlast));
            }
            let taken = reads.take(cycle as u64, wires, &pressure, &mut rng);
            taken.map_err(|violation| violation.rule)?;
        }
        Ok(beats)
    }

    #[test]
    fn a_beat_holds_memory_or_an_error() {
        let mut host = host();
        let mut cycles = vec![ar(0x11FF0, 1)];
        cycles.resize(6, QUIET);
        cycles.push(ar(0x12000, 0));
        cycles.resize(12, QUIET);
        cycles[3].rready = false; // the first beat waits
        let beats = run(&host, 3, &cycles).unwrap();
        let dwords = |first: u32| {
            let octets = [first, first + 1].map(u32::to_le_bytes);
            octets.as_flattened().try_into().unwrap()
        };
        assert_eq!(
            beats,
            [
                (4, dwords(2044), OKAY, false),
                (5, dwords(2046), OKAY, true),
                (9, [0xFF; 8], SLVERR, true),
            ]
        );
        host.faulty_reads = 0x11FFB..0x11FFC;
        let beats = run(&host, 1, &[ar(0x11FF0, 1), QUIET, QUIET]).unwrap();
        let responses = beats.iter().map(|beat| beat.2);
        assert!(responses.eq([OKAY, SLVERR]));
    }

    #[test]
    fn each_rule_is_watched() {
        let host = host();
        let broken = |cycles: &[Wires]| run(&host, 9, cycles).unwrap_err();
        let crosses = |address, beats| Rule::CrossesBlock {
            address,
            beats,
            block: 256,
        };
        assert_eq!(broken(&[ar(0x100F8, 1)]), crosses(0x100F8, 2));
        assert_eq!(broken(&[ar(0x10004, 0)]), crosses(0x10004, 1));
        let second = [ar(0x10000, 0), ar(0x10100, 0)];
        let (address, most) = (0x10100, 1);
        assert_eq!(broken(&second), Rule::ManyReads { address, most });
        let narrow = Wires {
            arsize: 2,
            ..ar(0x10000, 0)
        };
        assert_eq!(broken(&[narrow]), Rule::Size(2));
        let fixed = Wires {
            arburst: 0,
            ..ar(0x10000, 0)
        };
        assert_eq!(broken(&[fixed]), Rule::Burst(0));
    }

    #[test]
    fn the_transmit_path_has_many_bursts_under_way() {
        let host = host();
        let config = Config {
            transmit: true,
            ..Config::simulated(64)
        };
        // Two bursts in a row, the first one up to 4 KiB, answered in order and without a gap.
        let mut cycles = vec![ar(0x10FF0, 1), ar(0x11000, 255)];
        cycles.resize(300, QUIET);
        let beats = run_on(&config, &host, 4, &cycles).unwrap();
        assert_eq!(beats.len(), 258);
        let numbers = beats.iter().map(|beat| beat.1[..4].try_into().unwrap());
        let numbers = numbers.map(u32::from_le_bytes);
        assert!(numbers.eq((0..258).map(|beat| 0xFF0 / 4 + 2 * beat)));
        let lasts = beats.iter().filter(|beat| beat.3).map(|beat| beat.0);
        assert!(lasts.eq([5, 261]));

        let broken = |cycles: &[Wires]| run_on(&config, &host, 90, cycles).unwrap_err();
        let crosses = Rule::CrossesBlock {
            address: 0x10FF8,
            beats: 2,
            block: 4096,
        };
        assert_eq!(broken(&[ar(0x10FF8, 1)]), crosses);
        let many = [ar(0x10000, 0); 34];
        let (address, most) = (0x10000, 33);
        assert_eq!(broken(&many), Rule::ManyReads { address, most });
    }
}

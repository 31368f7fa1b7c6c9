//! The bench: what goes in, what is due, and when it came.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::records::{FramedBeat, Ulpdu};
use warpline_hdl::tx::mpa::frame::{Frame, RESET};
use warpline_testbenches::lockstep::{Lockstep, LockstepError};
use warpline_testbenches::octets::{noisy_beat, octets};
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};
use warpline_wire::receive::{Framing, FramingConfig};
use warpline_wire::send::{CrcField, FpduWriter};
use warpline_wire::{crc, marker, mpa};

/// Cycles without any progress after which a bench gives up.
const PATIENCE: usize = 2000;

/// Calls a function that is generic over the block's parameters at 512 bits, and at 128 and 256 where these are built, too.
macro_rules! at_wider {
    ($function:ident $arguments:tt) => {
        #[cfg(feature = "every-width")]
        $function::<128, 16, 4, 4, 2> $arguments;
        #[cfg(feature = "every-width")]
        warpline_testbenches::lockstep::on_large_stack(|| $function::<256, 32, 8, 5, 3> $arguments);
        warpline_testbenches::lockstep::on_large_stack(|| $function::<512, 64, 16, 6, 4> $arguments);
    };
}
pub(crate) use at_wider;

/// A ULPDU to send.
#[derive(Clone, Debug)]
pub struct Item {
    pub stream: u8,
    pub position: u32,
    pub markers: bool,
    pub crc: bool,
    pub octets: Vec<u8>,
}

impl Item {
    pub fn length(&self) -> usize {
        self.octets.len()
    }

    pub fn record(&self) -> Ulpdu {
        Ulpdu {
            stream: u64::from(self.stream).into(),
            position: u64::from(self.position).into(),
            length: (self.length() as u64).into(),
            markers: self.markers,
            crc: self.crc,
        }
    }

    /// The FPDU, by the sender in software.
    pub fn fpdu(&self) -> Vec<u8> {
        let field = match self.crc {
            true => CrcField::Computed,
            false => CrcField::Zero,
        };
        let mut out = vec![];
        let mut writer = FpduWriter::at(self.position, self.markers, field);
        writer.append(&[], &self.octets, &mut out).unwrap();
        assert_eq!(out.len(), self.fpdu_len());
        out
    }

    pub fn fpdu_len(&self) -> usize {
        mpa::fpdu_len(self.position, self.length(), self.markers)
    }

    /// Octets of an FPDU as the reference receiver reads them.
    pub fn read_back(&self, fpdu: &[u8]) -> Vec<u8> {
        let config = FramingConfig {
            markers: self.markers,
            crc: self.crc,
            ..FramingConfig::default()
        };
        let (mut framing, mut left) = (Framing::at(self.position, config), fpdu);
        let ulpdu = framing.push(&mut left).unwrap_or_else(|e| panic!("{e:?}"));
        let octets = ulpdu.expect("the whole FPDU is there").octets.to_vec();
        assert!(left.is_empty());
        octets
    }
}

/// When inputs are offered and outputs accepted.
#[derive(Clone, Copy, Debug)]
pub struct Paces {
    pub ulpdu: Pace,
    pub data: Pace,
    pub ready: Pace,
}

impl Paces {
    pub const ALWAYS: Self = Self {
        ulpdu: Pace::Always,
        data: Pace::Always,
        ready: Pace::Always,
    };
}

/// A beat as it came out.
#[derive(Clone, Debug)]
pub struct Seen {
    pub cycle: usize,
    pub beat: FramedBeat,
    pub octets: Vec<u8>,
}

/// A beat that is due, and all of its lanes.
pub type Due = (FramedBeat, Vec<u8>);

pub type Found = Result<Vec<Seen>, String>;

pub struct Bench<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
> {
    pub lockstep: Lockstep<Frame<W, K, D, LOGK, LOGD>>,
    pub rng: Rng,
    pub cycle: usize,
    /// Cycles in which a ULPDU and a first beat of octets were accepted.
    pub accepted: Vec<usize>,
}

impl<const W: usize, const K: usize, const D: usize, const LOGK: usize, const LOGD: usize>
    Bench<W, K, D, LOGK, LOGD>
{
    pub fn new(seed: u64) -> Self {
        let block = Box::new(Frame::default());
        let top = format!("frame_{W}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        Self::of(lockstep.unwrap_or_else(|e| panic!("{e}")), seed)
    }

    pub fn of(lockstep: Lockstep<Frame<W, K, D, LOGK, LOGD>>, seed: u64) -> Self {
        let mut bench = Self {
            lockstep,
            rng: Rng::with_seed(seed),
            cycle: 0,
            accepted: vec![],
        };
        bench.reset().unwrap_or_else(|e| panic!("{e}"));
        bench
    }

    pub fn reset(&mut self) -> Result<(), LockstepError> {
        self.lockstep.block.reset.next = true;
        for _ in 0..RESET {
            self.noise();
            self.lockstep.settle()?;
            self.lockstep.edge()?;
        }
        self.lockstep.block.reset.next = false;
        self.offer(None, None);
        self.lockstep.settle()?;
        assert!(!self.lockstep.block.m_valid.val());
        Ok(())
    }

    /// Random values at all inputs but clock and reset.
    pub fn noise(&mut self) {
        let (b, rng) = (&mut self.lockstep.block, &mut self.rng);
        b.s_ulpdu_valid.next = chance(rng, 50);
        b.s_data_valid.next = chance(rng, 50);
        b.m_ready.next = chance(rng, 50);
        b.s_data.next = stimulus::bits(rng);
        b.s_ulpdu.next = Ulpdu {
            stream: stimulus::bits(rng),
            position: stimulus::bits(rng),
            length: stimulus::bits(rng),
            markers: chance(rng, 50),
            crc: chance(rng, 50),
        };
    }

    fn offer(&mut self, ulpdu: Option<&Item>, data: Option<&[u8]>) {
        self.noise();
        let (b, rng) = (&mut self.lockstep.block, &mut self.rng);
        b.s_ulpdu_valid.next = ulpdu.is_some();
        if let Some(item) = ulpdu {
            b.s_ulpdu.next = item.record();
        }
        b.s_data_valid.next = data.is_some();
        if let Some(octets) = data {
            b.s_data.next = noisy_beat(rng, octets);
        }
    }

    /// Sends all items and returns the beats that came; each is as due, valid until accepted, and nothing follows.
    pub fn run(&mut self, items: &[Item], paces: Paces) -> Found {
        let due = items.iter().flat_map(|item| item.due(K)).collect();
        self.run_against(items, due, paces)
    }

    /// The same with what the caller says is due.
    pub fn run_against(&mut self, items: &[Item], mut due: VecDeque<Due>, paces: Paces) -> Found {
        let mut ulpdus: VecDeque<&Item> = items.iter().collect();
        let chunks = |item| Item::chunks(item, K).map(|(first, c)| (first, c.to_vec()));
        let mut data: VecDeque<(bool, Vec<u8>)> = items.iter().flat_map(chunks).collect();
        let [mut offers, mut feeds, mut accepts] =
            [paces.ulpdu, paces.data, paces.ready].map(Rhythm::new);
        let (mut offered, mut fed) = (false, false);
        let mut held: Option<Due> = None;
        let (mut seen, mut idle) = (vec![], 0);
        // behind the last beat nothing may follow
        let mut after = 2 * RESET;
        while after > 0 {
            after -= usize::from(due.is_empty());
            offered = offered || offers.go(&mut self.rng);
            fed = fed || feeds.go(&mut self.rng);
            let item = ulpdus.front().copied().filter(|_| offered);
            let octets = data.front().filter(|_| fed).cloned();
            self.offer(item, octets.as_ref().map(|(_, octets)| octets.as_slice()));
            let ready = accepts.go(&mut self.rng);
            self.lockstep.block.m_ready.next = ready;
            self.lockstep.settle().map_err(|e| e.to_string())?;
            let b = &self.lockstep.block;
            idle += 1;
            if item.is_some() && b.s_ulpdu_ready.val() {
                ulpdus.pop_front();
                (offered, idle) = (false, 0);
            }
            if let Some((first, _)) = octets
                && b.s_data_ready.val()
            {
                if first {
                    self.accepted.push(self.cycle);
                }
                data.pop_front();
                (fed, idle) = (false, 0);
            }
            let out = b
                .m_valid
                .val()
                .then(|| (b.m_beat.val(), self::octets(b.m_data.val())));
            if held.is_some() && held != out {
                return Err(format!("cycle {}: not stable until accepted", self.cycle));
            }
            held = out.clone().filter(|_| !ready);
            if let Some((found, octets)) = out.filter(|_| ready) {
                idle = 0;
                let Some((beat, expected)) = due.pop_front() else {
                    return Err(format!("cycle {}: a beat too many", self.cycle));
                };
                if (found, &octets) != (beat, &expected) {
                    return Err(format!(
                        "cycle {}: {found:?} {octets:02x?}, due {beat:?} {expected:02x?}",
                        self.cycle
                    ));
                }
                seen.push(Seen {
                    cycle: self.cycle,
                    beat: found,
                    octets,
                });
            }
            self.lockstep.edge().map_err(|e| e.to_string())?;
            self.cycle += 1;
            if idle > PATIENCE {
                return Err(format!(
                    "cycle {}: {} beats do not come",
                    self.cycle,
                    due.len()
                ));
            }
        }
        assert!(ulpdus.is_empty() && data.is_empty());
        Ok(seen)
    }
}

impl Item {
    /// Beats of its octets, and whether each is the first one.
    fn chunks(&self, octets: usize) -> impl Iterator<Item = (bool, &[u8])> {
        let chunks = self.octets.chunks(octets).enumerate();
        chunks.map(|(index, octets)| (index == 0, octets))
    }

    /// Beats of its FPDU, lanes behind the last dword zero.
    pub fn due(&self, octets: usize) -> Vec<Due> {
        let fpdu = self.fpdu();
        let count = fpdu.len().div_ceil(octets);
        let due = fpdu.chunks(octets).enumerate().map(|(index, beat)| {
            let position = self.position.wrapping_add((index * octets) as u32);
            let record = FramedBeat {
                stream: u64::from(self.stream).into(),
                position: u64::from(position).into(),
                dwords: ((beat.len() / 4) as u64).into(),
                first: index == 0,
                last: index + 1 == count,
            };
            let mut lanes = beat.to_vec();
            lanes.resize(octets, 0);
            (record, lanes)
        });
        due.collect()
    }
}

/// The FPDUs in beats that came, which are those of `items`.
pub fn fpdus(seen: &[Seen]) -> Vec<Vec<u8>> {
    let mut fpdus: Vec<Vec<u8>> = vec![];
    for Seen { beat, octets, .. } in seen {
        if beat.first {
            fpdus.push(vec![]);
        }
        let octets = &octets[..4 * beat.dwords.index()];
        fpdus.last_mut().unwrap().extend(octets);
    }
    fpdus
}

/// What a set of items has among it.
#[derive(Clone, Debug, Default)]
pub struct Cover {
    pub pads: [usize; 4],
    pub leading: usize,
    pub in_front_of_crc: usize,
    pub inside: usize,
    /// A marker is due right behind the FPDU.
    pub behind: usize,
    pub wraps: usize,
    pub without_crc: usize,
    pub without_markers: usize,
    /// The CRC field alone in the last beat.
    pub crc_alone: usize,
    pub one_beat: usize,
    /// More markers than lanes.
    pub around: usize,
    pub streams: [usize; 4],
    pub dwords: Vec<usize>,
}

impl Cover {
    pub fn of(items: &[Item], dwords: usize) -> Self {
        let mut cover = Self {
            dwords: vec![0; dwords + 1],
            ..Self::default()
        };
        for item in items {
            let len = item.fpdu_len();
            let end = item.position.wrapping_add(len as u32);
            let due = |position: u32| item.markers && marker::is_due(position);
            let leading = due(item.position);
            let crc_at = end.wrapping_sub(crc::LEN as u32);
            let in_front = due(crc_at.wrapping_sub(marker::LEN as u32));
            let markers = (len - mpa::body_len(item.length()) - crc::LEN) / marker::LEN;
            cover.pads[mpa::pad_len(item.length())] += 1;
            cover.leading += usize::from(leading);
            cover.in_front_of_crc += usize::from(in_front);
            cover.inside += usize::from(markers > usize::from(leading) + usize::from(in_front));
            cover.behind += usize::from(due(end));
            cover.wraps += usize::from(end < item.position);
            cover.without_crc += usize::from(!item.crc);
            cover.without_markers += usize::from(!item.markers);
            cover.crc_alone += usize::from(len % (4 * dwords) == crc::LEN);
            cover.one_beat += usize::from(len <= 4 * dwords);
            cover.around += usize::from(markers > dwords);
            cover.streams[usize::from(item.stream) % 4] += 1;
            cover.dwords[(len / 4 - 1) % dwords + 1] += 1;
        }
        cover
    }
}

/// A ULPDU of random octets; a third of them is one octet over and over, which hides nothing behind it.
pub fn random_octets(rng: &mut Rng, length: usize) -> Vec<u8> {
    match rng.u8(0..6) {
        0 => vec![0xFF; length],
        1 => vec![rng.u8(..); length],
        _ => (0..length).map(|_| rng.u8(..)).collect(),
    }
}

//! What random scenarios have reached: functional coverage, counted from the scenario and what is expected of it.
//!
//! ```text
//!  Scenario ─┬─ octets of each stream ─► chain of FPDUs ─► where markers and cuts fall
//!            ├─ segments ─► edge and islands ─► kinds of arrival
//!  Expected ─┴─ reports, records ─► errors, checks, remarks, ends
//!                                             │
//!                                             ▼  Bins: (group, bin) ─► how often; `empty` of those that have to be reached
//! ```
//!
//! A bin that can be reached and is not says that the traffic has a hole there, whatever the number of streams.

use std::collections::{BTreeMap, BTreeSet};

use warpline_driver::{Checks, ErrorDetail};
use warpline_hdl::{Config, ISLANDS};
use warpline_wire::{crc, ddp, marker, mpa};

use super::expect::depends_on_order;
use super::stretches::Stretches;
use super::{Expected, Report, Scenario, Stream};

/// Error numbers, type and code, that the traffic has to bring about: all that the receive path can raise.
pub const ERRORS: [u16; 15] = [
    0x000, 0x100, 0x101, 0x102, 0x103, 0x104, 0x201, 0x202, 0x203, 0x204, 0x205, 0x206, 0x301,
    0x302, 0x303,
];

/// Type and code of an error number.
pub(super) fn error_name(number: u16) -> String {
    format!("{:#x}/{:#04x}", number >> 8, number & 0xFF)
}

/// Parts of an FPDU that a marker can stand in, or in front of.
const MARKERS: [&str; 6] = [
    "in front of ULPDU_Length",
    "behind ULPDU_Length",
    "in the header",
    "in the payload",
    "in front of the last dword of payload and pad",
    "in front of the CRC",
];
/// Parts of an FPDU that a segment can end in.
const CUTS: [&str; 7] = [
    "between FPDUs",
    "in a marker",
    "in ULPDU_Length",
    "in the header",
    "in the payload",
    "in the pad",
    "in the CRC",
];
/// Kinds of arrival.
const ARRIVALS: [&str; 11] = [
    "in order",
    "behind a gap",
    "closes a gap",
    "closes a gap in front of others",
    "in front of an island",
    "overlaps what is there",
    "received before, whole",
    "received before, with other octets",
    "2 islands or more",
    "more islands than there are",
    "an error behind a gap, close behind one that closed in front of many FPDUs",
];
/// Cycles that count as close: as many as the chain in order needs for some tens of FPDUs.
const CLOSE: u64 = 400;
/// FPDUs that count as many.
const MANY: usize = 4;
/// Remarks on messages.
const REMARKS: [&str; 5] = [
    "hole",
    "anomaly",
    "unverified",
    "buffer given back",
    "sequence numbers wrap",
];
/// Ends of streams.
const ENDS: [&str; 5] = [
    "closed by its peer",
    "cut by a FIN",
    "lost between FPDUs",
    "lost within an FPDU",
    "octets behind a FIN",
];
/// Checks that are evaluated side by side, so that they can fail together; a segment that leaves 2^64 leaves its region,
/// too, so that `WRAP` never fails alone.
const PAIRS: [[Checks; 2]; 8] = [
    [Checks::ASSOC, Checks::ACCESS],
    [Checks::ASSOC, Checks::TO],
    [Checks::ASSOC, Checks::END],
    [Checks::ACCESS, Checks::TO],
    [Checks::ACCESS, Checks::END],
    [Checks::TO, Checks::END],
    [Checks::WRAP, Checks::END],
    [Checks::MO, Checks::LEN],
];

/// Group of what an error is crossed with.
pub const PLACES: &str = "errors by place";

/// Bin of an error: a device's width, whether its stream has markers, and where the FPDU with the error begins.
fn place(number: &str, width: usize, markers: bool, aligned: bool) -> String {
    let markers = if markers { "on" } else { "off" };
    let lane = if aligned { "first" } else { "another" };
    format!("{number}, {width} bits, markers {markers}, begins in {lane} dword of a beat")
}

/// How often each bin was reached, by group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bins {
    counts: BTreeMap<(String, String), u64>,
}

impl Bins {
    /// What a scenario reaches.
    #[must_use]
    pub fn of(scenario: &Scenario, expected: &Expected, config: &Config) -> Self {
        let mut bins = Self::default();
        for (index, stream) in scenario.streams.iter().enumerate() {
            bins.wire(stream);
            bins.arrivals(scenario, index);
            bins.reports(stream, &expected.reports[index]);
            let Some(record) = &expected.records[index] else {
                continue;
            };
            if stream.options.markers && stream.options.crc && !depends_on_order(record.number) {
                bins.error_behind_a_gap(scenario, index, record.position as usize, config);
            }
            let number = error_name(record.number as u16);
            bins.add("errors", format!("{number}, {} bits", config.width));
            let aligned = (record.position as usize).is_multiple_of(config.octets());
            bins.add(
                PLACES,
                place(&number, config.width, stream.options.markers, aligned),
            );
            for (name, _) in record.checks.iter_names() {
                let alone = record.checks.bits().count_ones() == 1;
                bins.add(
                    "checks",
                    format!("{name}{}", if alone { " alone" } else { "" }),
                );
            }
            for pair in PAIRS {
                if pair.iter().all(|&check| record.checks.contains(check)) {
                    bins.add("checks together", name(pair));
                }
            }
            if let ErrorDetail::Connection(ending) = record.detail {
                use warpline_driver::Ending;
                let between = record.position as usize == stream.wire.len();
                bins.add(
                    "ends",
                    ENDS[match ending {
                        Ending::Truncated => 1,
                        Ending::Lost if between => 2,
                        Ending::Lost => 3,
                        Ending::BehindFin => 4,
                    }],
                );
            }
        }
        bins
    }

    fn add(&mut self, group: &str, bin: impl Into<String>) {
        *self.counts.entry((group.into(), bin.into())).or_default() += 1;
    }

    /// Adds what others have reached.
    pub fn merge(&mut self, other: &Self) {
        for (key, count) in &other.counts {
            *self.counts.entry(key.clone()).or_default() += count;
        }
    }

    /// How often a bin was reached.
    #[must_use]
    pub fn count(&self, group: &str, bin: &str) -> u64 {
        let key = (group.into(), bin.into());
        self.counts.get(&key).copied().unwrap_or(0)
    }

    /// All bins with their counts, in order: those that were reached, and those that have to be.
    #[must_use]
    pub fn all(&self, widths: &[usize]) -> Vec<(String, String, u64)> {
        let mut all = self.counts.clone();
        for (group, bin) in wanted(widths) {
            all.entry((group.into(), bin)).or_default();
        }
        let rows = all.into_iter();
        rows.map(|((group, bin), count)| (group, bin, count))
            .collect()
    }

    /// Has a bin that has to be reached at these widths and that `others` have not reached.
    #[must_use]
    pub fn adds_to(&self, others: &Self, widths: &[usize]) -> bool {
        let mut wanted = wanted(widths).into_iter();
        wanted.any(|(group, bin)| self.count(group, &bin) > 0 && others.count(group, &bin) == 0)
    }

    /// Bins that have to be reached at these widths, and are not.
    #[must_use]
    pub fn empty(&self, widths: &[usize]) -> Vec<String> {
        let wanted = wanted(widths).into_iter();
        wanted
            .filter(|(group, bin)| self.count(group, bin) == 0)
            .map(|(group, bin)| format!("{group}: {bin}"))
            .collect()
    }

    /// Markers of each FPDU of the chain, as far as it goes.
    fn wire(&mut self, stream: &Stream) {
        for fpdu in chain(stream) {
            for at in fpdu.markers() {
                let content = fpdu.content(at);
                let last = fpdu.content_len - crc::LEN;
                self.add(
                    "markers",
                    MARKERS[match content {
                        0 => 0,
                        4 => 1,
                        _ if content == last => 5,
                        _ if content + 4 == last && content > fpdu.header_end => 4,
                        _ if content < fpdu.header_end => 2,
                        _ => 3,
                    }],
                );
            }
        }
    }

    /// Segments of a stream: what each is to those before it, and where it ends.
    fn arrivals(&mut self, scenario: &Scenario, index: usize) {
        let stream = &scenario.streams[index];
        let fpdus: Vec<Fpdu> = chain(stream).collect();
        let mut have = Stretches::default();
        let mut wraps = false;
        for phase in &scenario.phases {
            for arrival in phase
                .arrivals
                .iter()
                .filter(|arrival| arrival.stream == index)
            {
                let start = arrival.sequence.wrapping_sub(stream.options.sequence_start) as usize;
                let end = start + arrival.octets.len();
                if start == end {
                    continue;
                }
                wraps |= arrival
                    .sequence
                    .checked_add(arrival.octets.len() as u32)
                    .is_none();
                let old = have.overlap(start..end);
                let same = stream.wire[start..end] == arrival.octets[..];
                let (before, islands_before) = (have.edge(), have.islands());
                let in_front = have.begins_at(end);
                have.insert(start..end);
                let (edge, islands) = (have.edge(), have.islands());
                let mut add = |kind: usize| self.add("arrivals", ARRIVALS[kind]);
                match old {
                    _ if !same => add(7),
                    _ if old == end - start => add(6),
                    _ if old > 0 => add(5),
                    _ if start > before && in_front => add(4),
                    _ if start > before => add(1),
                    _ if edge > end && islands > 0 => add(3),
                    _ if edge > end => add(2),
                    _ => add(0),
                }
                match islands {
                    0..2 => {}
                    2..=ISLANDS => add(8),
                    now if now > islands_before => add(9),
                    _ => {}
                }
                self.add("cuts modulo 512", format!("{:03}", end % 512));
                self.add("cuts", CUTS[cut(&fpdus, end)]);
            }
        }
        if wraps {
            self.add("remarks", REMARKS[4]);
        }
    }

    /// How the FPDU at `failed`, whose error does not depend on order, came.
    fn error_behind_a_gap(
        &mut self,
        scenario: &Scenario,
        index: usize,
        failed: usize,
        config: &Config,
    ) {
        let stream = &scenario.streams[index];
        let fpdus: Vec<Fpdu> = chain(stream).collect();
        let Some(failed) = fpdus.iter().find(|fpdu| fpdu.start == failed) else {
            return;
        };
        let mut have = Stretches::default();
        let mut since = CLOSE;
        for arrival in scenario.phases.iter().flat_map(|phase| &phase.arrivals) {
            if arrival.stream == index && !arrival.octets.is_empty() {
                let start = arrival.sequence.wrapping_sub(stream.options.sequence_start) as usize;
                let before = have.edge();
                have.insert(start..start + arrival.octets.len());
                if have.overlap(failed.start..failed.end) == failed.end - failed.start {
                    if start > before && since < CLOSE {
                        self.add("arrivals", ARRIVALS[10]);
                    }
                    return;
                }
                let whole = |fpdu: &&Fpdu| (before + 1..=have.edge()).contains(&fpdu.end);
                if fpdus.iter().filter(whole).count() >= MANY
                    && have.edge() > start + arrival.octets.len()
                {
                    since = 0;
                }
            }
            let beats = arrival.octets.len().div_ceil(config.octets()) as u64;
            since = since.saturating_add(beats + arrival.pause);
        }
    }

    fn reports(&mut self, stream: &Stream, reports: &[Report]) {
        let mut queues = BTreeSet::new();
        for report in reports {
            match report {
                Report::Untagged {
                    queue,
                    hole,
                    anomaly,
                    ..
                } => {
                    queues.insert(*queue);
                    for (seen, remark) in [(*hole, 0), (*anomaly, 1)] {
                        if seen {
                            self.add("remarks", REMARKS[remark]);
                        }
                    }
                }
                Report::Tagged(completion) if completion.unverified => {
                    self.add("remarks", REMARKS[2]);
                }
                Report::Flushed { .. } => self.add("remarks", REMARKS[3]),
                Report::Closed(_) => self.add("ends", ENDS[0]),
                Report::Tagged(_) | Report::Error(_) => {}
            }
        }
        for queue in queues {
            let window = if stream.options.msn_window {
                "window"
            } else {
                "strict"
            };
            self.add("messages", format!("queue {queue}, {window} MSNs"));
        }
    }
}

fn name(pair: [Checks; 2]) -> String {
    let names = pair.iter().flat_map(|checks| checks.iter_names());
    let names: Vec<_> = names.map(|(name, _)| name).collect();
    names.join(" and ")
}

/// Bins that have to be reached.
fn wanted(widths: &[usize]) -> Vec<(&'static str, String)> {
    let mut wanted = Vec::new();
    for number in ERRORS.map(error_name) {
        for width in widths {
            wanted.push(("errors", format!("{number}, {width} bits")));
        }
        for &width in widths {
            for markers in [true, false] {
                for aligned in [true, false] {
                    wanted.push((PLACES, place(&number, width, markers, aligned)));
                }
            }
        }
    }
    let lists: [(_, &[&str]); 5] = [
        ("markers", &MARKERS),
        ("cuts", &CUTS),
        ("arrivals", &ARRIVALS),
        ("remarks", &REMARKS),
        ("ends", &ENDS),
    ];
    for (group, bins) in lists {
        wanted.extend(bins.iter().map(|&bin| (group, bin.to_string())));
    }
    wanted.extend((0..512).map(|at| ("cuts modulo 512", format!("{at:03}"))));
    for (name, check) in Checks::all().iter_names() {
        let alone = if check == Checks::WRAP { "" } else { " alone" };
        wanted.push(("checks", format!("{name}{alone}")));
    }
    wanted.extend(PAIRS.map(|pair| ("checks together", name(pair))));
    for queue in 0..super::QUEUES {
        for window in ["window", "strict"] {
            wanted.push(("messages", format!("queue {queue}, {window} MSNs")));
        }
    }
    wanted
}

/// An FPDU of the chain of lengths. Offsets in its content count from ULPDU_Length on, without markers.
#[derive(Clone, Copy, Debug)]
struct Fpdu {
    start: usize,
    end: usize,
    markers: bool,
    /// Offset behind its DDP header.
    header_end: usize,
    /// Offset behind its payload.
    payload_end: usize,
    /// Its content, CRC included.
    content_len: usize,
}

impl Fpdu {
    fn markers(self) -> impl Iterator<Item = usize> {
        let spacing = marker::SPACING as usize;
        let end = if self.markers { self.end } else { 0 };
        (self.start.next_multiple_of(spacing)..end).step_by(spacing)
    }

    /// Offset in the content of what stands at `at`, or behind the marker that stands there.
    fn content(self, at: usize) -> usize {
        let before = self.markers().filter(|&marker| marker < at).count();
        at - self.start - marker::LEN * before
    }
}

/// FPDUs that lie whole in a stream, up to the first length that leads nowhere.
fn chain(stream: &Stream) -> impl Iterator<Item = Fpdu> {
    let (wire, markers) = (&stream.wire, stream.options.markers);
    let mut start = 0;
    std::iter::from_fn(move || {
        let lead = if markers && marker::is_due(start as u32) {
            marker::LEN
        } else {
            0
        };
        let length = wire.get(start + lead..start + lead + 2)?;
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let end = start + mpa::fpdu_len(start as u32, length, markers);
        if end > wire.len() {
            return None;
        }
        // A marker may stand behind ULPDU_Length and what shares its dword, not in front of the control field.
        let tagged = wire
            .get(start + lead + 2)
            .is_some_and(|control| control & 0x80 != 0);
        let header = if tagged {
            ddp::TAGGED_HEADER_LEN
        } else {
            ddp::UNTAGGED_HEADER_LEN
        };
        let fpdu = Fpdu {
            start,
            end,
            markers,
            header_end: 2 + header.min(length),
            payload_end: 2 + length,
            content_len: (2 + length).next_multiple_of(4) + crc::LEN,
        };
        start = end;
        Some(fpdu)
    })
}

/// Where a segment that ends at `end` cuts the chain.
fn cut(fpdus: &[Fpdu], end: usize) -> usize {
    let Some(fpdu) = fpdus.iter().find(|fpdu| fpdu.start < end && end < fpdu.end) else {
        return 0;
    };
    if fpdu.markers().any(|at| at < end && end < at + marker::LEN) {
        return 1;
    }
    let before = fpdu.markers().filter(|&marker| marker < end).count();
    match end - fpdu.start - marker::LEN * before {
        0..2 => 2,
        at if at < fpdu.header_end => 3,
        at if at < fpdu.payload_end => 4,
        at if at < fpdu.content_len - crc::LEN => 5,
        _ => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_of_another_width_is_another_one() {
        let mut all = Bins::default();
        for (group, bin) in wanted(&[64, 128]) {
            all.add(group, bin);
        }
        assert!(all.empty(&[64, 128]).is_empty());
        let missing =
            "errors by place: 0x2/0x02, 128 bits, markers off, begins in first dword of a beat";
        let (group, bin) = missing.split_once(": ").unwrap();
        all.counts.remove(&(group.to_owned(), bin.to_owned()));
        assert_eq!(all.empty(&[64, 128]), [missing]);
        assert!(all.empty(&[64]).is_empty());

        let of = |width, aligned| {
            let mut bins = Bins::default();
            bins.add(PLACES, place("0x2/0x02", width, false, aligned));
            bins
        };
        assert!(of(128, true).adds_to(&all, &[64, 128]));
        for (bins, widths) in [
            (of(128, false), [64, 128]),
            (of(64, true), [64, 128]),
            (of(128, true), [64, 64]),
        ] {
            assert!(!bins.adds_to(&all, &widths));
        }
    }

    #[test]
    fn stretches_are_those_of_a_map_of_octets() {
        let mut rng = fastrand::Rng::with_seed(4);
        for _ in 0..200 {
            let (mut stretches, mut octets) = (Stretches::default(), vec![false; 66]);
            for _ in 0..rng.usize(1..20) {
                let start = rng.usize(..60);
                let range = start..start + rng.usize(1..6);
                let there = octets[range.clone()].iter().filter(|&&there| there);
                assert_eq!(stretches.overlap(range.clone()), there.count());
                let begins = octets[range.end] && !octets[range.end - 1];
                assert!(octets[range.end - 1] || stretches.begins_at(range.end) == begins);
                octets[range.clone()].fill(true);
                stretches.insert(range);
                let edge = octets.iter().position(|there| !there).unwrap();
                assert_eq!(stretches.edge(), edge);
                let behind = octets[edge..].windows(2);
                let islands = behind.filter(|pair| !pair[0] && pair[1]).count();
                assert_eq!(stretches.islands(), islands);
            }
        }
    }

    #[test]
    fn markers_of_an_fpdu_stand_at_multiples_of_512() {
        let fpdu = |start, end, markers| Fpdu {
            start,
            end,
            markers,
            header_end: 16,
            payload_end: end - start,
            content_len: end - start,
        };
        let of = |start, end| fpdu(start, end, true).markers().collect::<Vec<_>>();
        assert_eq!(of(0, 512), [0]);
        assert_eq!(of(4, 1028), [512, 1024]);
        assert!(of(516, 1024).is_empty());
        assert_eq!(fpdu(0, 2000, false).markers().count(), 0);
    }
}

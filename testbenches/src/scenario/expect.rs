//! What the reference receiver makes of a scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use warpline_driver::{
    Checks, CloseEvent, ErrorDetail, ErrorEvent, ErrorNumber, ErrorRecord, TaggedCompletion,
};
use warpline_hdl::{Config, ISLANDS};
use warpline_wire::ddp::UntaggedSegment;
use warpline_wire::error_number::{self, Detail};
use warpline_wire::marker::{self, Marker};
use warpline_wire::mpa;
use warpline_wire::receive::{
    Delivery, Event, Flags, Framing, FramingConfig, MsnMode, Receiver, ReceiverConfig, Scope,
    StagEntry, StreamConfig, Target,
};
use warpline_wire::send::{CrcField, FpduWriter};

use super::image::Image;
use super::stretches::Stretches;
use super::{Late, Phase, Scenario};

/// A completion, as far as both sides know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A tagged message.
    Tagged(TaggedCompletion),
    /// An untagged message.
    Untagged {
        /// Queue number.
        queue: u32,
        /// Message sequence number.
        msn: u32,
        /// Octets.
        length: u32,
        /// The ULP's octets.
        rsvd_ulp: [u8; 5],
        /// More or fewer octets came.
        hole: bool,
        /// More segments came behind its last one.
        anomaly: bool,
        /// Its buffer, counted over the scenario.
        buffer: u64,
    },
    /// Its peer has closed the stream.
    Closed(CloseEvent),
    /// The stream's error.
    Error(ErrorEvent),
    /// A buffer that was not used.
    Flushed {
        /// Queue number.
        queue: u32,
        /// Message sequence number.
        msn: u32,
        /// The buffer, counted over the scenario.
        buffer: u64,
    },
}

/// What a stream may have done besides, or instead of, what the reference receiver says, which takes everything in order.
///
/// A stream with markers and CRC places whole FPDUs before a gap in front of them is closed. If it meets no error, nothing
/// else can be seen of that than the order in which memory is written. If it does, in the phase in which it fails:
/// - the error may be another one: of a valid FPDU behind the one that fails in order, found by a marker or behind another
///   one found so, and one that does not depend on order (AMB-11);
/// - then fewer messages are delivered, and their buffers come back; those that are delivered are the same, and none is
///   missing that was complete in order when the FPDU of that error arrived;
/// - valid FPDUs behind the error may be in memory, also that of an untagged one that fails because of those in front of
///   it, and what is in front of the error may not be there.
///
/// The same holds for a stream that ends within an FPDU whose length is wrong and reaches beyond its octets.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    /// Errors of valid FPDUs behind the first one in order.
    pub errors: Vec<ErrorRecord>,
    /// FPDUs behind it that may have been counted.
    pub fpdus: u64,
    /// Their octets.
    pub octets: u64,
    /// Messages that were complete in order when an FPDU arrived that may fail while octets in front of it are missing, by
    /// where it begins. In front of any other error all messages are delivered.
    pub due: BTreeMap<u32, usize>,
}

impl Ahead {
    /// What in `found` cannot be, if `wanted` is what is found in order.
    #[must_use]
    pub fn differs(&self, found: &[Report], wanted: &[Report]) -> Option<String> {
        if found == wanted {
            return None;
        }
        let error = |reports: &[Report]| {
            let error = reports
                .iter()
                .position(|report| matches!(report, Report::Error(_)));
            error.unwrap_or(reports.len())
        };
        let (at, last) = (error(found), error(wanted));
        if at > last || found[..at] != wanted[..at] {
            return Some(format!(
                "{:x?}\n    should begin {:x?}",
                &found[..at],
                &wanted[..last]
            ));
        }
        let Some((first, rest)) = found[at..].split_first() else {
            return Some("there is no error".into());
        };
        let same = |record: &ErrorRecord| *first == Report::Error(event_of(record));
        if wanted.get(last) != Some(first) && !self.errors.iter().any(same) {
            return Some(format!(
                "{first:x?}\n    should be {:x?} or one of {:x?}",
                wanted.get(last),
                self.errors
            ));
        }
        let due = match first {
            Report::Error(event) if !depends_on_order(event.number) => {
                self.due.get(&event.position)
            }
            _ => None,
        };
        let due = due.copied().unwrap_or(last);
        if at < due {
            return Some(format!(
                "{at} messages in front of {first:x?}\n    should be {due} at least, which were complete in order before it arrived: {:x?}",
                &wanted[at..due]
            ));
        }
        // Each buffer comes back that would have held a message later.
        let buffer = |report: &Report| match *report {
            Report::Untagged {
                queue, msn, buffer, ..
            }
            | Report::Flushed { queue, msn, buffer } => Some((queue, msn, buffer)),
            _ => None,
        };
        let mut back: Vec<_> = wanted[at..].iter().filter_map(buffer).collect();
        back.sort_unstable();
        let mut flushed: Vec<_> = rest.iter().filter_map(buffer).collect();
        flushed.sort_unstable();
        let others = rest
            .iter()
            .any(|report| !matches!(report, Report::Flushed { .. }));
        (others || back != flushed).then(|| format!("{rest:x?} behind the error"))
    }
}

/// Whether an error is found when nothing in front of its FPDU is missing, and not before (AMB-11): MPA's, and those of an
/// untagged segment but for its first octets.
pub(super) fn depends_on_order(number: ErrorNumber) -> bool {
    match number.error_type() {
        2 => number != ErrorNumber::UntaggedVersion,
        3 => true,
        _ => false,
    }
}

/// What has to be seen of a scenario.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Memory of each region.
    pub regions: Vec<Image>,
    /// Memory of each buffer, in the order of posting.
    pub buffers: Vec<Image>,
    /// Completions of each stream, in order; behind them what comes back when the stream is closed.
    pub reports: Vec<Vec<Report>>,
    /// Error record of each stream.
    pub records: Vec<Option<ErrorRecord>>,
    /// Phase in which a stream failed.
    pub failed_in: Vec<Option<usize>>,
    /// Streams that failed and whose octets did not all come in order.
    pub ahead: Vec<Option<Ahead>>,
    /// Sequence number behind the last octet of each stream.
    pub edges: Vec<u32>,
    /// Stream octets.
    pub octets: u64,
    /// Payload octets placed.
    pub payload_octets: u64,
    /// Those of streams whose octets came in order, or that did not fail.
    pub certain_octets: u64,
    /// FPDUs that MPA found valid.
    pub fpdus: u64,
    /// Those of the same streams.
    pub certain_fpdus: u64,
    /// Messages delivered.
    pub messages: u64,
}

impl Expected {
    /// Asks the reference receiver. `domains` are the numbers of the scenario's protection domains.
    #[must_use]
    pub fn new(scenario: &Scenario, domains: &[u16], config: &Config) -> Self {
        let mut receiver = Receiver::new(ReceiverConfig {
            window: config.receive_slots,
            max_fpdu: config.max_fpdu(),
            ..ReceiverConfig::default()
        });
        for stream in &scenario.streams {
            let options = &stream.options;
            let opened = receiver.open(
                stream.number.into(),
                StreamConfig {
                    protection_domain: domains[stream.domain].into(),
                    seq_start: options.sequence_start,
                    markers: options.markers,
                    crc: options.crc,
                    tagged_completions: options.tagged_completions,
                    strict_mo: options.strict_mo,
                    msn_mode: match options.msn_window {
                        true => MsnMode::Window,
                        false => MsnMode::Strict,
                    },
                    long_ulpdus: options.long_ulpdus,
                },
            );
            opened.expect("streams have different numbers");
            for queue in (0..8).filter(|queue| options.queues >> queue & 1 == 1) {
                let enabled = receiver.enable_queue(stream.number.into(), queue, options.first_msn);
                enabled.expect("each queue is enabled once");
            }
        }
        let mut expected = Self {
            regions: (0..scenario.regions.len())
                .map(|region| Image::of_region(scenario, region))
                .collect(),
            buffers: Vec::new(),
            reports: vec![Vec::new(); scenario.streams.len()],
            records: vec![None; scenario.streams.len()],
            failed_in: vec![None; scenario.streams.len()],
            ahead: vec![None; scenario.streams.len()],
            edges: Vec::new(),
            octets: 0,
            payload_octets: 0,
            certain_octets: 0,
            fpdus: 0,
            certain_fpdus: 0,
            messages: 0,
        };
        let mut posted = Posted::default();
        let mut before = vec![0; scenario.streams.len()];
        let mut disordered = vec![false; scenario.streams.len()];
        // Position behind the FPDU of each report.
        let mut ends = vec![Vec::new(); scenario.streams.len()];
        for (number, phase) in scenario.phases.iter().enumerate() {
            set_stags(&mut receiver, scenario, domains, number);
            for post in &phase.posts {
                let id = expected.buffers.len();
                let image = Image::of_buffer(scenario, id, post);
                expected.buffers.push(image);
                if expected.failed_in[post.stream].is_some() {
                    continue; // the driver refuses
                }
                let stream = u32::from(scenario.streams[post.stream].number);
                let msn = receiver.post(stream, post.queue.into(), post.length);
                let msn = msn.expect("the queue is enabled and has room");
                posted.insert((post.stream, post.queue.into(), msn), id);
            }
            for (index, stream) in scenario.streams.iter().enumerate() {
                let octets = &stream.wire[before[index]..phase.received[index]];
                // An FPDU may have been placed in an earlier phase, when the length in front of it is wrong and long.
                disordered[index] |= stream.options.markers
                    && stream.options.crc
                    && !in_order(
                        phase,
                        index,
                        stream.options.sequence_start,
                        before[index],
                        config,
                    );
                let ordered = !disordered[index];
                let buffers = (!ordered).then(|| posted.clone());
                // Dword by dword, where it matters with which one a message is complete.
                let mut reach = before[index];
                let (head, dwords) = match ordered {
                    true => (octets, &[][..]),
                    false => octets.split_at(octets.len().min(reach.next_multiple_of(4) - reach)),
                };
                for piece in [head].into_iter().chain(dwords.chunks(4)) {
                    let sink = &mut |event: Event<'_>| {
                        expected.note(scenario, index, ordered, &mut posted, event);
                    };
                    let known = receiver.receive(stream.number.into(), piece, sink);
                    known.expect("the stream is open");
                    reach += piece.len();
                    ends[index].resize(expected.reports[index].len(), reach);
                }
                if expected.records[index].is_some() && expected.failed_in[index].is_none() {
                    expected.failed_in[index] = Some(number);
                    if let Some(buffers) = buffers {
                        let past = (number, &ends[index][..]);
                        expected.loosen(
                            scenario,
                            index,
                            past,
                            domains,
                            (&receiver, config),
                            &buffers,
                        );
                    }
                }
            }
            before.clone_from(&phase.received);
            let images = expected.regions.iter_mut().chain(&mut expected.buffers);
            images.for_each(Image::end_phase);
        }
        for (index, stream) in scenario.streams.iter().enumerate() {
            let number = u32::from(stream.number);
            let ordered = !disordered[index];
            let buffers = posted.clone();
            let sink = &mut |event: Event<'_>| {
                expected.note(scenario, index, ordered, &mut posted, event);
            };
            let known = match stream.fin {
                true => receiver.finish(number, sink),
                false => Ok(()),
            };
            let known = known.and_then(|()| match &stream.late {
                Some(Late::Octets(octets)) => receiver.receive(number, octets, sink),
                Some(Late::Lost) => receiver.lose(number, sink),
                None => Ok(()),
            });
            known.expect("the stream is open");
            // It failed only now, or it waits for octets that a wrong length promised.
            let stuck =
                expected.records[index].is_none() && receiver.at_boundary(number) == Ok(false);
            let failed = expected.records[index].is_some() && expected.failed_in[index].is_none();
            if !ordered && (stuck || failed) {
                let past = (scenario.phases.len() - 1, &ends[index][..]);
                expected.loosen(
                    scenario,
                    index,
                    past,
                    domains,
                    (&receiver, config),
                    &buffers,
                );
            }
            let counters = receiver.counters(number).expect("the stream is open");
            let edge = receiver.next_sequence(number).expect("the stream is open");
            expected.edges.push(edge);
            expected.octets += u64::from(edge.wrapping_sub(stream.options.sequence_start));
            expected.payload_octets += counters.placed_octets;
            expected.fpdus += counters.fpdus;
            if expected.ahead[index].is_none() {
                expected.certain_octets += counters.placed_octets;
                expected.certain_fpdus += counters.fpdus;
            }
            expected.messages += counters.delivered;
            expected.flush(index, &mut posted);
        }
        expected
    }

    /// What the FPDUs of a stream may have done that lie behind the one that fails, as far as they were there in phase
    /// `last`. Each may have been judged in any phase since it came, by the STags of then. The reports so far were due at the
    /// positions `ends`.
    fn loosen(
        &mut self,
        scenario: &Scenario,
        index: usize,
        (last, ends): (usize, &[usize]),
        domains: &[u16],
        (receiver, device): (&Receiver, &Config),
        posted: &Posted,
    ) {
        let stream = &scenario.streams[index];
        let number = u32::from(stream.number);
        for image in self.regions.iter_mut().chain(&mut self.buffers) {
            image.undo(index as u8);
        }
        let failed = self.records[index]
            .as_ref()
            .map_or(0, |record| record.position);
        let mut ahead = Ahead::default();
        let wire = &stream.wire[..scenario.phases[last].received[index]];
        // Each FPDU alone, on the same stream, which begins with it.
        let mut alone = receiver.clone();
        alone.close(number).expect("the stream is open");
        let config = StreamConfig {
            protection_domain: domains[stream.domain].into(),
            crc: false,
            ..StreamConfig::default()
        };
        for (position, ulpdu) in behind(wire, failed as usize) {
            // Queues know more than an FPDU alone tells. The one that fails in order is among these, because its MSN may have
            // been in the window before those in front of it came.
            if let Ok(segment) = UntaggedSegment::new_checked(&ulpdu[..])
                && !segment.control().tagged()
                && let Some(&buffer) = posted.get(&(index, segment.qn(), segment.msn()))
            {
                self.buffers[buffer].loosen(segment.mo() as usize, segment.payload());
            }
            let end = position + mpa::fpdu_len(position as u32, ulpdu.len(), true);
            let edge = edge_before(scenario, index, last, position..end, device);
            let due = ends.iter().filter(|&&end| end <= edge).count();
            ahead.due.insert(position as u32, due);
            if position == failed as usize {
                continue;
            }
            ahead.fpdus += 1;
            ahead.octets += ulpdu.len() as u64;
            let mut fpdu = Vec::new();
            FpduWriter::new(false, CrcField::Zero)
                .append(&ulpdu, &[], &mut fpdu)
                .expect("it was an FPDU before");
            let came = scenario
                .phases
                .iter()
                .position(|phase| phase.received[index] >= end)
                .unwrap_or(last);
            for phase in came..=last {
                set_stags(&mut alone, scenario, domains, phase);
                alone.open(number, config).expect("it is closed");
                let regions = &mut self.regions;
                let sink = &mut |event: Event<'_>| match event {
                    Event::Place {
                        target: Target::Tagged { stag, to },
                        octets,
                        ..
                    } => {
                        let (region, offset) = place_of(scenario, stag, to);
                        regions[region].loosen(offset, octets);
                    }
                    Event::Failed(record) => {
                        let mut record = as_the_device(stream.number, &record);
                        record.position = position as u32;
                        ahead.errors.push(record);
                    }
                    _ => {}
                };
                alone
                    .receive(number, &fpdu, sink)
                    .expect("the stream is open");
                alone.close(number).expect("the stream is open");
            }
        }
        ahead
            .errors
            .retain(|record| !depends_on_order(record.number));
        self.ahead[index] = Some(ahead);
    }

    fn note(
        &mut self,
        scenario: &Scenario,
        index: usize,
        ordered: bool,
        posted: &mut Posted,
        event: Event<'_>,
    ) {
        let number = scenario.streams[index].number;
        match event {
            Event::Place { target, octets, .. } => {
                let (image, offset) = match target {
                    Target::Tagged { stag, to } => {
                        let (region, offset) = place_of(scenario, stag, to);
                        (&mut self.regions[region], offset)
                    }
                    Target::Untagged { queue, msn, offset } => {
                        let buffer = posted[&(index, queue, msn)];
                        (&mut self.buffers[buffer], offset as usize)
                    }
                };
                image.write(index as u8, ordered, offset, octets);
            }
            Event::Delivered {
                delivery, flags, ..
            } => self.reports[index].push(match delivery {
                Delivery::Tagged {
                    stag,
                    to,
                    length,
                    rsvd_ulp,
                } => Report::Tagged(TaggedCompletion {
                    stream: number,
                    stag,
                    offset: to,
                    length,
                    rsvd_ulp,
                    unverified: flags.contains(Flags::UNVERIFIED),
                }),
                Delivery::Untagged {
                    queue,
                    msn,
                    length,
                    rsvd_ulp,
                } => Report::Untagged {
                    queue,
                    msn,
                    length,
                    rsvd_ulp,
                    hole: flags.contains(Flags::HOLE),
                    anomaly: flags.contains(Flags::ANOMALY),
                    buffer: posted
                        .remove(&(index, queue, msn))
                        .expect("a message has a buffer") as u64,
                },
            }),
            Event::Closed { position, .. } => {
                self.reports[index].push(Report::Closed(CloseEvent {
                    stream: number,
                    position,
                }));
            }
            Event::Failed(record) => {
                let record = as_the_device(number, &record);
                self.reports[index].push(Report::Error(event_of(&record)));
                self.records[index] = Some(record);
                self.flush(index, posted);
            }
        }
    }

    /// All buffers of a stream come back, queue by queue in the order of posting.
    fn flush(&mut self, index: usize, posted: &mut Posted) {
        let mut left = Vec::new();
        posted.retain(|&(stream, queue, msn), &mut buffer| {
            if stream == index {
                left.push((queue, buffer, msn));
            }
            stream != index
        });
        left.sort_unstable();
        let flushed = left
            .into_iter()
            .map(|(queue, buffer, msn)| Report::Flushed {
                queue,
                msn,
                buffer: buffer as u64,
            });
        self.reports[index].extend(flushed);
    }
}

/// Whether the octets of a stream that arrive in a phase come in order, and none waits for room in the ring.
fn in_order(phase: &Phase, index: usize, start: u32, before: usize, config: &Config) -> bool {
    let mut edge = before as u32;
    let mut arrivals = phase
        .arrivals
        .iter()
        .filter(|arrival| arrival.stream == index);
    let follows = arrivals.all(|arrival| {
        let position = arrival.sequence.wrapping_sub(start);
        let end = position.wrapping_add(arrival.octets.len() as u32);
        let follows = position <= edge;
        edge = edge.max(end);
        follows
    });
    follows && phase.received[index] <= config.ring_octets
}

/// Up to where the octets of a stream had been accepted without a gap when the last octet of the FPDU at `fpdu` arrived, at
/// least. What the device may drop, and has sent again, ends the account.
fn edge_before(
    scenario: &Scenario,
    index: usize,
    last: usize,
    fpdu: Range<usize>,
    config: &Config,
) -> usize {
    let start = scenario.streams[index].options.sequence_start;
    let phases = scenario.phases[..=last].iter();
    let mut have = Stretches::default();
    for arrival in phases.flat_map(|phase| &phase.arrivals) {
        if arrival.stream != index || arrival.octets.is_empty() {
            continue;
        }
        let begin = arrival.sequence.wrapping_sub(start) as usize;
        let end = begin + arrival.octets.len();
        let edge = have.edge();
        let crosses = end > edge && have.overlap(begin.max(edge)..end) > 0;
        have.insert(begin..end);
        if have.overlap(fpdu.clone()) == fpdu.len()
            || crosses
            || have.islands() > ISLANDS
            || end > config.ring_octets
        {
            return edge;
        }
    }
    have.edge()
}

/// Valid FPDUs from the one at `failed` on that a marker points to or that follow such a one: where they begin, and their
/// ULPDUs.
fn behind(wire: &[u8], failed: usize) -> BTreeMap<usize, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for at in (0..wire.len()).step_by(marker::SPACING as usize) {
        let Some(here) = Marker::new_checked(&wire[at..]) else {
            continue;
        };
        let header = marker::header_position(at as u32, here.fpduptr());
        if header as usize > at + marker::LEN {
            continue; // it points in front of the stream
        }
        // A marker in front of ULPDU_Length belongs to the FPDU.
        let before = header.wrapping_sub(marker::LEN as u32);
        let mut position = if marker::is_due(before) {
            before
        } else {
            header
        } as usize;
        // One in front of the failed one leads to those behind it that have no marker.
        while seen.insert(position) {
            let config = FramingConfig {
                markers: true,
                ..FramingConfig::default()
            };
            let mut framing = Framing::at(position as u32, config);
            let Ok(Some(ulpdu)) = framing.push(&mut &wire[position..]) else {
                break;
            };
            if position >= failed {
                found.insert(position, ulpdu.octets.to_vec());
            }
            position += ulpdu.fpdu_len;
        }
    }
    found
}

/// The region of an accepted STag, and where `to` lies in it.
fn place_of(scenario: &Scenario, stag: u32, to: u64) -> (usize, usize) {
    let mut regions = scenario.regions.iter();
    let region = regions.position(|region| region.stag == stag);
    let region = region.expect("accepted STags are in the table");
    let offset = to.wrapping_sub(scenario.regions[region].base);
    (region, offset as usize)
}

/// The STags as they are in a phase.
fn set_stags(receiver: &mut Receiver, scenario: &Scenario, domains: &[u16], phase: usize) {
    for region in &scenario.regions {
        let scope = match region.stream {
            Some(stream) => Scope::Stream {
                stream: stream.into(),
                protection_domain: domains[region.domain].into(),
            },
            None => Scope::ProtectionDomain(domains[region.domain].into()),
        };
        receiver.set_stag(
            region.stag,
            StagEntry {
                valid: region.revoked.is_none_or(|revoked| phase < revoked),
                scope,
                remote_write: region.remote_write,
                base: region.base,
                length: region.length as u64,
            },
        );
    }
}

/// Buffers by stream, queue and MSN.
type Posted = BTreeMap<(usize, u32, u32), usize>;

/// The record of the reference receiver with what the device keeps of it.
fn as_the_device(stream: u8, record: &error_number::ErrorRecord) -> ErrorRecord {
    let detail = match record.detail {
        Detail::Ddp => ErrorDetail::None,
        Detail::Crc { expected, received } => ErrorDetail::Crc { expected, received },
        Detail::Marker {
            expected, received, ..
        } => ErrorDetail::Marker {
            expected,
            received: received & marker::FPDUPTR_MASK,
        },
        Detail::Connection(ending) => ErrorDetail::Connection(ending),
        Detail::Length { .. } => ErrorDetail::Length,
        Detail::TooLarge { .. } => ErrorDetail::TooLarge,
    };
    let number: ErrorNumber = record.number;
    let checks: Checks = record.checks;
    ErrorRecord {
        stream,
        number,
        checks,
        segment_length: record.ulpdu_len,
        position: record.position,
        header: record.header,
        detail,
    }
}

/// What the completion of an error says of it.
fn event_of(record: &ErrorRecord) -> ErrorEvent {
    ErrorEvent {
        stream: record.stream,
        number: record.number,
        checks: record.checks,
        segment_length: record.segment_length.into(),
        position: record.position,
    }
}

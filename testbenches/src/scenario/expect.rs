//! What the reference receiver makes of a scenario.

use std::collections::BTreeMap;

use fastrand::Rng;
use warpline_driver::{
    Checks, CloseEvent, ErrorDetail, ErrorEvent, ErrorNumber, ErrorRecord, TaggedCompletion,
};
use warpline_hdl::Config;
use warpline_wire::error::{self, Detail};
use warpline_wire::marker;
use warpline_wire::receive::{
    Delivery, Event, Flags, MsnMode, Receiver, ReceiverConfig, Scope, StagEntry, StreamConfig,
    Target,
};

use super::{Late, Post, Scenario};

/// Octets of a page: memory is mapped in whole ones.
const PAGE: usize = 4096;
/// Receive buffers of one memory lie at multiples of so many octets.
const BUFFER_ALIGNMENT: usize = 64;

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

/// Memory that a scenario uses, as the card sees it: whole pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its octets.
    pub octets: Vec<u8>,
    /// Where the region or buffer begins.
    pub start: usize,
    /// Stream that wrote an octet in this phase, an index; [`NOBODY`] if none has.
    writers: Vec<u8>,
    /// Octets that several streams wrote in one phase, with what each of them wrote last: any of that may stand there,
    /// because streams have no order among each other (DDP-ORD-07).
    contested: BTreeMap<usize, BTreeMap<u8, u8>>,
}

/// No stream.
const NOBODY: u8 = u8::MAX;

impl Image {
    /// The memory of a region before anything happens: random octets around it, too.
    #[must_use]
    pub fn of_region(scenario: &Scenario, index: usize) -> Self {
        let region = &scenario.regions[index];
        let length = region.offset + region.length + region.behind;
        Self::new(length, region.offset, scenario.seed ^ (index as u64) << 56)
    }

    /// The memory of the scenario's receive buffer `index` before anything happens.
    #[must_use]
    pub fn of_buffer(scenario: &Scenario, index: usize, post: &Post) -> Self {
        let stride = (post.length as usize)
            .max(1)
            .next_multiple_of(BUFFER_ALIGNMENT);
        let (length, start) = (stride * (post.in_front + 1), stride * post.in_front);
        Self::new(length, start, scenario.seed ^ (index as u64 + 128) << 56)
    }

    fn new(length: usize, start: usize, seed: u64) -> Self {
        let mut octets = vec![0; length.next_multiple_of(PAGE)];
        Rng::with_seed(seed).fill(&mut octets);
        Self {
            writers: vec![NOBODY; octets.len()],
            contested: BTreeMap::new(),
            octets,
            start,
        }
    }

    /// A stream writes `octets` from `offset` of the region or buffer on.
    fn write(&mut self, stream: u8, offset: usize, octets: &[u8]) {
        for (at, &octet) in (self.start + offset..).zip(octets) {
            match self.writers[at] {
                NOBODY => drop(self.contested.remove(&at)),
                other if other != stream => {
                    let contest = self.contested.entry(at).or_default();
                    contest.entry(other).or_insert(self.octets[at]);
                }
                _ => {}
            }
            if let Some(contest) = self.contested.get_mut(&at) {
                contest.insert(stream, octet);
            }
            self.writers[at] = stream;
            self.octets[at] = octet;
        }
    }

    /// Everything has been written.
    fn end_phase(&mut self) {
        self.writers.fill(NOBODY);
    }

    /// Whether octet `at` may be `found`.
    #[must_use]
    pub fn allows(&self, at: usize, found: u8) -> bool {
        let contest = self.contested.get(&at);
        found == self.octets[at]
            || contest.is_some_and(|contest| contest.values().any(|&octet| octet == found))
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
    /// Sequence number behind the last octet of each stream.
    pub edges: Vec<u32>,
    /// Stream octets.
    pub octets: u64,
    /// Payload octets placed.
    pub payload_octets: u64,
    /// FPDUs that MPA found valid.
    pub fpdus: u64,
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
                },
            );
            opened.expect("streams have different numbers");
            for queue in (0..8).filter(|queue| options.queues >> queue & 1 == 1) {
                let enabled = receiver.enable_queue(stream.number.into(), queue, options.first_msn);
                enabled.expect("each queue is enabled once");
            }
        }
        for region in &scenario.regions {
            let scope = match region.stream {
                Some(stream) => Scope::Stream(stream.into()),
                None => Scope::ProtectionDomain(domains[region.domain].into()),
            };
            receiver.set_stag(
                region.stag,
                StagEntry {
                    valid: true,
                    scope,
                    remote_write: region.remote_write,
                    base: region.base,
                    length: region.length as u64,
                },
            );
        }
        let mut expected = Self {
            regions: (0..scenario.regions.len())
                .map(|region| Image::of_region(scenario, region))
                .collect(),
            buffers: Vec::new(),
            reports: vec![Vec::new(); scenario.streams.len()],
            records: vec![None; scenario.streams.len()],
            failed_in: vec![None; scenario.streams.len()],
            edges: Vec::new(),
            octets: 0,
            payload_octets: 0,
            fpdus: 0,
            messages: 0,
        };
        let mut posted = Posted::default();
        let mut before = vec![0; scenario.streams.len()];
        for (number, phase) in scenario.phases.iter().enumerate() {
            for region in &scenario.regions {
                if region.revoked == Some(number) {
                    receiver.revoke_stag(region.stag);
                }
            }
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
                let sink = &mut |event: Event<'_>| {
                    expected.note(scenario, index, &mut posted, event);
                };
                let known = receiver.receive(stream.number.into(), octets, sink);
                known.expect("the stream is open");
                if expected.records[index].is_some() {
                    expected.failed_in[index].get_or_insert(number);
                }
            }
            before.clone_from(&phase.received);
            let images = expected.regions.iter_mut().chain(&mut expected.buffers);
            images.for_each(Image::end_phase);
        }
        for (index, stream) in scenario.streams.iter().enumerate() {
            let number = u32::from(stream.number);
            let sink = &mut |event: Event<'_>| {
                expected.note(scenario, index, &mut posted, event);
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
            let counters = receiver.counters(number).expect("the stream is open");
            let edge = receiver.next_sequence(number).expect("the stream is open");
            expected.edges.push(edge);
            expected.octets += u64::from(edge.wrapping_sub(stream.options.sequence_start));
            expected.payload_octets += counters.placed_octets;
            expected.fpdus += counters.fpdus;
            expected.messages += counters.delivered;
            expected.flush(index, &mut posted);
        }
        expected
    }

    fn note(&mut self, scenario: &Scenario, index: usize, posted: &mut Posted, event: Event<'_>) {
        let number = scenario.streams[index].number;
        match event {
            Event::Place { target, octets, .. } => {
                let (image, offset) = match target {
                    Target::Tagged { stag, to } => {
                        let region = scenario
                            .regions
                            .iter()
                            .position(|region| region.stag == stag);
                        let region = region.expect("accepted STags are in the table");
                        let offset = to.wrapping_sub(scenario.regions[region].base);
                        (&mut self.regions[region], offset as usize)
                    }
                    Target::Untagged { queue, msn, offset } => {
                        let buffer = posted[&(index, queue, msn)];
                        (&mut self.buffers[buffer], offset as usize)
                    }
                };
                image.write(index as u8, offset, octets);
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
                self.reports[index].push(Report::Error(ErrorEvent {
                    stream: number,
                    number: record.number,
                    checks: record.checks,
                    segment_length: record.segment_len.into(),
                    position: record.position,
                }));
                self.records[index] = Some(as_the_device(number, &record));
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

/// Buffers by stream, queue and MSN.
type Posted = BTreeMap<(usize, u32, u32), usize>;

/// The record of the reference receiver with what the device keeps of it.
fn as_the_device(stream: u8, record: &error::ErrorRecord) -> ErrorRecord {
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
        segment_length: record.segment_len,
        position: record.position,
        header: record.header,
        detail,
    }
}

//! What the device should do: `wire::sctp`'s receiver, order machine and DDP checks, and where the device decides later than it.
//!
//! An untagged segment behind a gap whose error depends on the segments in front of it is judged by the device when it is its turn
//! (AMB-11), by the reference on arrival. So it is kept here, and given to the reference when it is next. Nothing else differs.

use std::collections::BTreeMap;

use warpline_hdl::Sctp;
use warpline_hdl::records::chunk_status;
use warpline_regmap::layout::refused;
use warpline_wire::error_number::{Checks, ErrorNumber};
use warpline_wire::receive::{Delivery, Flags, Scope, StagEntry, Target};
use warpline_wire::sctp::receive::{Event, Failure, Receiver, SessionConfig, Sink};
use warpline_wire::sctp::{FULL_WINDOW_WORDS, Order, SSN_LEN, Segment, Ssn};

use crate::support::{Chunk, DOMAIN, Device, Entry, Record, STREAMS, Status};

/// Errors that depend on the segments in front: those of untagged segments, but for their version and their length.
const OF_ORDER: Checks = Checks::QN
    .union(Checks::NOBUF)
    .union(Checks::MSN)
    .union(Checks::MO)
    .union(Checks::LEN);

struct Session {
    /// Of the device, which does not stop at an error of DDP.
    order: Order<FULL_WINDOW_WORDS>,
    /// The stream takes no more chunks.
    ended: bool,
    /// Numbers in 32 bits: that of the next chunk.
    number: u32,
    /// Segments that are judged when it is their turn.
    kept: BTreeMap<u16, (u32, Vec<u8>)>,
    /// Number of the chunk behind which none follows.
    end: Option<u32>,
    /// All in front of it has come.
    over: bool,
}

/// What the reference does.
enum Act {
    Place(Target, Vec<u8>),
    Delivered(Entry),
    Failed(Failure),
}

#[derive(Default)]
struct Log(Vec<Act>);

impl Sink for Log {
    fn event(&mut self, event: Event<'_>) {
        self.0.push(match event {
            Event::Place { target, octets, .. } => Act::Place(target, octets.to_vec()),
            Event::Delivered {
                delivery, flags, ..
            } => Act::Delivered(delivered(delivery, flags)),
            Event::Failed(failure) => Act::Failed(failure),
        });
    }
}

/// What a device has told, and was found right.
pub struct Compared {
    /// Completion entries by streams, and reports about chunks, since the last time.
    pub entries: Vec<(u8, Entry)>,
    pub statuses: Vec<Status>,
}

/// What is due.
#[derive(Default)]
pub struct Reference {
    receiver: Receiver,
    sessions: BTreeMap<u8, Session>,
    /// Bus address of each region, by its STag.
    regions: BTreeMap<u32, u64>,
    /// Bus address of each buffer, by stream, queue and MSN.
    buffers: BTreeMap<(u8, u32, u32), u64>,
    pub memory: BTreeMap<u64, u8>,
    pub entries: BTreeMap<u8, Vec<Entry>>,
    pub records: BTreeMap<u8, Record>,
    pub statuses: Vec<Status>,
    /// Segments that were kept.
    pub kept: usize,
}

impl Reference {
    pub fn arm(&mut self, stream: u8, first: u16, queues: u8) {
        let config = SessionConfig {
            protection_domain: DOMAIN.into(),
            ..SessionConfig::default()
        };
        self.receiver.open(stream.into(), config).unwrap();
        for queue in (0..8).filter(|queue| queues >> queue & 1 == 1) {
            self.receiver.enable_queue(stream.into(), queue, 1).unwrap();
        }
        let mut session = Session {
            order: Order::default(),
            ended: false,
            number: first.into(),
            kept: BTreeMap::new(),
            end: None,
            over: false,
        };
        for ssn in 0..first {
            self.receiver
                .control(stream.into(), Ssn(ssn), &mut Log::default())
                .unwrap();
            session.order.take(Ssn(ssn)).unwrap();
        }
        self.sessions.insert(stream, session);
    }

    pub fn close(&mut self, stream: u8) {
        self.receiver.close(stream.into()).unwrap();
        self.sessions.remove(&stream);
        self.records.remove(&stream);
        self.buffers.retain(|(of, ..), _| *of != stream);
    }

    pub fn write_stag(&mut self, stag: u32, address: u64, length: u64) {
        let entry = StagEntry {
            valid: true,
            scope: Scope::ProtectionDomain(DOMAIN.into()),
            remote_write: true,
            base: 0,
            length,
        };
        self.receiver.set_stag(stag, entry);
        self.regions.insert(stag, address);
    }

    pub fn post(&mut self, stream: u8, queue: u8, address: u64, length: u32) {
        let msn = self.receiver.post(stream.into(), queue.into(), length);
        self.buffers
            .insert((stream, queue.into(), msn.unwrap()), address);
    }

    /// A chunk arrives.
    pub fn chunk(&mut self, chunk: &Chunk) {
        let Chunk {
            stream,
            control,
            terminate,
            octets,
        } = chunk;
        let ssn = octets.get(..SSN_LEN);
        let ssn = ssn.map(|ssn| Ssn(u16::from_be_bytes([ssn[0], ssn[1]])));
        let mut status = Status {
            stream: *stream,
            ssn: ssn.map_or(0, |ssn| ssn.0),
            status: chunk_status::NO_STREAM,
        };
        if let Some(session) = self.sessions.get_mut(stream)
            && !session.ended
        {
            let judged = ssn.map(|ssn| session.order.judge(ssn));
            status.status = match judged {
                Some(Ok(true)) => chunk_status::TAKEN,
                Some(Ok(false)) => chunk_status::OLD,
                Some(Err(_)) | None => chunk_status::INVALID,
            };
        }
        self.statuses.push(status);
        if status.status == chunk_status::INVALID {
            self.invalid(*stream, status.ssn, ssn.is_none());
        }
        if status.status != chunk_status::TAKEN {
            return;
        }
        let (stream, ssn) = (*stream, Ssn(status.ssn));
        let session = self.sessions.get_mut(&stream).unwrap();
        let number = session.number + u32::from(ssn.ahead_of(session.order.next()));
        if *control {
            let mut log = Log::default();
            self.receiver.control(stream.into(), ssn, &mut log).unwrap();
            self.account(stream, number, log);
            if *terminate {
                self.sessions.get_mut(&stream).unwrap().end = Some(number);
            }
        } else if self.is_kept(stream, ssn, octets) {
            self.kept += 1;
            let session = self.sessions.get_mut(&stream).unwrap();
            session.kept.insert(ssn.0, (number, octets.clone()));
        } else {
            self.segment(stream, number, octets);
        }
        let session = self.sessions.get_mut(&stream).unwrap();
        let before = session.order.next();
        session.order.take(ssn).unwrap();
        session.number += u32::from(session.order.next().ahead_of(before));
        loop {
            let next = self.receiver.next(stream.into()).unwrap();
            let session = self.sessions.get_mut(&stream).unwrap();
            match session.kept.remove(&next.0) {
                Some((number, octets)) => self.segment(stream, number, &octets),
                None => break,
            }
        }
        self.close_if_over(stream);
    }

    /// Behind a Terminate, all chunks in front of it are delivered: the host is told, unless the stream has failed.
    fn close_if_over(&mut self, stream: u8) {
        let session = self.sessions.get_mut(&stream).unwrap();
        let Some(end) = session.end.filter(|end| *end < session.number) else {
            return;
        };
        if !std::mem::replace(&mut session.over, true)
            && !self.receiver.is_frozen(stream.into()).unwrap()
        {
            let position = end << slot_bits();
            let entries = self.entries.entry(stream).or_default();
            entries.push(Entry::Closed { position });
        }
    }

    /// An invalid DDP-SSN, or none, freezes the stream.
    fn invalid(&mut self, stream: u8, ssn: u16, missing: bool) {
        let session = self.sessions.get_mut(&stream).unwrap();
        session.ended = true;
        if session.over || self.receiver.is_frozen(stream.into()).unwrap() {
            return;
        }
        // RFC 5043 §10, AMB-34: the session is to be ended, as if its connection were lost
        let number = ErrorNumber::MpaConnection as u16;
        let ahead = Ssn(ssn).ahead_of(session.order.next());
        let position = (session.number + u32::from(ahead)) << slot_bits();
        if !missing {
            let segment = Segment {
                ssn: Ssn(ssn),
                octets: &[],
            };
            let mut log = Log::default();
            self.receiver
                .segment(stream.into(), segment, &mut log)
                .unwrap();
            assert!(matches!(log.0[..], [Act::Failed(Failure::Ssn { .. })]));
        }
        self.fail(
            stream,
            Record {
                number,
                refused: refused::SSN,
                checks: 0,
                length: 0,
                position,
                header: vec![],
            },
        );
    }

    fn fail(&mut self, stream: u8, record: Record) {
        self.entries.entry(stream).or_default().push(Entry::Error {
            number: record.number,
            checks: record.checks,
            position: record.position,
            length: record.length.into(),
        });
        self.records.insert(stream, record);
    }

    /// Memory, entries, records and reports of the device are what is due. Gives the entries and the reports since the last time.
    pub fn compare(&mut self, device: &mut Device) -> Result<Compared, String> {
        let entries = device.entries();
        for stream in 0..STREAMS {
            let of = entries.iter().filter(|(of, _)| *of == stream);
            let of: Vec<_> = of.map(|(_, entry)| entry.clone()).collect();
            let due = self.entries.remove(&stream).unwrap_or_default();
            if of != due {
                let at = of.iter().zip(&due).position(|(a, b)| a != b);
                return Err(format!(
                    "stream {stream}: {} entries of {}, the first that differs: {at:?}, {:?}, due {:?}",
                    of.len(),
                    due.len(),
                    at.map(|at| &of[at]),
                    at.map(|at| &due[at]),
                ));
            }
            let due = self.records.get(&stream);
            let record = device.record(stream).map(|mut record| {
                let header = due.map_or(0, |due| due.header.len());
                record.header.truncate(header);
                record
            });
            if record.as_ref() != due {
                return Err(format!(
                    "record of stream {stream}: {record:x?}, due {due:x?}"
                ));
            }
        }
        let mut statuses = device.statuses.iter().zip(&self.statuses);
        if let Some((found, due)) = statuses.find(|(found, due)| found != due) {
            return Err(format!("report {found:?}, due {due:?}"));
        }
        if device.statuses.len() != self.statuses.len() {
            return Err("another number of reports".into());
        }
        self.statuses.clear();
        let mut found = device.payload();
        for (at, octet) in &self.memory {
            match found.next() {
                Some((found_at, found)) if (found_at, found) == (*at, *octet) => {}
                other => return Err(format!("memory {other:x?}, due {:x?}", (at, octet))),
            }
        }
        if let Some(more) = found.next() {
            return Err(format!("memory {more:x?}, nothing due"));
        }
        drop(found);
        let statuses = std::mem::take(&mut device.statuses);
        Ok(Compared { entries, statuses })
    }

    /// Whether the device judges the segment later than the reference does.
    fn is_kept(&self, stream: u8, ssn: Ssn, octets: &[u8]) -> bool {
        // In order, both judge at once.
        if ssn == self.sessions[&stream].order.next() {
            return false;
        }
        let segment = Segment {
            ssn,
            octets: &octets[SSN_LEN..],
        };
        let mut log = Log::default();
        let mut trial = self.receiver.clone();
        trial.segment(stream.into(), segment, &mut log).unwrap();
        let of_order = |act: &Act| match act {
            Act::Failed(Failure::Ddp(record)) => {
                !record.checks.is_empty() && OF_ORDER.contains(record.checks)
            }
            _ => false,
        };
        log.0.iter().any(of_order)
    }

    fn segment(&mut self, stream: u8, number: u32, octets: &[u8]) {
        let segment = Segment {
            ssn: Ssn(number as u16),
            octets: &octets[SSN_LEN..],
        };
        let mut log = Log::default();
        self.receiver
            .segment(stream.into(), segment, &mut log)
            .unwrap();
        self.account(stream, number, log);
    }

    /// Puts what has happened where it belongs.
    fn account(&mut self, stream: u8, number: u32, log: Log) {
        for act in log.0 {
            match act {
                Act::Place(target, octets) => {
                    let at = match target {
                        Target::Tagged { stag, to } => self.regions[&stag] + to,
                        Target::Untagged { queue, msn, offset } => {
                            self.buffers[&(stream, queue, msn)] + u64::from(offset)
                        }
                    };
                    self.memory.extend((at..).zip(octets));
                }
                Act::Delivered(entry) => self.entries.entry(stream).or_default().push(entry),
                Act::Failed(Failure::Ddp(record)) => {
                    let mut header = (number as u16).to_be_bytes().to_vec();
                    header.extend(record.header.as_slice());
                    self.fail(
                        stream,
                        Record {
                            number: record.number as u16,
                            refused: refused::NO,
                            checks: record.checks.bits(),
                            length: record.ulpdu_len,
                            position: number << slot_bits(),
                            header,
                        },
                    );
                }
                Act::Failed(Failure::Ssn { .. }) => panic!("judged before"),
            }
        }
    }
}

fn slot_bits() -> u32 {
    Sctp::default().slot_octets.ilog2()
}

/// The entry of a message.
pub fn delivered(delivery: Delivery, flags: Flags) -> Entry {
    match delivery {
        Delivery::Tagged {
            stag,
            to,
            length,
            rsvd_ulp,
        } => Entry::Tagged {
            stag,
            offset: to,
            length,
            rsvd_ulp,
            unverified: flags.contains(Flags::UNVERIFIED),
        },
        Delivery::Untagged {
            queue,
            msn,
            length,
            rsvd_ulp,
        } => Entry::Untagged {
            queue,
            msn,
            length,
            rsvd_ulp,
            hole: flags.contains(Flags::HOLE),
            anomaly: flags.contains(Flags::ANOMALY),
        },
    }
}

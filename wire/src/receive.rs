//! The reference receiver: stream octets in, placements, deliveries and errors out.
//!
//! ```text
//!  tcp_segment(stream, seq, octets) ─ trim ─► receive(stream, octets)
//!                                                  │
//!                                          Framing │ FPDU valid?          (MPA)
//!                                       DdpChecker │ may it be placed?    (DDP)
//!                                                  ▼
//!                                  Place ─► Delivered …  or  Failed, once, and the stream is frozen
//!  finish(stream) ─► Closed, or Failed if the FIN cuts an FPDU           lose(stream) ─► Failed
//! ```
//!
//! Octets arrive in order, in pieces of any length; the events do not depend on the lengths. Nothing
//! of a failing DDP segment is placed. [`Framing`] and [`DdpChecker`] also work alone, so that tests
//! can compare single blocks of the RTL with them.

mod check;
mod error;
mod event;
mod framing;
mod queue;

pub use check::{Accepted, DdpChecker, MsnMode, Rejected, Scope, StagEntry, StreamContext};
pub use error::ReceiverError;
pub use event::{Delivery, Event, Flags, Sink, Target};
pub use framing::{Framing, FramingConfig, FramingError, Ulpdu};
pub use queue::{MAX_POSTED, Queue};

use crate::ddp::Header;
use crate::error_number::{Checks, Detail, Ending, ErrorRecord, HeaderOctets};
use crate::{marker, mpa};
use alloc::collections::{BTreeMap, btree_map::Entry};

/// What all streams share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Buffers of a queue that DDP segments can target at a time, counted from the first undelivered
    /// message. Later buffers count as not yet posted (AMB-04).
    pub window: usize,
    /// Largest ULPDU_Length accepted, unless the stream accepts longer ones (AMB-21).
    pub max_ulpdu: u16,
    /// Largest FPDU accepted, in octets on the wire with markers (AMB-22).
    pub max_fpdu: usize,
}

impl Default for ReceiverConfig {
    /// The limits of the standard.
    fn default() -> Self {
        Self {
            window: MAX_POSTED,
            max_ulpdu: mpa::MAX_ULPDU,
            max_fpdu: mpa::DEFAULT_MAX_FPDU,
        }
    }
}

/// What is fixed when a stream enters full operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamConfig {
    /// Protection domain.
    pub protection_domain: u32,
    /// TCP sequence number of stream position 0.
    pub seq_start: u32,
    /// The stream carries markers.
    pub markers: bool,
    /// The CRC field is checked.
    pub crc: bool,
    /// Tagged messages are reported (AMB-44).
    pub tagged_completions: bool,
    /// Which untagged MSNs are accepted.
    pub msn_mode: MsnMode,
    /// Untagged segments must arrive in the order of their MOs, without gaps (AMB-07).
    pub strict_mo: bool,
    /// Without markers, any ULPDU_Length is accepted whose FPDU is within the limit (AMB-21).
    pub long_ulpdus: bool,
}

impl Default for StreamConfig {
    /// Protection domain 0, SeqStart 0, no markers, CRC on, tagged messages reported, strict MSNs,
    /// MOs in any order, the device's largest ULPDU.
    fn default() -> Self {
        Self {
            protection_domain: 0,
            seq_start: 0,
            markers: false,
            crc: true,
            tagged_completions: true,
            msn_mode: MsnMode::Strict,
            strict_mo: false,
            long_ulpdus: false,
        }
    }
}

/// Counters of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Valid FPDUs, including those that DDP rejects; the first one opens the Responder's sending
    /// direction (MPA-START-10, AMB-56).
    pub fpdus: u64,
    /// Payload octets placed.
    pub placed_octets: u64,
    /// Messages delivered, including tagged ones that are not reported.
    pub delivered: u64,
    /// TCP segments dropped because octets before them are missing.
    pub dropped_tcp_segments: u64,
    /// Octets dropped because they were received before (AMB-40).
    pub duplicate_octets: u64,
    /// Octets dropped after the error.
    pub frozen_octets: u64,
}

#[derive(Clone, Debug)]
struct Stream {
    framing: Framing,
    state: StreamState,
}

#[derive(Clone, Debug)]
struct StreamState {
    config: StreamConfig,
    context: StreamContext,
    frozen: bool,
    /// The peer's FIN followed the octets received.
    finished: bool,
    /// Octets received in order, modulo 2^32.
    received: u32,
    counters: Counters,
}

/// The reference receiver.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    config: ReceiverConfig,
    checker: DdpChecker,
    streams: BTreeMap<u32, Stream>,
}

impl Receiver {
    /// A receiver without streams and STags.
    pub fn new(config: ReceiverConfig) -> Self {
        Self {
            config,
            checker: DdpChecker::default(),
            streams: BTreeMap::new(),
        }
    }

    /// Opens a stream at its position 0; it has no untagged queue yet.
    pub fn open(&mut self, stream: u32, config: StreamConfig) -> Result<(), ReceiverError> {
        let Entry::Vacant(slot) = self.streams.entry(stream) else {
            return Err(ReceiverError::StreamOpen { stream });
        };
        slot.insert(Stream {
            framing: Framing::new(FramingConfig {
                markers: config.markers,
                crc: config.crc,
                max_ulpdu: match config.long_ulpdus && !config.markers {
                    true => u16::MAX,
                    false => self.config.max_ulpdu,
                },
                max_fpdu: self.config.max_fpdu,
            }),
            state: StreamState {
                config,
                context: StreamContext {
                    stream,
                    protection_domain: config.protection_domain,
                    msn_mode: config.msn_mode,
                    strict_mo: config.strict_mo,
                    queues: BTreeMap::new(),
                },
                frozen: false,
                finished: false,
                received: 0,
                counters: Counters::default(),
            },
        });
        Ok(())
    }

    /// Removes a stream; its identifier may be opened again.
    pub fn close(&mut self, stream: u32) -> Result<(), ReceiverError> {
        self.streams
            .remove(&stream)
            .map(|_| ())
            .ok_or(ReceiverError::UnknownStream { stream })
    }

    /// Adds an untagged queue whose first message has `first_msn` (1 on a new stream).
    pub fn enable_queue(
        &mut self,
        stream: u32,
        queue: u32,
        first_msn: u32,
    ) -> Result<(), ReceiverError> {
        let window = self.config.window;
        let context = &mut self.stream_mut(stream)?.state.context;
        context.enable_queue(queue, first_msn, window)
    }

    /// Posts a buffer of `len` octets and returns the MSN it is for.
    pub fn post(&mut self, stream: u32, queue: u32, len: u32) -> Result<u32, ReceiverError> {
        let context = &mut self.stream_mut(stream)?.state.context;
        context.post(queue, len)
    }

    /// Writes an entry of the STag table.
    pub fn set_stag(&mut self, stag: u32, entry: StagEntry) {
        self.checker.stags.insert(stag, entry);
    }

    /// Makes an STag invalid; returns false if the table has no such STag.
    pub fn revoke_stag(&mut self, stag: u32) -> bool {
        self.checker.revoke(stag)
    }

    /// Receives the next octets of a stream, in order.
    pub fn receive(
        &mut self,
        stream: u32,
        octets: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), ReceiverError> {
        let Some(entry) = self.streams.get_mut(&stream) else {
            return Err(ReceiverError::UnknownStream { stream });
        };
        entry.receive(&self.checker, octets, sink);
        Ok(())
    }

    /// Receives a TCP segment whose first octet has sequence number `sequence`: octets received before
    /// are cut off, and a segment after a gap is dropped and counted.
    pub fn tcp_segment(
        &mut self,
        stream: u32,
        sequence: u32,
        octets: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), ReceiverError> {
        let Some(entry) = self.streams.get_mut(&stream) else {
            return Err(ReceiverError::UnknownStream { stream });
        };
        let state = &mut entry.state;
        let position = marker::position(sequence, state.config.seq_start);
        let ahead = position.wrapping_sub(state.received);
        if ahead != 0 && ahead < 1 << 31 {
            state.counters.dropped_tcp_segments += 1;
            return Ok(());
        }
        let behind = ahead.wrapping_neg() as usize;
        let (old, new) = octets.split_at(behind.min(octets.len()));
        state.counters.duplicate_octets += old.len() as u64;
        entry.receive(&self.checker, new, sink);
        Ok(())
    }

    /// The peer's FIN follows the octets received so far. Between FPDUs it closes the stream; within
    /// one it is an error (AMB-31).
    pub fn finish(&mut self, stream: u32, sink: &mut impl Sink) -> Result<(), ReceiverError> {
        let entry = self.stream_mut(stream)?;
        if entry.state.frozen || core::mem::replace(&mut entry.state.finished, true) {
            return Ok(());
        }
        if entry.framing.at_boundary() {
            let position = entry.framing.position();
            sink.event(Event::Closed { stream, position });
        } else {
            entry.end(Ending::Truncated, sink);
        }
        Ok(())
    }

    /// The connection is lost, even if the peer had closed it: RST, time-out (AMB-31).
    pub fn lose(&mut self, stream: u32, sink: &mut impl Sink) -> Result<(), ReceiverError> {
        self.stream_mut(stream)?.end(Ending::Lost, sink);
        Ok(())
    }

    /// Counters of a stream.
    pub fn counters(&self, stream: u32) -> Result<Counters, ReceiverError> {
        Ok(self.stream(stream)?.state.counters)
    }

    /// Sequence number of the next octet that a stream expects.
    pub fn next_sequence(&self, stream: u32) -> Result<u32, ReceiverError> {
        let state = &self.stream(stream)?.state;
        Ok(state.config.seq_start.wrapping_add(state.received))
    }

    /// Whether a stream has reported its error.
    pub fn is_frozen(&self, stream: u32) -> Result<bool, ReceiverError> {
        Ok(self.stream(stream)?.state.frozen)
    }

    /// Whether a FIN now would be clean: no octet of an unfinished FPDU was received (AMB-31).
    pub fn at_boundary(&self, stream: u32) -> Result<bool, ReceiverError> {
        Ok(self.stream(stream)?.framing.at_boundary())
    }

    fn stream(&self, stream: u32) -> Result<&Stream, ReceiverError> {
        self.streams
            .get(&stream)
            .ok_or(ReceiverError::UnknownStream { stream })
    }

    fn stream_mut(&mut self, stream: u32) -> Result<&mut Stream, ReceiverError> {
        self.streams
            .get_mut(&stream)
            .ok_or(ReceiverError::UnknownStream { stream })
    }
}

impl Stream {
    fn receive(&mut self, checker: &DdpChecker, mut octets: &[u8], sink: &mut impl Sink) {
        if self.state.finished && !octets.is_empty() {
            self.end(Ending::BehindFin, sink);
        }
        let Self { framing, state } = self;
        state.received = state.received.wrapping_add(octets.len() as u32);
        while !state.frozen {
            let outcome = match framing.push(&mut octets) {
                Ok(None) => return,
                Ok(Some(ulpdu)) => state.place(checker, ulpdu, sink),
                Err(error) => Err(state.record(error)),
            };
            if let Err(record) = outcome {
                state.frozen = true;
                sink.event(Event::Failed(record));
            }
        }
        state.counters.frozen_octets += octets.len() as u64;
    }

    /// The connection ends in an error.
    fn end(&mut self, ending: Ending, sink: &mut impl Sink) {
        if !core::mem::replace(&mut self.state.frozen, true) {
            let error = self.framing.end(ending);
            sink.event(Event::Failed(self.state.record(error)));
        }
    }
}

impl StreamState {
    /// The record of an MPA error.
    fn record(&self, error: FramingError) -> ErrorRecord {
        ErrorRecord {
            stream: self.context.stream,
            number: error.number,
            checks: Checks::empty(),
            header: error.header,
            ulpdu_len: error.ulpdu_len,
            position: error.position,
            detail: error.detail,
        }
    }

    /// Checks a ULPDU, places its payload and delivers the messages that it completes.
    fn place(
        &mut self,
        checker: &DdpChecker,
        ulpdu: Ulpdu<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), ErrorRecord> {
        self.counters.fpdus += 1;
        let stream = self.context.stream;
        let segment = checker
            .check(&self.context, ulpdu.octets)
            .map_err(|rejected| ErrorRecord {
                stream,
                number: rejected.number,
                checks: rejected.checks,
                header: HeaderOctets::of(ulpdu.octets),
                ulpdu_len: ulpdu.octets.len() as u16,
                position: ulpdu.position,
                detail: Detail::Ddp,
            })?;
        let octets = segment.payload;
        if !octets.is_empty() {
            self.counters.placed_octets += octets.len() as u64;
            sink.event(Event::Place {
                stream,
                target: segment.target(),
                octets,
            });
        }
        match segment.header {
            Header::Tagged(header) if header.last => {
                self.counters.delivered += 1;
                if self.config.tagged_completions {
                    let mut flags = Flags::empty();
                    flags.set(Flags::UNVERIFIED, octets.is_empty());
                    sink.event(Event::Delivered {
                        stream,
                        delivery: Delivery::Tagged {
                            stag: header.stag,
                            to: header.to,
                            length: octets.len() as u32,
                            rsvd_ulp: header.rsvd_ulp,
                        },
                        flags,
                    });
                }
            }
            Header::Tagged(_) => {}
            Header::Untagged(header) => {
                let Some(queue) = self.context.queues.get_mut(&header.qn) else {
                    return Ok(());
                };
                queue.accept(&header, octets.len());
                while let Some((delivery, flags)) = queue.deliver(header.qn) {
                    self.counters.delivered += 1;
                    sink.event(Event::Delivered {
                        stream,
                        delivery,
                        flags,
                    });
                }
            }
        }
        Ok(())
    }
}

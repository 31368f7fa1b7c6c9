//! The device's registers as far as the control program uses them: commands, streams, the mailbox from both sides.

use std::collections::BTreeSet;
use warpline_firmware::Bus;
use warpline_regmap::layout::{close, error_record, stream_context};
use warpline_regmap::mailbox::{CARD_MESSAGE, HOST_MESSAGE, MAILBOX, MESSAGE_WORDS, Words};
use warpline_regmap::register::{self, command};
use warpline_regmap::transmit::{
    ARM_TRANSMIT, CAPABILITIES, SET_EMSS, TRANSMIT_STATE, emss, transmit_context,
};

pub const RING: u32 = 0x4000;

/// A stream of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    pub armed: bool,
    pub sends: bool,
    pub emss: u16,
    pub idle: bool,
    pub edge: u32,
    pub limit: u32,
    /// Its error record is valid.
    pub frozen: bool,
}

pub struct Registers {
    pub streams: Vec<Stream>,
    pub arguments: [u32; 8],
    /// Reads of `COMMAND` for which a command is busy.
    pub latency: u32,
    pub busy: u32,
    running: Option<u32>,
    /// Number of the last command.
    number: u32,
    failed: bool,
    /// Commands as they were carried out, and whether they were refused.
    pub log: Vec<(u32, [u32; 8], bool)>,
    /// The device takes sessions of SCTP.
    pub sctp: bool,
    /// Streams whose `ARM_STREAM` or `ARM_TRANSMIT` is refused.
    pub no_stream: BTreeSet<u8>,
    pub no_transmit: BTreeSet<u8>,
    pub host_window: Words,
    pub reset: bool,
    pub host_pending: bool,
    pub card_window: Words,
    pub card_pending: bool,
    /// Entries of the completion queue, and those that the host has not consumed.
    pub completions: (u32, u32),
    pub accesses: u64,
    /// The program stops instead of the access with this number.
    pub stops_at: Option<u64>,
}

/// What unwinds when the program stops at an access.
pub struct Stopped;

impl Registers {
    pub fn new(streams: usize) -> Self {
        Self {
            streams: vec![Stream::default(); streams],
            arguments: [0; 8],
            latency: 2,
            busy: 0,
            running: None,
            number: 0,
            failed: false,
            log: Vec::new(),
            sctp: true,
            no_stream: BTreeSet::new(),
            no_transmit: BTreeSet::new(),
            host_window: [0; MESSAGE_WORDS],
            reset: false,
            host_pending: false,
            card_window: [0xdead_beef; MESSAGE_WORDS], // left by whoever was there before
            card_pending: false,
            completions: (64, 0),
            accesses: 0,
            stops_at: None,
        }
    }

    /// An access begins.
    fn access(&mut self) {
        if self.stops_at == Some(self.accesses) {
            self.stops_at = None;
            std::panic::resume_unwind(Box::new(Stopped));
        }
        self.accesses += 1;
    }

    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub fn armed(&self) -> usize {
        self.streams.iter().filter(|stream| stream.armed).count()
    }

    /// `CLOSE_STREAM` of the host's own command port.
    pub fn host_closes(&mut self, stream: u8) {
        self.streams[usize::from(stream)] = Stream::default();
    }

    fn carry_out(&mut self, number: u32) {
        let words = self.arguments;
        let stream = stream_context::STREAM.get(&words) as u8;
        let index = usize::from(stream);
        let there = index < self.streams.len();
        let done = match number {
            command::ARM_STREAM => {
                let start = stream_context::SEQUENCE_START.get(&words) as u32;
                let arms = there && !self.streams[index].armed && !self.no_stream.contains(&stream);
                if arms {
                    self.streams[index] = Stream {
                        armed: true,
                        idle: true,
                        edge: start,
                        limit: start.wrapping_add(RING),
                        ..Stream::default()
                    };
                }
                arms
            }
            ARM_TRANSMIT => {
                let emss = transmit_context::EMSS.get(&words);
                let arms = there
                    && self.streams[index].armed
                    && !self.streams[index].sends
                    && emss >= 128
                    && !self.no_transmit.contains(&stream);
                if arms {
                    self.streams[index].sends = true;
                    self.streams[index].emss = emss as u16;
                }
                arms
            }
            SET_EMSS => {
                let octets = emss::EMSS.get(&words) as u16;
                let sends = there && self.streams[index].sends && octets >= 128;
                if sends {
                    self.streams[index].emss = octets;
                }
                sends
            }
            command::CLOSE_STREAM => {
                assert_eq!(close::STREAM.get(&words) as u8, stream);
                if there {
                    self.streams[index] = Stream::default();
                }
                there
            }
            0 => {
                self.failed = true;
                return;
            }
            other => panic!("the control program gave command {other}"),
        };
        self.failed = !done;
        self.log.push((number, words, done));
    }
}

fn element(offset: u32, register: &register::Register) -> Option<usize> {
    let from_first = offset.checked_sub(register.offset)?;
    let index = from_first / register.stride;
    (index < register.count && from_first.is_multiple_of(register.stride)).then_some(index as usize)
}

impl Bus for Registers {
    fn read(&mut self, offset: u32) -> u32 {
        self.access();
        if offset == register::COMMAND.offset {
            if let Some(number) = self.running {
                if self.busy > 0 {
                    self.busy -= 1;
                    return 1 << 31 | number;
                }
                self.running = None;
                self.carry_out(number);
            }
            return u32::from(self.failed) << 30 | self.number;
        }
        if let Some(word) = element(offset, &register::ARGUMENT) {
            assert!(
                self.running.is_none(),
                "reads arguments of a command that runs"
            );
            return self.arguments[word];
        }
        if let Some(word) = element(offset, &MAILBOX) {
            assert!(self.host_pending, "reads a message that is not there");
            return self.host_window[word];
        }
        if let Some(stream) = element(offset, &TRANSMIT_STATE) {
            let stream = self.streams.get(stream).copied().unwrap_or_default();
            return u32::from(stream.sends) | u32::from(stream.idle) << 2;
        }
        if let Some(stream) = element(offset, &register::STREAM_EDGE) {
            return self.streams.get(stream).map_or(0, |stream| stream.edge);
        }
        if let Some(stream) = element(offset, &register::STREAM_LIMIT) {
            return self.streams.get(stream).map_or(0, |stream| stream.limit);
        }
        if let Some(stream) = element(offset, &register::ERROR_RECORD) {
            let frozen = self.streams.get(stream).is_some_and(|stream| stream.frozen);
            let mut words = [0; error_record::WORDS];
            error_record::VALID.put(&mut words, frozen.into());
            return words[0];
        }
        match offset {
            o if o == register::SHAPE.offset => 8 | (self.streams.len() as u32) << 16 | 4 << 24,
            o if o == CAPABILITIES.offset => 0b111 | u32::from(self.sctp) << 3,
            o if o == register::RING_OCTETS.offset => RING,
            o if o == register::COMPLETION_ENTRIES.offset => self.completions.0,
            o if o == register::COMPLETION_PRODUCER.offset => self.completions.1.wrapping_sub(7),
            o if o == register::COMPLETION_CONSUMER.offset => 0_u32.wrapping_sub(7),
            o if o == HOST_MESSAGE.offset => {
                u32::from(self.host_pending && !self.reset) | u32::from(self.reset) << 1
            }
            o if o == CARD_MESSAGE.offset => self.card_pending.into(),
            _ => panic!("the control program reads {offset:#x}"),
        }
    }

    fn write(&mut self, offset: u32, value: u32) {
        self.access();
        if self.reset {
            assert!(
                offset == HOST_MESSAGE.offset && value == 2,
                "writes {offset:#x} before the reset is noticed"
            );
            self.reset = false;
            return;
        }
        if let Some(word) = element(offset, &MAILBOX) {
            assert!(
                !self.card_pending,
                "writes over a message that was not read"
            );
            self.card_window[word] = value;
            return;
        }
        if let Some(word) = element(offset, &register::ARGUMENT) {
            assert!(
                self.running.is_none(),
                "writes arguments of a command that runs"
            );
            self.arguments[word] = value;
            return;
        }
        match offset {
            o if o == register::COMMAND.offset => {
                assert!(self.running.is_none(), "starts a command while one runs");
                (self.running, self.busy) = (Some(value), self.latency);
                self.number = value;
            }
            o if o == HOST_MESSAGE.offset => {
                assert_eq!(value, 1);
                self.host_pending = false;
            }
            o if o == CARD_MESSAGE.offset => {
                assert_eq!(value, 1);
                self.card_pending = true;
            }
            _ => panic!("the control program writes {offset:#x}"),
        }
    }
}

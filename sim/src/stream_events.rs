//! Derives stream events from register accesses: the host's software would report them to the TCP engine.
//!
//! ```text
//!  s_axil ─► ARGUMENT, COMMAND, RECEIVE_PRODUCER ─┬─► StreamEvent ─┬─► network side
//!            SEND_PRODUCER, COMPLETION_…          │                └─► Card::watch_streams
//!                                                 ├─► SendEvent ─► transmit ring, of a device that has one
//!                                                 └─► all of it ─► observers of the card
//! ```

use warpline_regmap::layout::{receive_buffer, receive_ring, stream_context};
use warpline_regmap::register::{self, command};
use warpline_regmap::transmit::{
    ARM_TRANSMIT, SEND_PRODUCER, SEND_PRODUCER_COUNT, SEND_PRODUCER_STREAM, SET_EMSS,
    SET_SEND_RING, emss, send_ring, transmit_context,
};

use crate::transmit::commands::ARGUMENTS;
use crate::transmit::octets::{ALL, element, merged};

/// A host's action on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// It can receive.
    Armed {
        /// The stream.
        stream: u8,
    },
    /// It is being closed.
    Closed {
        /// The stream.
        stream: u8,
    },
    /// Number of buffers posted to its queue since it got its receive ring, modulo 2^16.
    Posted {
        /// The stream.
        stream: u8,
        /// Its untagged queue.
        queue: u8,
        /// Buffers.
        count: u16,
    },
}

/// What TCP needs to know of a stream's sending direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendEvent {
    /// `ARM_TRANSMIT` was carried out.
    Armed {
        stream: u8,
        /// Sequence number of the first octet.
        sequence: u32,
        /// Octets of a segment's payload.
        emss: u16,
    },
    /// `SET_EMSS` was carried out.
    Emss { stream: u8, emss: u16 },
}

/// What an access has brought about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followed {
    /// Closed or posted.
    Stream(StreamEvent),
    Send(SendEvent),
    /// `ARM_STREAM` was carried out; sequence number of the first octet.
    Armed {
        stream: u8,
        sequence: u32,
    },
    /// `CLOSE_STREAM` was carried out.
    Closed {
        stream: u8,
    },
    /// An untagged queue has a ring, an empty one.
    ReceiveRing {
        stream: u8,
        queue: u8,
    },
    /// A buffer was posted to a queue without a ring.
    Buffer {
        stream: u8,
        queue: u8,
    },
    /// A stream has a send ring, an empty one.
    SendRing {
        stream: u8,
        entries: u16,
    },
    /// Slots written to a send ring, modulo 2^16.
    Announced {
        stream: u8,
        count: u16,
    },
    /// The completion queue has begun anew; without entries it has ended.
    Completions {
        base: u64,
        entries: u32,
    },
}

/// State of a command under way.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    argument: [u32; ARGUMENTS],
    /// A command was started, and is not seen done. The device ignores further ones and their arguments until it is.
    running: bool,
    /// A command under way: what has happened when it is done.
    under_way: Option<Followed>,
    /// Bus address of the completion queue, low word first.
    base: [u32; 2],
    /// As last written to `COMPLETION_ENTRIES`.
    entries: u32,
}

impl Follow {
    /// A register was read.
    pub fn read(&mut self, offset: u32, found: u32) -> Option<Followed> {
        let busy = register::COMMAND_BUSY.get(&[found]) == 1;
        if offset != register::COMMAND.offset || busy {
            return None;
        }
        self.running = false;
        let done = self.under_way.take()?;
        (register::COMMAND_FAILED.get(&[found]) == 0).then_some(done)
    }

    /// Whether a write may meet a command that is still running: its user has not waited.
    pub fn meets_command(&self, offset: u32) -> bool {
        let argument = element(&register::ARGUMENT, offset).is_some();
        self.running && (argument || offset == register::COMMAND.offset)
    }

    /// The stream that a write is about to close.
    pub fn closes(&self, offset: u32, value: u32, strobes: u8) -> Option<u8> {
        let starts = offset == register::COMMAND.offset && strobes & 1 == 1;
        let closes = starts && value & 0xFF == command::CLOSE_STREAM;
        closes.then_some(self.argument[0] as u8)
    }

    /// Octets of a register were written.
    pub fn written(&mut self, offset: u32, value: u32, strobes: u8) -> Option<Followed> {
        if let Some(index) = element(&register::ARGUMENT, offset) {
            let word = &mut self.argument[index];
            *word = merged(*word, value, strobes);
        }
        if let Some(completions) = self.completions(offset, value, strobes) {
            return Some(completions);
        }
        if strobes & 1 == 0 {
            return None; // the relevant bits of the others are in the lowest octet
        }
        if offset == register::COMMAND.offset {
            self.running = true;
            let words = &self.argument;
            let stream = words[0] as u8; // in all commands
            match value & 0xFF {
                command::ARM_STREAM => {
                    let sequence = stream_context::SEQUENCE_START.get(words) as u32;
                    self.under_way = Some(Followed::Armed { stream, sequence });
                }
                command::SET_RECEIVE_RING => {
                    let queue = receive_ring::QUEUE.get(words) as u8;
                    self.under_way = Some(Followed::ReceiveRing { stream, queue });
                }
                command::POST_RECEIVE => {
                    let queue = receive_buffer::QUEUE.get(words) as u8;
                    self.under_way = Some(Followed::Buffer { stream, queue });
                }
                SET_SEND_RING => {
                    let entries = send_ring::ENTRIES.get(words) as u16;
                    self.under_way = Some(Followed::SendRing { stream, entries });
                }
                ARM_TRANSMIT => {
                    self.under_way = Some(Followed::Send(SendEvent::Armed {
                        stream,
                        sequence: transmit_context::SEQUENCE_START.get(words) as u32,
                        emss: transmit_context::EMSS.get(words) as u16,
                    }));
                }
                SET_EMSS => {
                    let emss = emss::EMSS.get(words) as u16;
                    self.under_way = Some(Followed::Send(SendEvent::Emss { stream, emss }));
                }
                command::CLOSE_STREAM => {
                    self.under_way = Some(Followed::Closed { stream });
                    return Some(Followed::Stream(StreamEvent::Closed { stream }));
                }
                _ => self.under_way = None,
            }
        }
        if offset == SEND_PRODUCER.offset && strobes == ALL {
            return Some(Followed::Announced {
                stream: SEND_PRODUCER_STREAM.get(&[value]) as u8,
                count: SEND_PRODUCER_COUNT.get(&[value]) as u16,
            });
        }
        let doorbells = register::RECEIVE_PRODUCER;
        let index = offset.checked_sub(doorbells.offset)? / doorbells.stride;
        let posted = StreamEvent::Posted {
            stream: (index / register::RECEIVE_PRODUCER_STRIDE) as u8,
            queue: (index % register::RECEIVE_PRODUCER_STRIDE) as u8,
            count: value as u16,
        };
        (index < doorbells.count).then_some(Followed::Stream(posted))
    }

    /// A write to one of the registers of the completion queue.
    fn completions(&mut self, offset: u32, value: u32, strobes: u8) -> Option<Followed> {
        let at = |register: register::Register| register.offset == offset;
        if at(register::COMPLETION_BASE_LOW) {
            self.base[0] = merged(self.base[0], value, strobes);
            self.entries = 0;
        } else if at(register::COMPLETION_BASE_HIGH) {
            self.base[1] = merged(self.base[1], value, strobes);
            self.entries = 0;
        } else if at(register::COMPLETION_ENTRIES) {
            self.entries = merged(self.entries, value, strobes);
        } else {
            return None;
        }
        Some(Followed::Completions {
            base: u64::from(self.base[1]) << 32 | u64::from(self.base[0]),
            entries: self.entries,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARGUMENT: u32 = register::ARGUMENT.offset;
    const COMMAND: u32 = register::COMMAND.offset;
    const BUSY: u32 = 1 << 31;
    const FAILED: u32 = 1 << 30;

    #[test]
    fn a_stream_is_armed_when_the_command_is_seen_done() {
        let mut follow = Follow::default();
        assert_eq!(follow.written(ARGUMENT, 0xABCD_EF03, 0xF), None);
        assert_eq!(follow.written(ARGUMENT + 4, 7, 0xF), None);
        assert_eq!(follow.written(ARGUMENT + 8, 0x1234_5678, 0xF), None);
        assert_eq!(follow.written(COMMAND, command::ARM_STREAM, 0xF), None);
        assert_eq!(follow.read(COMMAND, BUSY | command::ARM_STREAM), None);
        assert_eq!(follow.read(ARGUMENT, 0), None);
        let armed = follow.read(COMMAND, command::ARM_STREAM);
        let expected = Followed::Armed {
            stream: 3,
            sequence: 0x1234_5678,
        };
        assert_eq!(armed, Some(expected));
        assert_eq!(follow.read(COMMAND, command::ARM_STREAM), None, "once");
        follow.written(COMMAND, command::ARM_STREAM, 1);
        assert_eq!(follow.read(COMMAND, FAILED | command::ARM_STREAM), None);
        let closed = follow.written(COMMAND, command::CLOSE_STREAM, 0xF);
        let event = StreamEvent::Closed { stream: 3 };
        assert_eq!(closed, Some(Followed::Stream(event)));
        assert_eq!(follow.read(COMMAND, BUSY | command::CLOSE_STREAM), None);
        let done = follow.read(COMMAND, command::CLOSE_STREAM);
        assert_eq!(done, Some(Followed::Closed { stream: 3 }));
        assert_eq!(follow.written(COMMAND, command::CLOSE_STREAM, 0b1110), None);
    }

    #[test]
    fn what_may_meet_a_running_command_is_known() {
        let mut follow = Follow::default();
        let revoke = command::REVOKE_STAG;
        assert!(!follow.meets_command(COMMAND));
        follow.written(COMMAND, revoke, 0b1110);
        assert!(!follow.meets_command(COMMAND), "nothing was started");
        follow.written(COMMAND, revoke, 1);
        assert!(follow.meets_command(COMMAND) && follow.meets_command(ARGUMENT + 28));
        assert!(!follow.meets_command(ARGUMENT + 32) && !follow.meets_command(COMMAND + 4));
        follow.read(COMMAND, BUSY | revoke);
        assert!(follow.meets_command(COMMAND));
        follow.read(COMMAND, FAILED | revoke);
        assert!(!follow.meets_command(COMMAND) && !follow.meets_command(ARGUMENT));
    }

    #[test]
    fn rings_and_queues_are_followed() {
        let mut follow = Follow::default();
        let mut words = [0; ARGUMENTS];
        receive_ring::STREAM.put(&mut words, 2);
        receive_ring::QUEUE.put(&mut words, 1);
        for (index, word) in (0..).zip(words) {
            follow.written(register::ARGUMENT.at(index), word, 0xF);
        }
        for (number, expected) in [
            (command::SET_RECEIVE_RING, (2, 1)),
            (command::POST_RECEIVE, (2, 1)),
        ] {
            assert_eq!(follow.written(COMMAND, number, 0xF), None);
            let (stream, queue) = match follow.read(COMMAND, number) {
                Some(Followed::ReceiveRing { stream, queue }) => (stream, queue),
                Some(Followed::Buffer { stream, queue }) => (stream, queue),
                other => panic!("{other:?}"),
            };
            assert_eq!((stream, queue), expected);
        }
        send_ring::ENTRIES.put(&mut words, 64);
        follow.written(register::ARGUMENT.at(1), words[1], 0xF);
        follow.written(COMMAND, SET_SEND_RING, 0xF);
        let ring = Followed::SendRing {
            stream: 2,
            entries: 64,
        };
        assert_eq!(follow.read(COMMAND, SET_SEND_RING), Some(ring));
        // A command that is not followed: the one before it is not taken for it.
        follow.written(COMMAND, command::ARM_STREAM, 0xF);
        follow.written(COMMAND, command::REVOKE_STAG, 0xF);
        assert_eq!(follow.read(COMMAND, command::REVOKE_STAG), None);

        let doorbell = SEND_PRODUCER.offset;
        let announced = Followed::Announced {
            stream: 2,
            count: 0xFFFE,
        };
        assert_eq!(follow.written(doorbell, 0x0002_FFFE, 0xF), Some(announced));
        assert_eq!(follow.written(doorbell, 0x0002_FFFF, 0b0111), None);

        let queue = |base, entries| Some(Followed::Completions { base, entries });
        let high = follow.written(register::COMPLETION_BASE_HIGH.offset, 7, 0xF);
        assert_eq!(high, queue(7 << 32, 0));
        let low = follow.written(register::COMPLETION_BASE_LOW.offset, 0x4000, 0xF);
        assert_eq!(low, queue(7 << 32 | 0x4000, 0));
        let entries = follow.written(register::COMPLETION_ENTRIES.offset, 128, 0xF);
        assert_eq!(entries, queue(7 << 32 | 0x4000, 128));
        let ended = follow.written(register::COMPLETION_BASE_LOW.offset, 0x8000, 0xF);
        assert_eq!(ended, queue(7 << 32 | 0x8000, 0));
    }

    #[test]
    fn doorbells_tell_stream_and_queue() {
        let mut follow = Follow::default();
        let mut ring = |stream: u32, queue: u32, count| {
            let index = register::RECEIVE_PRODUCER_STRIDE * stream + queue;
            follow.written(register::RECEIVE_PRODUCER.at(index), count, 0b11)
        };
        for (stream, queue) in [(0, 0), (2, 3), (15, 7)] {
            let posted = StreamEvent::Posted {
                stream: stream as u8,
                queue: queue as u8,
                count: 0x1234,
            };
            assert_eq!(
                ring(stream, queue, 0x5_1234),
                Some(Followed::Stream(posted))
            );
        }
        assert_eq!(ring(16, 0, 1), None, "after the last one");
        let edge = register::STREAM_EDGE.offset;
        assert_eq!(follow.written(edge, 1, 0xF), None);
    }

    #[test]
    fn the_sending_direction_is_armed_with_what_the_arguments_say() {
        let mut follow = Follow::default();
        let mut words = [0; ARGUMENTS];
        transmit_context::STREAM.put(&mut words, 2);
        transmit_context::SEQUENCE_START.put(&mut words, 0x89AB_CDEF);
        transmit_context::EMSS.put(&mut words, 1460);
        for (index, word) in (0..).zip(words) {
            assert_eq!(
                follow.written(register::ARGUMENT.at(index), word, 0xF),
                None
            );
        }
        follow.written(COMMAND, ARM_TRANSMIT, 0xF);
        assert_eq!(follow.read(COMMAND, BUSY | ARM_TRANSMIT), None);
        let armed = SendEvent::Armed {
            stream: 2,
            sequence: 0x89AB_CDEF,
            emss: 1460,
        };
        assert_eq!(
            follow.read(COMMAND, ARM_TRANSMIT),
            Some(Followed::Send(armed))
        );
        let word = emss::EMSS.lsb as u32 / 32;
        follow.written(register::ARGUMENT.at(word), 0xFF00_0200, 0b0011);
        follow.written(COMMAND, SET_EMSS, 0xF);
        let emss = SendEvent::Emss {
            stream: 2,
            emss: 512,
        };
        assert_eq!(follow.read(COMMAND, SET_EMSS), Some(Followed::Send(emss)));
        follow.written(COMMAND, ARM_TRANSMIT, 0xF);
        assert_eq!(follow.read(COMMAND, FAILED | ARM_TRANSMIT), None);
        assert_eq!(follow.closes(COMMAND, command::CLOSE_STREAM, 1), Some(2));
        assert_eq!(follow.closes(COMMAND, command::CLOSE_STREAM, 0b1110), None);
        assert_eq!(follow.closes(COMMAND, ARM_TRANSMIT, 0xF), None);
    }
}

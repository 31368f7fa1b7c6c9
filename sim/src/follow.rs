//! Derives stream events from register accesses: the host's software would report them to the TCP engine.
//!
//! ```text
//!  s_axil ─► ARGUMENT, COMMAND, RECEIVE_PRODUCER ─► StreamEvent ─┬─► network side
//!                                                                └─► Card::watch_streams
//! ```

use warpline_regmap::register::{self, command};

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

/// State of a command under way.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    /// First octet of `ARGUMENT`.
    argument: u8,
    /// The stream of an `ARM_STREAM` under way.
    arming: Option<u8>,
}

impl Follow {
    /// A register was read.
    pub fn read(&mut self, offset: u32, found: u32) -> Option<StreamEvent> {
        let busy = register::COMMAND_BUSY.get(&[found]) == 1;
        if offset != register::COMMAND.offset || busy {
            return None;
        }
        let stream = self.arming.take()?;
        let done = register::COMMAND_FAILED.get(&[found]) == 0;
        done.then_some(StreamEvent::Armed { stream })
    }

    /// Octets of a register were written.
    pub fn written(&mut self, offset: u32, value: u32, strobes: u8) -> Option<StreamEvent> {
        if strobes & 1 == 0 {
            return None; // the relevant bits are in the lowest octet
        }
        if offset == register::ARGUMENT.offset {
            self.argument = value as u8;
        }
        if offset == register::COMMAND.offset {
            match value & 0xFF {
                command::ARM_STREAM => self.arming = Some(self.argument),
                command::CLOSE_STREAM => {
                    let stream = self.argument;
                    return Some(StreamEvent::Closed { stream });
                }
                _ => {}
            }
        }
        let doorbells = register::RECEIVE_PRODUCER;
        let index = offset.checked_sub(doorbells.offset)? / doorbells.stride;
        (index < doorbells.count).then_some(StreamEvent::Posted {
            stream: (index / register::RECEIVE_PRODUCER_STRIDE) as u8,
            queue: (index % register::RECEIVE_PRODUCER_STRIDE) as u8,
            count: value as u16,
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
        assert_eq!(follow.written(COMMAND, command::ARM_STREAM, 0xF), None);
        assert_eq!(follow.read(COMMAND, BUSY | command::ARM_STREAM), None);
        assert_eq!(follow.read(ARGUMENT, 0), None);
        let armed = follow.read(COMMAND, command::ARM_STREAM);
        assert_eq!(armed, Some(StreamEvent::Armed { stream: 3 }));
        assert_eq!(follow.read(COMMAND, command::ARM_STREAM), None, "once");
        follow.written(COMMAND, command::ARM_STREAM, 1);
        assert_eq!(follow.read(COMMAND, FAILED | command::ARM_STREAM), None);
        let closed = follow.written(COMMAND, command::CLOSE_STREAM, 0xF);
        assert_eq!(closed, Some(StreamEvent::Closed { stream: 3 }));
        assert_eq!(follow.written(COMMAND, command::CLOSE_STREAM, 0b1110), None);
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
            assert_eq!(ring(stream, queue, 0x5_1234), Some(posted));
        }
        assert_eq!(ring(16, 0, 1), None, "after the last one");
        let edge = register::STREAM_EDGE.offset;
        assert_eq!(follow.written(edge, 1, 0xF), None);
    }
}

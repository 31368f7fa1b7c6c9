//! The result of a run, and how two results differ.

use std::fmt;

use super::plan::{BUFFER_FILL, Plan, REGION_FILL, Region};

/// The result of a run: octets in memory, work completions, and the error that ended it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landed {
    /// Name and octets of each region of the plan.
    pub memory: Vec<(String, Vec<u8>)>,
    /// Name and octets of the buffers of queue 0, one after the other.
    pub receive: (String, Vec<u8>),
    /// The outcome of each buffer of queue 0: first those that were used, in order, then the others.
    pub work: Vec<Work>,
    /// Delivered messages of all queues and regions, in order.
    pub messages: Vec<Message>,
    /// Error type and code (RFC 5041 §7.2).
    pub error: Option<(u8, u8)>,
    /// Stream position of the FPDU that the error is of.
    pub failed_at: Option<u32>,
    /// Stream position at which the peer closed the stream (MPA-ERR-17).
    pub closed: Option<u32>,
}

/// A delivered message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Into a region; the numbers are those of its last segment.
    Tagged {
        /// The STag.
        stag: u32,
        /// Tagged Offset.
        offset: u64,
        /// Payload octets.
        length: u32,
    },
    /// Into a posted buffer.
    Untagged {
        /// Queue number.
        queue: u32,
        /// Message sequence number.
        msn: u32,
        /// Octets of the message.
        length: u32,
    },
}

/// What became of a receive buffer, by its place among the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It holds a message.
    Received {
        /// The buffer.
        buffer: u64,
        /// Octets of the message.
        length: u32,
    },
    /// It was returned unused.
    Unused {
        /// The buffer.
        buffer: u64,
    },
    /// Its work request failed.
    Failed {
        /// The buffer.
        buffer: u64,
    },
}

/// The first place where a part of two runs differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// An octet of a region.
    Memory(OctetDifference),
    /// An octet of the receive buffers.
    Receive(OctetDifference),
    /// The outcome of a buffer.
    Work {
        /// Number of the work completion, from 0.
        index: usize,
        /// On the card.
        card: Option<Work>,
        /// Expected.
        expected: Option<Work>,
    },
    /// A delivered message.
    Message {
        /// Number of the message, from 0.
        index: usize,
        /// On the card.
        card: Option<Message>,
        /// As it should be.
        expected: Option<Message>,
    },
    /// The error.
    Error {
        /// On the card.
        card: Option<(u8, u8)>,
        /// Expected.
        expected: Option<(u8, u8)>,
    },
    /// Where the peer closed the stream.
    Closed {
        /// On the card.
        card: Option<u32>,
        /// Expected.
        expected: Option<u32>,
    },
}

/// The first octet where two images differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OctetDifference {
    /// Name of the image.
    pub image: String,
    /// Offset of the octet.
    pub offset: usize,
    /// On the card.
    pub card: Option<u8>,
    /// Expected.
    pub expected: Option<u8>,
}

impl Landed {
    /// The state before a run: all octets hold their fill.
    #[must_use]
    pub fn blank(plan: &Plan) -> Self {
        let image = |region: &Region| {
            let name = format!("region of STag {:#010x}", region.stag);
            (name, vec![REGION_FILL; region.length as usize])
        };
        let queue = &plan.queues[0];
        let octets = queue.count as usize * queue.length as usize;
        Self {
            memory: plan.regions.iter().map(image).collect(),
            receive: ("receive buffers".into(), vec![BUFFER_FILL; octets]),
            work: Vec::new(),
            messages: Vec::new(),
            error: None,
            failed_at: None,
            closed: None,
        }
    }

    /// The octets of `buffer`, one of `length` octets, among the receive buffers; `None` if there is no such buffer.
    pub fn receive_buffer(&mut self, buffer: u64, length: u32) -> Option<&mut [u8]> {
        let length = length as usize;
        let start = usize::try_from(buffer).ok()?.checked_mul(length)?;
        self.receive.1.get_mut(start..start.checked_add(length)?)
    }

    /// Appends the buffers that were not used.
    pub fn add_unused(&mut self, plan: &Plan) {
        let mut used = vec![false; plan.queues[0].count as usize];
        for work in &self.work {
            if let Work::Received { buffer, .. } = work
                && let Some(used) = used.get_mut(*buffer as usize)
            {
                *used = true;
            }
        }
        let unused = (0..).zip(used).filter(|(_, used)| !used);
        let unused = unused.map(|(buffer, _)| Work::Unused { buffer });
        self.work.extend(unused);
    }

    /// Where this, the card's, differs from `expected` in memory, buffers, error and close; names are those of `expected`.
    #[must_use]
    pub fn differences(&self, expected: &Self) -> Vec<Difference> {
        let mut differences = Vec::new();
        for ((_, card), (image, expected)) in self.memory.iter().zip(&expected.memory) {
            differences.extend(first_octet(image, card, expected).map(Difference::Memory));
        }
        let (image, receive) = &expected.receive;
        differences.extend(first_octet(image, &self.receive.1, receive).map(Difference::Receive));
        if let Some(index) = first_difference(&self.work, &expected.work) {
            differences.push(Difference::Work {
                index,
                card: self.work.get(index).copied(),
                expected: expected.work.get(index).copied(),
            });
        }
        if self.error != expected.error {
            differences.push(Difference::Error {
                card: self.error,
                expected: expected.error,
            });
        }
        if self.closed != expected.closed {
            differences.push(Difference::Closed {
                card: self.closed,
                expected: expected.closed,
            });
        }
        differences
    }
}

/// Where the messages of the card differ from those in order: it has to have delivered `due` of them, or more.
pub(super) fn message_difference(
    card: &[Message],
    expected: &[Message],
    due: usize,
) -> Option<Difference> {
    let index = first_difference(card, expected)?;
    let stops = index == card.len() && index >= due;
    (!stops).then(|| Difference::Message {
        index,
        card: card.get(index).copied(),
        expected: expected.get(index).copied(),
    })
}

/// Index of the first element that is not the same in both.
fn first_difference<T: PartialEq>(a: &[T], b: &[T]) -> Option<usize> {
    let common = a.iter().zip(b).position(|(a, b)| a != b);
    common.or_else(|| (a.len() != b.len()).then(|| a.len().min(b.len())))
}

fn first_octet(image: &str, card: &[u8], expected: &[u8]) -> Option<OctetDifference> {
    let offset = first_difference(card, expected)?;
    Some(OctetDifference {
        image: image.into(),
        offset,
        card: card.get(offset).copied(),
        expected: expected.get(offset).copied(),
    })
}

/// A value, or the text that stands for `None`.
struct Or<T>(Option<T>, &'static str);

impl<T: fmt::Display> fmt::Display for Or<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str(self.1),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Received { buffer, length } => write!(f, "{length} octets in buffer {buffer}"),
            Self::Unused { buffer } => write!(f, "buffer {buffer} unused"),
            Self::Failed { buffer } => write!(f, "buffer {buffer} failed"),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tagged {
                stag,
                offset,
                length,
            } => write!(f, "{length} octets at {offset:#018x} of STag {stag:#010x}"),
            Self::Untagged { queue, msn, length } => {
                write!(f, "{length} octets with MSN {msn} of queue {queue}")
            }
        }
    }
}

impl fmt::Display for OctetDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let octet = |octet: Option<u8>| Or(octet.map(|o| format!("{o:#04x}")), "nothing");
        write!(
            f,
            "{}: first difference at offset {:#x} ({}): {} expected, the card has {}",
            self.image,
            self.offset,
            self.offset,
            octet(self.expected),
            octet(self.card)
        )
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(octet) | Self::Receive(octet) => octet.fmt(f),
            Self::Work {
                index,
                card,
                expected,
            } => write!(
                f,
                "work completion {index}: {} expected, the card says {}",
                Or(*expected, "nothing"),
                Or(*card, "nothing")
            ),
            Self::Message {
                index,
                card,
                expected,
            } => write!(
                f,
                "message {index}: {} expected, the card says {}",
                Or(*expected, "nothing"),
                Or(*card, "nothing")
            ),
            Self::Error { card, expected } => {
                let number = |number: &Option<(u8, u8)>| {
                    let text =
                        number.map(|(kind, code)| format!("type {kind:#x} code {code:#04x}"));
                    Or(text, "none")
                };
                let (expected, card) = (number(expected), number(card));
                write!(f, "error: {expected} expected, the card reports {card}")
            }
            Self::Closed { card, expected } => {
                let place = |position: &Option<u32>| {
                    Or(position.map(|position| format!("at {position}")), "none")
                };
                let (expected, card) = (place(expected), place(card));
                write!(f, "close: {expected} expected, the card reports {card}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn landed() -> Landed {
        Landed {
            memory: vec![
                ("first".into(), vec![1, 2, 3]),
                ("second".into(), vec![4, 5]),
            ],
            receive: ("receive".into(), vec![6; 4]),
            work: vec![
                Work::Received {
                    buffer: 0,
                    length: 3,
                },
                Work::Unused { buffer: 1 },
            ],
            messages: Vec::new(),
            error: None,
            failed_at: None,
            closed: Some(9),
        }
    }

    #[test]
    fn receive_buffers_lie_one_behind_the_other() {
        let mut landed = landed();
        let second = landed.receive_buffer(1, 2).unwrap();
        second.copy_from_slice(&[7, 8]);
        assert_eq!(landed.receive.1, [6, 6, 7, 8]);
        for buffer in [2, u64::MAX / 2, u64::MAX] {
            assert_eq!(landed.receive_buffer(buffer, 2), None);
        }
    }

    #[test]
    fn messages_are_compared_up_to_those_that_are_due() {
        let message = |length| Message::Tagged {
            stag: 1,
            offset: 2,
            length,
        };
        let all = [3, 4, 5].map(message);
        let differs = |card: &[Message], due| {
            let difference = message_difference(card, &all, due);
            difference.map(|difference| difference.to_string())
        };
        assert_eq!(differs(&all, 3), None);
        assert_eq!(differs(&all[..2], 2), None);
        assert_eq!(
            differs(&all[..2], 3).as_deref(),
            Some(
                "message 2: 5 octets at 0x0000000000000002 of STag 0x00000001 expected, the card says nothing"
            )
        );
        assert!(differs(&[all[0], all[2]], 0).is_some());
        assert!(differs(&[3, 4, 5, 6].map(message), 0).is_some());
    }

    #[test]
    fn each_part_is_compared() {
        let expected = landed();
        assert_eq!(landed().differences(&expected), []);
        let changed = |change: fn(&mut Landed)| {
            let mut card = landed();
            change(&mut card);
            let differences = card.differences(&expected);
            assert_eq!(differences.len(), 1, "{differences:?}");
            differences[0].to_string()
        };
        assert_eq!(
            changed(|card| card.memory[1].1[1] = 0xFF),
            "second: first difference at offset 0x1 (1): 0x05 expected, the card has 0xff"
        );
        assert_eq!(
            changed(|card| card.receive.1.truncate(3)),
            "receive: first difference at offset 0x3 (3): 0x06 expected, the card has nothing"
        );
        assert_eq!(
            changed(|card| card.work[0] = Work::Unused { buffer: 0 }),
            "work completion 0: 3 octets in buffer 0 expected, the card says buffer 0 unused"
        );
        assert_eq!(
            changed(|card| card.work.push(Work::Failed { buffer: 2 })),
            "work completion 2: nothing expected, the card says buffer 2 failed"
        );
        assert_eq!(
            changed(|card| card.error = Some((1, 0))),
            "error: none expected, the card reports type 0x1 code 0x00"
        );
        assert_eq!(
            changed(|card| card.closed = None),
            "close: at 9 expected, the card reports none"
        );
    }
}

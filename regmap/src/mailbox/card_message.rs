//! Messages of the card's control program to the host.

use super::codes::{CardKind, CloseReason, FailureCause, ListenFailure, Refusal};
use super::error::MessageError;
use super::parts::{ADDRESS, Block, PrivateData, Words, flag, get, half};
use super::records::{message, message_address, message_armed, message_depths};
use core::net::SocketAddr;

/// `REQUESTED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requested {
    /// Number that the card gives the connection.
    pub connection: u16,
    /// The listener that has accepted it.
    pub listener: u16,
    /// The peer.
    pub address: SocketAddr,
    /// Revision of the Request.
    pub revision: u8,
    /// Its IRD/ORD block as sent, with revision 2.
    pub block: Option<Block>,
    /// Its private data.
    pub private_data: PrivateData,
}

/// `ARMED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Armed {
    /// The connection.
    pub connection: u16,
    /// Stream number.
    pub stream: u8,
    /// Octets of a TCP segment's payload.
    pub emss: u16,
    /// Revision in use.
    pub revision: u8,
    /// Markers are sent.
    pub send_markers: bool,
    /// Markers are received.
    pub receive_markers: bool,
    /// CRCs in both directions.
    pub crc: bool,
    /// What RFC 6581 has settled. At the Initiator, `rtr` has the one indication that the host posts as its first request; at
    /// the Responder, those that may come.
    pub settled: Option<Block>,
    /// IRD and ORD of the peer's block as sent; 0 without `settled`.
    pub peer_depths: (u16, u16),
    /// Private data of the Reply, at the Initiator.
    pub private_data: PrivateData,
}

/// A message of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "without allocation, and one message is under way"
)]
pub enum CardMessage {
    /// The listener is open.
    Listening {
        /// The listener.
        listener: u16,
        /// Its port.
        port: u16,
    },
    /// The listener could not be opened.
    ListenFailed {
        /// The listener.
        listener: u16,
        /// Why.
        reason: ListenFailure,
    },
    /// A valid Request is here.
    Requested(Requested),
    /// The stream is armed.
    Armed(Armed),
    /// Full operation.
    Established {
        /// The connection.
        connection: u16,
    },
    /// The peer has rejected.
    Rejected {
        /// The connection.
        connection: u16,
        /// The Reply's IRD/ORD block as sent, with revision 2.
        block: Option<Block>,
        /// Its private data.
        private_data: PrivateData,
    },
    /// Start-up has failed.
    Failed {
        /// The connection.
        connection: u16,
        /// Why.
        cause: FailureCause,
        /// Error type (RFC 5044 §8).
        error_type: u8,
        /// Error code.
        code: u8,
    },
    /// The peer has sent its FIN.
    HalfClosed {
        /// The connection.
        connection: u16,
    },
    /// The TCP connection is gone.
    Closed {
        /// The connection.
        connection: u16,
        /// How it ended.
        reason: CloseReason,
    },
    /// A message of the host was not carried out.
    Refused {
        /// Number in that message.
        number: u16,
        /// `KIND` of that message, also if there is none such.
        kind: u8,
        /// Why.
        reason: Refusal,
    },
    /// The settings are in force.
    Configured,
}

impl CardMessage {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> CardKind {
        match self {
            Self::Listening { .. } => CardKind::Listening,
            Self::ListenFailed { .. } => CardKind::ListenFailed,
            Self::Requested(_) => CardKind::Requested,
            Self::Armed(_) => CardKind::Armed,
            Self::Established { .. } => CardKind::Established,
            Self::Rejected { .. } => CardKind::Rejected,
            Self::Failed { .. } => CardKind::Failed,
            Self::HalfClosed { .. } => CardKind::HalfClosed,
            Self::Closed { .. } => CardKind::Closed,
            Self::Refused { .. } => CardKind::Refused,
            Self::Configured => CardKind::Configured,
        }
    }

    /// Number of its connection or listener; 0 in `CONFIGURED`.
    #[must_use]
    pub const fn number(&self) -> u16 {
        match *self {
            Self::Listening { listener, .. } | Self::ListenFailed { listener, .. } => listener,
            Self::Requested(Requested { connection, .. })
            | Self::Armed(Armed { connection, .. })
            | Self::Established { connection }
            | Self::Rejected { connection, .. }
            | Self::Failed { connection, .. }
            | Self::HalfClosed { connection }
            | Self::Closed { connection, .. } => connection,
            Self::Refused { number, .. } => number,
            Self::Configured => 0,
        }
    }

    /// The words for `MAILBOX`.
    #[must_use]
    pub fn emit(&self) -> Words {
        let mut words = [0; message::WORDS];
        message::KIND.put(&mut words, self.kind() as u64);
        message::NUMBER.put(&mut words, self.number().into());
        match self {
            Self::Listening { port, .. } => message_address::PORT.put(&mut words, (*port).into()),
            Self::ListenFailed { reason, .. } => {
                message::REASON.put(&mut words, *reason as u64);
            }
            Self::Requested(requested) => {
                message::DETAIL.put(&mut words, requested.listener.into());
                ADDRESS.put(&mut words, requested.address);
                message_depths::REVISION.put(&mut words, requested.revision.into());
                Block::put(requested.block, &mut words);
                requested.private_data.put(&mut words);
            }
            Self::Armed(armed) => put_armed(armed, &mut words),
            Self::Rejected {
                block,
                private_data,
                ..
            } => {
                Block::put(*block, &mut words);
                private_data.put(&mut words);
            }
            Self::Failed {
                cause,
                error_type,
                code,
                ..
            } => {
                message::REASON.put(&mut words, *cause as u64);
                let number = u64::from(*error_type & 0xf) << 8 | u64::from(*code);
                message::DETAIL.put(&mut words, number);
            }
            Self::Closed { reason, .. } => message::REASON.put(&mut words, *reason as u64),
            Self::Refused { kind, reason, .. } => {
                message::REASON.put(&mut words, *reason as u64);
                message::DETAIL.put(&mut words, (*kind).into());
            }
            Self::Established { .. } | Self::HalfClosed { .. } | Self::Configured => {}
        }
        words
    }

    /// Reads words that a control program has written.
    ///
    /// # Errors
    /// [`MessageError`]: a kind or a reason that does not exist, too much private data, a detail that is none.
    pub fn parse(words: &Words) -> Result<Self, MessageError> {
        let kind = get(words, message::KIND);
        let number = half(words, message::NUMBER);
        let kind = CardKind::parse(kind).ok_or(MessageError::Kind { kind: kind as u8 })?;
        let connection = number;
        let reason = get(words, message::REASON);
        let bad_reason = MessageError::Reason {
            kind: kind as u8,
            reason: reason as u8,
        };
        let detail = half(words, message::DETAIL);
        let bad_detail = MessageError::Detail {
            kind: kind as u8,
            detail,
        };
        Ok(match kind {
            CardKind::Listening => Self::Listening {
                listener: number,
                port: half(words, message_address::PORT),
            },
            CardKind::ListenFailed => Self::ListenFailed {
                listener: number,
                reason: ListenFailure::parse(reason).ok_or(bad_reason)?,
            },
            CardKind::Requested => Self::Requested(Requested {
                connection,
                listener: detail,
                address: ADDRESS.get(words),
                revision: get(words, message_depths::REVISION) as u8,
                block: Block::get(words),
                private_data: PrivateData::get(words)?,
            }),
            CardKind::Armed => Self::Armed(get_armed(words)?),
            CardKind::Established => Self::Established { connection },
            CardKind::Rejected => Self::Rejected {
                connection,
                block: Block::get(words),
                private_data: PrivateData::get(words)?,
            },
            CardKind::Failed => {
                if detail > 0xfff {
                    return Err(bad_detail);
                }
                Self::Failed {
                    connection,
                    cause: FailureCause::parse(reason).ok_or(bad_reason)?,
                    error_type: (detail >> 8) as u8,
                    code: detail as u8,
                }
            }
            CardKind::HalfClosed => Self::HalfClosed { connection },
            CardKind::Closed => Self::Closed {
                connection,
                reason: CloseReason::parse(reason).ok_or(bad_reason)?,
            },
            CardKind::Refused => Self::Refused {
                number,
                kind: u8::try_from(detail).map_err(|_| bad_detail)?,
                reason: Refusal::parse(reason).ok_or(bad_reason)?,
            },
            CardKind::Configured => Self::Configured,
        })
    }
}

fn put_armed(armed: &Armed, words: &mut Words) {
    message_armed::STREAM.put(words, armed.stream.into());
    message_armed::EMSS.put(words, armed.emss.into());
    message_armed::SEND_MARKERS.put(words, armed.send_markers.into());
    message_armed::RECEIVE_MARKERS.put(words, armed.receive_markers.into());
    message_armed::CRC.put(words, armed.crc.into());
    message_armed::PEER_IRD.put(words, armed.peer_depths.0.into());
    message_armed::PEER_ORD.put(words, armed.peer_depths.1.into());
    message_depths::REVISION.put(words, armed.revision.into());
    Block::put(armed.settled, words);
    armed.private_data.put(words);
}

fn get_armed(words: &Words) -> Result<Armed, MessageError> {
    Ok(Armed {
        connection: half(words, message::NUMBER),
        stream: get(words, message_armed::STREAM) as u8,
        emss: half(words, message_armed::EMSS),
        revision: get(words, message_depths::REVISION) as u8,
        send_markers: flag(words, message_armed::SEND_MARKERS),
        receive_markers: flag(words, message_armed::RECEIVE_MARKERS),
        crc: flag(words, message_armed::CRC),
        settled: Block::get(words),
        peer_depths: (
            half(words, message_armed::PEER_IRD),
            half(words, message_armed::PEER_ORD),
        ),
        private_data: PrivateData::get(words)?,
    })
}

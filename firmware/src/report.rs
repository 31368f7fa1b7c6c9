//! Messages to the host, made from an entry when they are sent.

use crate::entry::{Entry, Notes};
use crate::network::Network;
use crate::settings::kinds;
use crate::settled::Settled;
use warpline_regmap::mailbox::{
    Armed, Block, CardMessage, CloseReason, FailureCause, PrivateData, Requested,
};
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::start::{Frame, Rtr};

/// The message of one note of an entry.
pub(crate) fn message<N: Network>(entry: &Entry<N>, note: Notes) -> CardMessage {
    let connection = entry.number;
    if note == Notes::REQUESTED {
        let frame = entry.machine.peer();
        return CardMessage::Requested(Requested {
            connection,
            listener: entry.listener.unwrap_or(0),
            address: entry.peer,
            revision: frame.map_or(0, |frame| frame.revision),
            block: frame.and_then(block),
            private_data: private_data(entry, frame),
        });
    }
    if note == Notes::ARMED
        && let Some(settled) = &entry.settled
    {
        return CardMessage::Armed(armed(entry, settled));
    }
    if note == Notes::ESTABLISHED {
        return CardMessage::Established { connection };
    }
    if note == Notes::HALF_CLOSED {
        return CardMessage::HalfClosed { connection };
    }
    if note == Notes::REJECTED {
        let frame = entry.machine.peer();
        return CardMessage::Rejected {
            connection,
            block: frame.and_then(block),
            private_data: private_data(entry, frame),
        };
    }
    if note == Notes::FAILED {
        let unknown = (FailureCause::Network, ErrorNumber::MpaConnection);
        let (cause, number) = entry.failure.unwrap_or(unknown);
        return CardMessage::Failed {
            connection,
            cause,
            error_type: number.error_type(),
            code: number.code(),
        };
    }
    let reason = entry.closed.unwrap_or(CloseReason::Network);
    CardMessage::Closed { connection, reason }
}

fn armed<N: Network>(entry: &Entry<N>, settled: &Settled) -> Armed {
    let parameters = &settled.parameters;
    let agreement = parameters.agreement;
    Armed {
        connection: entry.number,
        stream: entry.stream.unwrap_or(u8::MAX),
        emss: settled.segment,
        revision: parameters.revision,
        send_markers: parameters.send_markers,
        receive_markers: parameters.receive_markers,
        crc: parameters.crc,
        settled: agreement.map(|agreement| Block {
            ird: agreement.ird,
            ord: agreement.ord,
            peer_to_peer: agreement.peer.peer_to_peer,
            rtr: kinds(agreement.rtr),
        }),
        peer_depths: agreement.map_or((0, 0), |agreement| (agreement.peer.ird, agreement.peer.ord)),
        private_data: match entry.machine.is_initiator() {
            true => private_data(entry, entry.machine.peer()),
            false => PrivateData::EMPTY,
        },
    }
}

/// The IRD/ORD block of a frame, as sent.
fn block(frame: Frame<'_>) -> Option<Block> {
    frame.negotiation.map(|block| Block {
        ird: block.ird,
        ord: block.ord,
        peer_to_peer: block.peer_to_peer,
        rtr: kinds(Rtr::of(&block)),
    })
}

/// Private data of the peer's frame, or of its control message; a frame has 512 octets at most.
fn private_data<N: Network>(entry: &Entry<N>, frame: Option<Frame<'_>>) -> PrivateData {
    if let Some(session) = entry.machine.session() {
        return session.private_data;
    }
    let octets = frame.map_or(&[][..], |frame| frame.private_data);
    PrivateData::new(octets).unwrap_or_default()
}

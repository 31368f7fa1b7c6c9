//! The other end of a stream.
#![allow(
    dead_code,
    reason = "each test file is a separate crate and uses a part"
)]

use warpline_driver::Stream;
use warpline_wire::send::{CrcField, FpduWriter, Message};

use crate::software_card::SoftwareCard;

/// A peer that sends on one stream.
pub struct Peer {
    card: SoftwareCard,
    stream: u8,
    sequence: u32,
    writer: FpduWriter,
}

impl Peer {
    /// A peer whose first octet has sequence number `sequence`.
    pub fn new(card: &SoftwareCard, stream: &Stream, sequence: u32) -> Self {
        Self::of(card, stream.number(), sequence)
    }

    /// As [`new`](Self::new), for a stream whose handle is elsewhere.
    pub fn of(card: &SoftwareCard, stream: u8, sequence: u32) -> Self {
        Self {
            card: card.clone(),
            stream,
            sequence,
            writer: FpduWriter::new(false, CrcField::Computed),
        }
    }

    /// Sends a message.
    pub fn send(&mut self, message: Message, payload: &[u8]) {
        let mut octets = Vec::new();
        let mulpdu = 1000;
        self.writer
            .append_message(message, payload, mulpdu, &mut octets)
            .unwrap();
        self.send_octets(&octets);
    }

    /// Sends octets as one segment.
    pub fn send_octets(&mut self, octets: &[u8]) {
        self.card.segment(self.stream, self.sequence, octets);
        self.sequence = self.sequence.wrapping_add(octets.len() as u32);
    }

    /// Sends a tagged message.
    pub fn write(&mut self, stag: u32, to: u64, payload: &[u8]) {
        let rsvd_ulp = 0x40;
        self.send(Message::Tagged { stag, to, rsvd_ulp }, payload);
    }

    /// Sends a Read Response.
    pub fn respond(&mut self, stag: u32, to: u64, payload: &[u8]) {
        let rsvd_ulp = 0x42;
        self.send(Message::Tagged { stag, to, rsvd_ulp }, payload);
    }

    /// Sends a message of RDMAP.
    pub fn rdmap(&mut self, opcode: u8, qn: u32, msn: u32, invalidate: u32, payload: &[u8]) {
        let [a, b, c, d] = invalidate.to_be_bytes();
        let rsvd_ulp = [0x40 | opcode, a, b, c, d];
        self.send(Message::Untagged { qn, msn, rsvd_ulp }, payload);
    }

    /// Sends an untagged message.
    pub fn untagged(&mut self, qn: u32, msn: u32, payload: &[u8]) {
        let rsvd_ulp = [0x43, 1, 2, 3, 4];
        self.send(Message::Untagged { qn, msn, rsvd_ulp }, payload);
    }
}

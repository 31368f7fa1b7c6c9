//! Captures made by tests, replayed on the card at 64 bits.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;

use super::common::{Wire, frame};
use tempfile::TempDir;
use warpline::replay::{Choice, Replay, Replayed, replay};
use warpline_capture::{Capture, Segmentation, Side};
use warpline_hdl::Config;
use warpline_sim::{Card, CardOptions};
use warpline_wire::send::{CrcField, FpduWriter, Message};

/// First sequence numbers of client and server.
pub const CLIENT: u32 = 100;
pub const SERVER: u32 = 5000;
/// C of a start frame: CRCs are requested.
pub const CRC: u8 = 0x40;
/// Octets of a start frame without private data.
pub const FRAME: u32 = 20;

pub fn card() -> Card {
    Card::open(&Config::simulated(64), CardOptions::default()).unwrap()
}

/// A connection with CRCs in full operation; returns the client's next sequence number, too.
pub fn started() -> (Wire, u32) {
    let mut wire = Wire::default();
    wire.handshake(Side::Client, CLIENT, SERVER);
    let request = frame(b"MPA ID Req Frame", CRC, 1, b"");
    wire.segment(Side::Client, CLIENT + 1, &request);
    let reply = frame(b"MPA ID Rep Frame", CRC, 1, b"");
    wire.segment(Side::Server, SERVER + 1, &reply);
    (wire, CLIENT + 1 + FRAME)
}

/// The FPDUs of a message.
pub fn fpdus(message: Message, payload: &[u8], mulpdu: u16) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    writer
        .append_message(message, payload, mulpdu, &mut octets)
        .unwrap();
    octets
}

pub fn send(msn: u32, payload: &[u8]) -> Vec<u8> {
    let message = Message::Untagged {
        qn: 0,
        msn,
        rsvd_ulp: [0x43, 0, 0, 0, 0],
    };
    fpdus(message, payload, 1442)
}

pub fn write(stag: u32, to: u64, payload: &[u8]) -> Vec<u8> {
    let message = Message::Tagged {
        stag,
        to,
        rsvd_ulp: 0x40,
    };
    fpdus(message, payload, 1442)
}

/// A capture file of these packets.
pub fn file(octets: &[u8]) -> (TempDir, Capture) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wire.pcap");
    fs::write(&path, octets).unwrap();
    let capture = Capture::open(&path).unwrap();
    (folder, capture)
}

pub fn replayed(card: &Card, wire: &Wire) -> Replayed {
    chosen(card, wire, Choice::default())
}

/// The result of a choice; it is as it should be.
pub fn chosen(card: &Card, wire: &Wire, choice: Choice) -> Replayed {
    let (_folder, capture) = file(&wire.pcap());
    let stream = Replay::of(&capture, choice).unwrap();
    let replayed = replay(card, &stream, Segmentation::AsCaptured, &mut |_, _| {}).unwrap();
    assert_eq!(replayed.differences, []);
    replayed
}

/// The client sends these octets in one segment after start-up.
pub fn sent(octets: &[u8]) -> Wire {
    let (mut wire, next) = started();
    wire.segment(Side::Client, next, octets);
    wire
}

/// Lengths of the messages that were delivered.
pub fn lengths(replayed: &Replayed) -> Vec<u32> {
    let messages = replayed.landed.messages.iter();
    let lengths = messages.map(|message| match *message {
        warpline::replay::Message::Tagged { length, .. }
        | warpline::replay::Message::Untagged { length, .. } => length,
    });
    lengths.collect()
}

/// The FPDU of a ULPDU, whatever it holds.
pub fn raw(ulpdu: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    writer.append(&[], ulpdu, &mut octets).unwrap();
    octets
}

/// Whether a warning begins so.
pub fn says(replayed: &Replayed, line: &str) -> bool {
    let warnings = replayed.report.warnings.iter();
    warnings.filter(|warning| warning.starts_with(line)).count() == 1
}

/// Type and code of the errors.
pub fn errors(replayed: &Replayed) -> Vec<(u8, u8)> {
    let errors = replayed.report.errors.iter();
    errors.map(|error| (error.kind, error.code)).collect()
}

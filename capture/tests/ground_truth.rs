//! Is the traffic that this crate hands out the traffic that made the ground truth?
//!
//! A separate interpreter, limited to what these runs need (no markers, one region, receive buffers in order), places the
//! target flow into memory filled with 0xEE and 0xDD. It must arrive at the recorded images and completions.

mod common;

use common::{CAPTURES, open};
use warpline_capture::{Capture, Side};

/// Splits a markerless stream into ULPDUs with their CRC field (RFC 5044 §4).
fn fpdus(mut stream: &[u8]) -> Vec<(&[u8], &[u8], [u8; 4])> {
    let mut fpdus = Vec::new();
    while !stream.is_empty() {
        let length = usize::from(u16::from_be_bytes([stream[0], stream[1]]));
        let covered = (2 + length).next_multiple_of(4);
        let crc = *stream[covered..].first_chunk().unwrap();
        fpdus.push((&stream[2..2 + length], &stream[..covered], crc));
        stream = &stream[covered + 4..];
    }
    fpdus
}

fn octets(capture: &Capture, side: Side) -> Vec<u8> {
    capture.connections[0].flow(side).unwrap().octets().unwrap()
}

/// The number of FPDUs with a correct CRC (MPA-CRC: least significant octet first), and of all.
fn correct_crcs(stream: &[u8]) -> (usize, usize) {
    let fpdus = fpdus(stream);
    let correct = |(_, covered, crc): &&(&[u8], &[u8], [u8; 4])| {
        crc32c::crc32c(covered).to_le_bytes() == *crc
    };
    (fpdus.iter().filter(correct).count(), fpdus.len())
}

// req: MPA-CRC-15
#[test]
fn every_fpdu_has_a_correct_crc() {
    for name in CAPTURES.into_iter().filter(|n| n.starts_with("crc1")) {
        let capture = open(name);
        let (correct, all) = correct_crcs(&octets(&capture, Side::Client));
        assert_eq!(correct, all, "{name}");
        assert!(all > 0, "{name}");
        let (correct, all) = correct_crcs(&octets(&capture, Side::Server));
        assert_eq!(correct, all, "{name}");
    }
}

#[test]
fn without_crc_the_field_is_zero() {
    let stream = octets(&open("crc0-rev2-writes"), Side::Client);
    let fpdus = fpdus(&stream);
    assert!(fpdus.len() > 200 && fpdus.iter().all(|(_, _, crc)| *crc == [0; 4]));
}

#[test]
fn the_crc_oracle_notices_one_flipped_bit() {
    let mut stream = octets(&open("crc1-rev2-sends"), Side::Client);
    let (correct, all) = correct_crcs(&stream);
    stream[40] ^= 1;
    assert_eq!(correct_crcs(&stream), (correct - 1, all));
}

/// Memory and receive buffers after the flow, and the lengths of the received messages.
struct Outcome {
    memory: Vec<u8>,
    buffers: Vec<u8>,
    received: Vec<usize>,
}

fn carry_out(capture: &Capture) -> Outcome {
    let regions = capture.regions.as_ref().unwrap();
    let slot = regions.recv_len as usize;
    let mut outcome = Outcome {
        memory: vec![0xEE; regions.len as usize],
        buffers: vec![0xDD; regions.receive_buffers_len() as usize],
        received: Vec::new(),
    };
    let stream = capture.target_flow().octets().unwrap();
    for (ulpdu, _, _) in fpdus(&stream) {
        let word = |at: usize| u32::from_be_bytes(*ulpdu[at..].first_chunk().unwrap());
        let tagged = ulpdu[0] & 0x80 != 0;
        let last = ulpdu[0] & 0x40 != 0;
        if tagged {
            let offset = u64::from_be_bytes(*ulpdu[6..].first_chunk().unwrap());
            let payload = &ulpdu[14..];
            let at = offset.wrapping_sub(regions.addr);
            if word(2) != regions.rkey || at + payload.len() as u64 > regions.len {
                break; // the stream ends with its first error
            }
            outcome.memory[at as usize..][..payload.len()].copy_from_slice(payload);
        } else if word(6) == 0 {
            // Queue 0: Sends. Queue 1 carries Read Requests, which place nothing.
            let (index, offset, payload) =
                (outcome.received.len(), word(14) as usize, &ulpdu[18..]);
            if index >= regions.recv_count as usize {
                break;
            }
            outcome.buffers[index * slot + offset..][..payload.len()].copy_from_slice(payload);
            if last {
                outcome.received.push(offset + payload.len());
            }
        }
    }
    outcome
}

#[test]
fn the_flow_makes_the_recorded_memory_buffers_and_completions() {
    for name in CAPTURES.into_iter().filter(|n| *n != "crc1-rping") {
        let capture = open(name);
        let outcome = carry_out(&capture);
        assert!(
            outcome.memory == *capture.memory.as_ref().unwrap(),
            "{name}: memory"
        );
        assert!(
            outcome.buffers == *capture.receive_buffers.as_ref().unwrap(),
            "{name}: receive buffers"
        );
        let completions = capture.completions.as_ref().unwrap();
        let completed: Vec<_> = completions
            .iter()
            .filter(|c| c.is_success())
            .map(|c| c.byte_len as usize)
            .collect();
        assert_eq!(outcome.received, completed, "{name}");
        assert!((0..).zip(completions).all(|(i, c)| c.wr_id == 1000 + i));
    }
}

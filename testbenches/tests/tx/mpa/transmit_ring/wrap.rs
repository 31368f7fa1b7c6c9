//! Stream positions that wrap, which takes 4 GiB: the text alone, without its twin, so that this takes a second.
//!
//! FPDUs that say to end 256 KiB further than they do move the edge there; what lies between is never read. When the end of
//! the position space is near, the stream goes on as streams do.

use std::collections::VecDeque;

use warpline_hdl::tx::mpa::transmit_ring::ports::{
    ACKNOWLEDGE, ANSWER, COMMAND_KIND, COMMAND_LENGTH, COMMAND_SEQUENCE, MEASURE, MOVED, SEND,
    STATUS_EDGE, STATUS_FREE, STATUS_KIND, STATUS_OCTETS,
};
use warpline_hdl::tx::mpa::transmit_ring::{ARM, RESET, TransmitRing};
use warpline_sv_writer::{Direction, write};
use warpline_testbenches::lockstep::sources;
use warpline_verilate::Model;
use warpline_wire::send::{CrcField, FpduWriter};

use crate::support::RING;

/// Octets of a beat.
const K: usize = 8;
/// Stream in use.
const STREAM: u64 = 2;
/// Longest way of an edge from the acknowledged position.
const LEAP: u32 = (1 << 18) - 4;

struct Text {
    model: Model,
    start: u32,
    octets: Vec<u8>,
    reports: VecDeque<(u64, u32, u32, u16)>,
    freed: Vec<u32>,
}

impl Text {
    fn new(start: u32) -> Self {
        let block = TransmitRing::<64, 8, 2, 3, 1, 4>::new(RING);
        let design = write(&block, "transmit_ring_wrap").unwrap();
        let mut model = sources("transmit_ring_wrap", &design).open().unwrap();
        for port in design
            .ports
            .iter()
            .filter(|port| port.direction == Direction::Input)
        {
            let found = model.port(&port.name).unwrap();
            model.set_words(found, &vec![0; port.width.div_ceil(32)]);
        }
        let mut text = Self {
            model,
            start,
            octets: vec![],
            reports: VecDeque::new(),
            freed: vec![],
        };
        for (name, value) in [("m_axis_transmit_tready", 1), ("m_axis_status_tready", 1)] {
            text.set(name, &[value]);
        }
        text.set("reset", &[1]);
        (0..RESET).for_each(|_| text.cycle());
        text.set("reset", &[0]);
        text.set("stream", &[STREAM as u32]);
        text.set("sequence_start", &[start]);
        text.set("arm", &[1]);
        text.cycle();
        text.set("arm", &[0]);
        (0..ARM).for_each(|_| text.cycle());
        text
    }

    fn set(&mut self, name: &str, words: &[u32]) {
        let port = self.model.port(name).unwrap();
        self.model.set_words(port, words);
    }

    fn words(&self, name: &str) -> Vec<u32> {
        self.model.to_words(self.model.port(name).unwrap())
    }

    fn flag(&self, name: &str) -> bool {
        self.words(name)[0] == 1
    }

    /// A cycle, and what comes out in it.
    fn cycle(&mut self) {
        self.set("clock", &[0]);
        self.model.eval().unwrap();
        if self.flag("m_axis_transmit_tvalid") {
            let data = self.words("m_axis_transmit_tdata");
            let octets = data.iter().flat_map(|word| word.to_le_bytes());
            let kept = self.words("m_axis_transmit_tkeep")[0].count_ones();
            self.octets.extend(octets.take(kept as usize));
        }
        if self.flag("m_axis_status_tvalid") {
            let data = self.words("m_axis_status_tdata");
            let octets = data[STATUS_OCTETS / 32] as u16;
            let kind = u64::from(data[STATUS_KIND / 32] >> (STATUS_KIND % 32));
            let [edge, free] = [STATUS_EDGE, STATUS_FREE].map(|at| data[at / 32]);
            self.reports.push_back((kind, edge, free, octets));
        }
        if self.flag("freed") {
            self.freed.push(self.words("freed_position")[0]);
        }
        self.set("clock", &[1]);
        self.model.eval().unwrap();
    }

    /// Writes an FPDU, beat by beat.
    fn write(&mut self, position: u32, octets: &[u8]) {
        let beats = octets.chunks(K).enumerate();
        let count = octets.len().div_ceil(K);
        for (index, beat) in beats {
            let at = position.wrapping_add((index * K) as u32);
            let dwords = (beat.len() / 4) as u64;
            let (first, last) = (u64::from(index == 0), u64::from(index + 1 == count));
            // the fields of `FramedBeat`, the first one in the lowest bits
            let record = STREAM | u64::from(at) << 8 | dwords << 40 | first << 45 | last << 46;
            self.set("s_beat", &[record as u32, (record >> 32) as u32]);
            let mut data = [0; K];
            data[..beat.len()].copy_from_slice(beat);
            let data = u64::from_le_bytes(data);
            self.set("s_data", &[data as u32, (data >> 32) as u32]);
            self.set("s_valid", &[1]);
            self.cycle();
        }
        self.set("s_valid", &[0]);
    }

    fn command(&mut self, kind: u64, position: u32, length: u16) {
        let sequence = self.start.wrapping_add(position);
        let data = u64::from(sequence) << COMMAND_SEQUENCE
            | u64::from(length) << COMMAND_LENGTH
            | kind << COMMAND_KIND;
        self.set("s_axis_send_tdata", &[data as u32, (data >> 32) as u32]);
        self.set("s_axis_send_tdest", &[STREAM as u32]);
        self.set("s_axis_send_tvalid", &[1]);
        while !self.flag("s_axis_send_tready") {
            self.cycle();
        }
        self.cycle();
        self.set("s_axis_send_tvalid", &[0]);
    }

    fn settle(&mut self) {
        (0..40 + RING / K).for_each(|_| self.cycle());
    }
}

#[test]
fn positions_wrap() {
    let mut text = Text::new(0x1234_5678);
    let (mut position, near_the_end) = (0_u32, 0_u32.wrapping_sub(1000));
    while position < near_the_end {
        let leap = LEAP.min(near_the_end - position);
        text.write(position.wrapping_add(leap - 4), &[0; 4]);
        position += leap;
        // the edge is there when the command reads it
        (0..6).for_each(|_| text.cycle());
        text.command(ACKNOWLEDGE, position, 0);
    }
    text.settle();
    assert_eq!(text.freed.last(), Some(&near_the_end));
    text.reports.clear();

    // FPDUs across the end, which is a boundary for none of them
    let mut rng = fastrand::Rng::with_seed(1);
    let mut writer = FpduWriter::at(position, true, CrcField::Computed);
    let (mut all, mut ends) = (vec![], vec![]);
    for length in [100, 301, 1, 700, 18, 900] {
        let octets: Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
        let (from, at) = (all.len(), writer.position());
        writer.append(&[], &octets, &mut all).unwrap();
        ends.push(all.len());
        text.write(at, &all[from..]);
    }
    text.settle();
    let edge = text
        .start
        .wrapping_add(near_the_end)
        .wrapping_add(all.len() as u32);
    let free = (RING - all.len()) as u32;
    assert!(near_the_end.checked_add(all.len() as u32).is_none() && !ends.contains(&1000));
    assert_eq!(text.reports.pop_back(), Some((MOVED, edge, free, 0)));
    text.reports.clear();

    for _ in 0..100 {
        let from = rng.usize(0..all.len());
        let length = rng.usize(1..=all.len() - from);
        let at = near_the_end.wrapping_add(from as u32);
        text.octets.clear();
        text.command(SEND, at, length as u16);
        text.settle();
        assert!(text.octets == all[from..from + length], "{from}, {length}");
        let limit = from + rng.usize(0..1500);
        text.command(MEASURE, at, (limit - from) as u16);
        text.settle();
        let last = ends.iter().rfind(|end| (from + 1..=limit).contains(*end));
        let answer = last.map_or(0, |end| end - from);
        let due = (ANSWER, edge, free, answer as u16);
        assert_eq!(text.reports.pop_back(), Some(due), "{from}, {limit}");
        assert!(text.reports.is_empty());
    }
    let behind = near_the_end.wrapping_add(1500);
    text.command(ACKNOWLEDGE, behind, 0);
    text.command(SEND, behind, (all.len() - 1500) as u16);
    text.command(SEND, behind.wrapping_sub(1), 1);
    text.octets.clear();
    text.settle();
    assert_eq!(text.freed.last(), Some(&behind));
    assert!(text.octets == all[1500..] && text.reports.len() == 1);
}

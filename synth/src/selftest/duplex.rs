//! The self-test of the device that sends: its program, and the ROM that it reads.
//!
//! ```text
//!  streams, regions, rings ─► program: one register access a row
//!  requests ─► slots ─┬─► ROM: slots, octets to send, descriptors
//!  octets ────────────┤
//!                     └─► expected memory ─► its CRC32C, compared on the board
//! ```
//!
//! Stream n sends to stream n xor 1 ([`peer`]): a Write of three pieces, an inline Write, a Send, and, if n is even, a Read Request that the
//! device answers. What memory must hold is copied here, not sent.

use std::ops::Range;

use warpline_regmap::layout::{receive_descriptor, receive_ring, stag_entry};
use warpline_regmap::register::{self, command};
use warpline_regmap::transmit::{
    self, Element, Flags, Gather, Inline, Payload, READ_BUFFER_OCTETS, SLOT_OCTETS, SendRequest,
    Target, read_responder, send_ring, transmit_context,
};
use warpline_wire::rdmap::{Control, Opcode, ReadRequest, Version, queue};

use super::fault::Fault;
use super::program::{Octets, Program, STREAMS, TAGGED_OFFSET, sequence_start};
use super::rom::{Style, few_block_rams, rom};
use crate::error::Error;

const SOURCE: &str = "warpline_selftest_source";

/// Octets of memory whose CRC is compared, from address 0 on.
const OCTETS_SUMMED: usize = 10 << 10;
/// Each stream's region that its peer writes.
const REGION: usize = 2 << 10;
/// The receive buffers.
const BUFFERS_AT: usize = 8 << 10;
const BUFFER: usize = 512;
const COMPLETIONS_AT: u32 = 12 << 10;
const COMPLETION_ENTRIES: u32 = 64;
/// Buffers for Read Requests.
const REQUESTS_AT: usize = 14 << 10;
const REQUESTS_LOG: u32 = 4;
const REQUESTS: usize = READ_BUFFER_OCTETS << REQUESTS_LOG;

/// The ROM begins at this address, and has as many octets.
const ROM: usize = 16 << 10;
/// Send rings, in the ROM.
const SLOTS_AT: usize = 0;
const SLOTS: u32 = 4;
const RING: usize = SLOTS as usize * SLOT_OCTETS as usize;
/// Octets to send.
const OCTETS_AT: usize = 4 << 10;
const OCTETS: usize = 2 << 10;
/// Descriptors of the buffers for Read Requests.
const DESCRIPTORS_AT: usize = 12 << 10;
const DESCRIPTORS: usize = 512;

/// Octets of a TCP segment's payload, and of the messages.
const EMSS: u64 = 620;
const PIECES: [Range<usize>; 3] = [3..700, 701..702, 1000..1500];
const INLINE: usize = 41;
const SEND: usize = 300;
const READ: usize = 505;
/// Where they go in the region: no multiple of a beat.
const WRITTEN_AT: usize = 5;
const INLINE_AT: usize = 1301;
const READ_AT: usize = 1403;

/// What is received from a stream is what this one sends.
const fn peer(stream: usize) -> usize {
    stream ^ 1
}

/// The STag of the region that the peer of `stream` writes.
const fn sink_stag(stream: usize) -> u32 {
    0x1100 + 0x100 * stream as u32
}

/// The STag of what `stream` sends.
const fn source_stag(stream: usize) -> u32 {
    0x2100 + 0x100 * stream as u32
}

/// The self-test of a device that sends.
#[derive(Clone, Debug)]
pub struct DuplexTest {
    width: usize,
    program: Program,
    rom: Vec<u8>,
    completions: u32,
    /// Expected memory after the test.
    pub memory: Vec<u8>,
}

impl DuplexTest {
    /// The self-test of a device of `width` bits.
    ///
    /// # Errors
    /// [`Error::Request`] when a request cannot be made: a defect of this crate.
    pub fn new(width: usize, fault: Option<Fault>) -> Result<Self, Error> {
        let mut test = Self {
            width,
            program: Program::default(),
            rom: vec![0; ROM],
            completions: 0,
            memory: vec![0; OCTETS_SUMMED],
        };
        test.program.queue(COMPLETIONS_AT, COMPLETION_ENTRIES);
        for stream in 0..STREAMS {
            test.arm(stream);
        }
        for stream in (1..STREAMS).step_by(2) {
            test.respond(stream);
        }
        for stream in 0..STREAMS {
            let slots = test.requests(stream)?;
            let mut word = [0];
            transmit::SEND_PRODUCER_STREAM.put(&mut word, stream as u64);
            transmit::SEND_PRODUCER_COUNT.put(&mut word, slots);
            test.program.write(transmit::SEND_PRODUCER, 0, word[0]);
        }
        if fault == Some(Fault::Traffic) {
            test.rom[OCTETS_AT + 20] ^= 1;
        }
        test.program.traffic();
        test.program
            .expect(register::COMPLETION_PRODUCER, test.completions);
        test.program.expect(register::ERRORS, 0);
        test.program.close_all();
        test.program.sum(&test.memory, fault);
        Ok(test)
    }

    /// Both directions of a stream with their regions, and a buffer. Odd streams send markers.
    fn arm(&mut self, stream: usize) {
        let markers = |stream: usize| stream % 2 == 1;
        let source = ROM + OCTETS_AT + stream * OCTETS;
        self.program.write_stag(
            sink_stag(stream),
            stag_entry::REMOTE_WRITE,
            stream * REGION,
            REGION,
        );
        self.program
            .write_stag(source_stag(stream), transmit::REMOTE_READ, source, OCTETS);
        let queues = 1 << queue::SEND | 1 << queue::READ_REQUEST;
        let from = peer(stream);
        self.program
            .arm(stream, markers(from), sequence_start(from), queues);

        let mut words = [0; transmit_context::WORDS];
        transmit_context::STREAM.put(&mut words, stream as u64);
        transmit_context::MARKERS.put(&mut words, markers(stream).into());
        transmit_context::CRC.put(&mut words, 1);
        transmit_context::EMSS.put(&mut words, EMSS);
        transmit_context::SEQUENCE_START.put(&mut words, sequence_start(stream).into());
        transmit_context::FIRST_MSN.put(&mut words, 1);
        self.program.command(transmit::ARM_TRANSMIT, &words);

        let mut words = [0; send_ring::WORDS];
        send_ring::STREAM.put(&mut words, stream as u64);
        send_ring::ENTRIES.put(&mut words, SLOTS.into());
        send_ring::BASE.put(&mut words, (ROM + SLOTS_AT + stream * RING) as u64);
        self.program.command(transmit::SET_SEND_RING, &words);

        self.program
            .post(stream, BUFFERS_AT + stream * BUFFER, BUFFER);
    }

    /// The device answers the Read Requests of the peer of an odd stream.
    fn respond(&mut self, stream: usize) {
        let requests = REQUESTS_AT + stream / 2 * REQUESTS;
        let descriptors = DESCRIPTORS_AT + stream / 2 * DESCRIPTORS;
        let entries = 1 << REQUESTS_LOG;
        for index in 0..entries {
            let mut words = [0; receive_descriptor::WORDS];
            let buffer = requests + index * READ_BUFFER_OCTETS;
            receive_descriptor::ADDRESS.put(&mut words, buffer as u64);
            receive_descriptor::LENGTH.put(&mut words, READ_BUFFER_OCTETS as u64);
            let at = descriptors + index * 4 * receive_descriptor::WORDS;
            store(&mut self.rom, at, &words);
        }

        let mut words = [0; receive_ring::WORDS];
        receive_ring::STREAM.put(&mut words, stream as u64);
        receive_ring::QUEUE.put(&mut words, queue::READ_REQUEST.into());
        receive_ring::ENTRIES.put(&mut words, entries as u64);
        receive_ring::BASE.put(&mut words, (ROM + descriptors) as u64);
        self.program.command(command::SET_RECEIVE_RING, &words);
        let doorbell = stream as u32 * register::RECEIVE_PRODUCER_STRIDE + queue::READ_REQUEST;
        self.program.write(register::RECEIVE_PRODUCER, doorbell, 2);

        let mut words = [0; read_responder::WORDS];
        read_responder::STREAM.put(&mut words, stream as u64);
        read_responder::ON.put(&mut words, 1);
        read_responder::ENTRIES_LOG.put(&mut words, REQUESTS_LOG.into());
        read_responder::FIRST_MSN.put(&mut words, 1);
        read_responder::BASE.put(&mut words, requests as u64);
        self.program.command(transmit::SET_READ_RESPONDER, &words);
    }

    /// Writes the slots of a stream, what they send and what that makes of memory; returns their number.
    fn requests(&mut self, stream: usize) -> Result<u64, Error> {
        let to = peer(stream);
        let source = OCTETS_AT + stream * OCTETS;
        let mut octets = Octets(0x9e37_79b9 ^ stream as u32);
        self.rom[source..][..OCTETS].copy_from_slice(&octets.take(OCTETS));
        let sent = self.rom[source..][..OCTETS].to_vec();
        let inline = octets.take(INLINE);

        let element = |range: &Range<usize>| Element {
            stag: source_stag(stream),
            length: range.len() as u32,
            offset: TAGGED_OFFSET + range.start as u64,
        };
        let tagged = |at: usize| Target::Tagged {
            stag: sink_stag(to),
            offset: TAGGED_OFFSET + at as u64,
            rsvd_ulp: Control::new(Version::Ietf, Opcode::Write).0,
        };
        let untagged = |opcode, queue| Target::Untagged {
            queue,
            rsvd_ulp: [Control::new(Version::Ietf, opcode).0, 0, 0, 0, 0],
        };
        let gather = |ranges: &[Range<usize>]| -> Result<Payload, Error> {
            let elements: Vec<_> = ranges.iter().map(element).collect();
            Ok(Payload::Gather(Gather::new(&elements)?))
        };
        let message = OCTETS - SEND..OCTETS;
        let mut requests = vec![
            (tagged(WRITTEN_AT), gather(&PIECES)?),
            (tagged(INLINE_AT), Payload::Inline(Inline::new(&inline)?)),
            (
                untagged(Opcode::Send, queue::SEND),
                gather(std::slice::from_ref(&message))?,
            ),
        ];

        let written: Vec<u8> = PIECES
            .iter()
            .flat_map(|range| &sent[range.clone()])
            .copied()
            .collect();
        self.expect_at(to * REGION + WRITTEN_AT, &written);
        self.expect_at(to * REGION + INLINE_AT, &inline);
        self.expect_at(BUFFERS_AT + to * BUFFER, &sent[message]);
        if stream.is_multiple_of(2) {
            let request = ReadRequest {
                sink_stag: sink_stag(stream),
                sink_to: TAGGED_OFFSET + READ_AT as u64,
                size: READ as u32,
                source_stag: source_stag(to),
                source_to: TAGGED_OFFSET,
            };
            let payload = Payload::Inline(Inline::new(&request.emit())?);
            requests.push((untagged(Opcode::ReadRequest, queue::READ_REQUEST), payload));
            // what the peer sends is made from its own seed
            let read = Octets(0x9e37_79b9 ^ to as u32).take(READ);
            self.expect_at(stream * REGION + READ_AT, &read);
            self.completions += 1; // of the response; its request goes to the device
        }
        let count = requests.len();
        // one at this end for each request, one at the other end for each message but the Read Request
        self.completions += count as u32 + 3;
        let flags = Flags {
            signalled: true,
            ..Flags::default()
        };
        for (index, (target, payload)) in requests.into_iter().enumerate() {
            let slot = SendRequest::new(target, flags, index as u64, payload)?.emit();
            let at = SLOTS_AT + stream * RING + index * SLOT_OCTETS as usize;
            store(&mut self.rom, at, &slot);
        }
        Ok(count as u64)
    }

    fn expect_at(&mut self, at: usize, octets: &[u8]) {
        self.memory[at..][..octets.len()].copy_from_slice(octets);
    }

    /// Rows of the program.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.program.rows()
    }

    /// Both ROMs as SystemVerilog: file name and text.
    #[must_use]
    pub fn roms(&self) -> Vec<(String, String)> {
        let octets = self.width / 8;
        let rows: Vec<String> = (self.rom.chunks(octets))
            .map(|row| row.iter().rev().map(|o| format!("{o:02x}")).collect())
            .collect();
        let style = match few_block_rams(self.width) {
            true => Style::Luts,
            false => Style::BlockRam,
        };
        let address = rows.len().ilog2() as usize;
        vec![
            self.program.rom(style),
            rom(
                SOURCE,
                self.width,
                address,
                Style::BlockRamWithEnable,
                &rows,
            ),
        ]
    }
}

/// Writes words into octets, the first octet in bits 7:0 of the first word.
fn store(octets: &mut [u8], at: usize, words: &[u32]) {
    for (octets, word) in octets[at..].chunks_exact_mut(4).zip(words) {
        octets.copy_from_slice(&word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_and_the_parts_of_the_rom_have_room() {
        let test = DuplexTest::new(64, None).unwrap();
        assert!(test.rows() <= 256, "{}", test.rows());
        assert!(test.completions < COMPLETION_ENTRIES);
        const { assert!(SLOTS_AT + STREAMS * RING <= OCTETS_AT) };
        const { assert!(OCTETS_AT + STREAMS * OCTETS <= DESCRIPTORS_AT) };
        const { assert!(DESCRIPTORS_AT + STREAMS / 2 * DESCRIPTORS <= ROM) };
        const { assert!(REQUESTS_AT + STREAMS / 2 * REQUESTS <= ROM) };
        const { assert!(READ_AT + READ <= REGION && INLINE_AT + INLINE <= READ_AT) };
    }
}

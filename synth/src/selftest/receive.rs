//! The self-test of the device that receives: its two ROMs, made from the register description and the sender.
//!
//! ```text
//!  streams, regions, buffers ─► program: one register access a row
//!  messages ─► FPDUs ─► segments of all streams, mixed ─► traffic: one beat a row, or half a beat
//!           └─► expected memory ─► its CRC32C, compared on the board
//! ```

use warpline_hdl::parts::axi::USER_FIN;
use warpline_regmap::layout::stag_entry;
use warpline_regmap::register;
use warpline_wire::send::{CrcField, FpduWriter, Message};

use super::fault::Fault;
use super::program::{Octets, Program, STREAMS, TAGGED_OFFSET, sequence_start};
use super::rom::{Style, few_block_rams, rom, rom_of_halves};
use crate::error::Error;

/// Octets of memory whose CRC is compared, from address 0 on; the completion queue follows them.
const OCTETS_SUMMED: usize = 12 << 10;
const COMPLETIONS_AT: u32 = OCTETS_SUMMED as u32;
const COMPLETION_ENTRIES: u32 = 64;
/// Octets of each stream's region.
const REGION: usize = 2 << 10;
/// Address of the receive buffers, and length of each.
const BUFFERS_AT: usize = 8 << 10;
const BUFFER: usize = 512;
const MULPDU: u16 = 600;
const TRAFFIC: &str = "warpline_selftest_beats";
/// The self-test of a device that receives.
#[derive(Clone, Debug)]
pub struct SelfTest {
    width: usize,
    program: Program,
    traffic: Vec<Beat>,
    /// Expected memory after the test.
    pub memory: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Beat {
    octets: Vec<u8>,
    last: bool,
    stream: u8,
    sequence: u32,
    fin: bool,
}

impl SelfTest {
    /// The self-test of a device of `width` bits.
    ///
    /// # Errors
    /// [`Error::Traffic`] when a message cannot be sent: a defect of this crate.
    pub fn new(width: usize, fault: Option<Fault>) -> Result<Self, Error> {
        let mut test = Self {
            width,
            program: Program::default(),
            traffic: Vec::new(),
            memory: vec![0; OCTETS_SUMMED],
        };
        let mut segments = Vec::new();
        test.program.queue(COMPLETIONS_AT, COMPLETION_ENTRIES);
        for stream in 0..STREAMS {
            segments.push(test.stream(stream)?);
        }
        test.send(segments);
        if fault == Some(Fault::Traffic) {
            test.traffic[20].octets[0] ^= 1;
        }
        test.program.traffic();
        // on each stream a message of each kind, and the close event
        let completions = 3 * STREAMS as u32;
        test.program
            .expect(register::COMPLETION_PRODUCER, completions);
        test.program.expect(register::ERRORS, 0);
        test.program.expect(register::SEGMENTS_DROPPED, 0);
        test.program.close_all();
        test.program.sum(&test.memory, fault);
        Ok(test)
    }

    /// Arms a stream with a region and a buffer; returns its segments. Odd streams carry markers.
    fn stream(&mut self, stream: usize) -> Result<Vec<Piece>, Error> {
        let markers = stream % 2 == 1;
        let start = sequence_start(stream);
        let stag = 0x0000_1100 + 0x100 * stream as u32;
        let region = stream * REGION;
        let buffer = BUFFERS_AT + stream * BUFFER;

        self.program
            .write_stag(stag, stag_entry::REMOTE_WRITE, region, REGION);
        self.program.arm(stream, markers, start, 1);
        self.program.post(stream, buffer, BUFFER);

        // Neither lengths nor addresses are multiples of a beat.
        let mut octets = Octets(0x9e37_79b9 ^ stream as u32);
        let (at, length) = (5 + 3 * stream, 1900 + stream);
        let tagged = octets.take(length);
        self.memory[region + at..][..length].copy_from_slice(&tagged);
        let untagged = octets.take(300 + stream);
        self.memory[buffer..][..untagged.len()].copy_from_slice(&untagged);

        let mut writer = FpduWriter::new(markers, CrcField::Computed);
        let mut bytes = Vec::new();
        let write = Message::Tagged {
            stag,
            to: TAGGED_OFFSET + at as u64,
            rsvd_ulp: 0,
        };
        writer.append_message(write, &tagged, MULPDU, &mut bytes)?;
        let send = Message::Untagged {
            qn: 0,
            msn: 1,
            rsvd_ulp: [0; 5],
        };
        writer.append_message(send, &untagged, MULPDU, &mut bytes)?;
        Ok(pieces(stream as u8, start, &bytes))
    }

    /// Segments of all streams in beats, one segment of each stream in turn.
    fn send(&mut self, streams: Vec<Vec<Piece>>) {
        let octets = self.width / 8;
        let most = streams.iter().map(Vec::len).max().unwrap_or_default();
        for i in 0..most {
            for piece in streams.iter().filter_map(|stream| stream.get(i)) {
                let beats = piece.octets.chunks(octets);
                let count = beats.len();
                self.traffic.extend(beats.enumerate().map(|(n, beat)| Beat {
                    octets: beat.to_vec(),
                    last: n + 1 == count,
                    stream: piece.stream,
                    sequence: piece.sequence,
                    fin: piece.fin && n + 1 == count,
                }));
            }
        }
    }

    /// Rows of the program.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.program.rows()
    }

    /// Beats of the traffic.
    #[must_use]
    pub fn beats(&self) -> usize {
        self.traffic.len()
    }

    /// Both ROMs as SystemVerilog: file name and text.
    #[must_use]
    pub fn roms(&self) -> Vec<(String, String)> {
        let octets = self.width / 8;
        let last = self.traffic.len().saturating_sub(1);
        let traffic: Vec<_> = (0..)
            .zip(&self.traffic)
            .map(|(row, beat)| {
                let mut data = vec![0; octets];
                data[..beat.octets.len()].copy_from_slice(&beat.octets);
                let keep: u128 = (1 << beat.octets.len()) - 1;
                // 36 bits for `tuser`: all but the topmost part are whole hexadecimal digits.
                let user = u64::from(beat.sequence) | u64::from(beat.fin) << USER_FIN;
                let head = u128::from(row == last) << (octets + 1)
                    | u128::from(beat.last) << octets
                    | keep;
                let data: String = data.iter().rev().map(|o| format!("{o:02x}")).collect();
                format!("{head:x}{:02x}{user:09x}{data}", beat.stream)
            })
            .collect();
        let bits = 9 * octets + 46;
        if few_block_rams(self.width) {
            let mut roms = vec![self.program.rom(Style::Luts)];
            roms.extend(rom_of_halves(TRAFFIC, bits, 12, &traffic));
            return roms;
        }
        vec![
            self.program.rom(Style::BlockRam),
            rom(TRAFFIC, bits, 12, Style::BlockRam, &traffic),
        ]
    }
}

#[derive(Clone, Debug)]
struct Piece {
    stream: u8,
    sequence: u32,
    octets: Vec<u8>,
    fin: bool,
}

/// Segments of odd lengths; the second is sent before the first.
fn pieces(stream: u8, start: u32, bytes: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = (181 + 97 * pieces.len()).min(bytes.len() - at);
        pieces.push(Piece {
            stream,
            sequence: start.wrapping_add(at as u32),
            octets: bytes[at..at + length].to_vec(),
            fin: at + length == bytes.len(),
        });
        at += length;
    }
    if pieces.len() > 1 {
        pieces.swap(0, 1);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rings_and_the_roms_hold_the_traffic() {
        for width in [64, 128, 256, 512] {
            let test = SelfTest::new(width, None).unwrap();
            assert!(test.rows() <= 256, "{}", test.rows());
            let rows = test.beats() * if few_block_rams(width) { 2 } else { 1 };
            assert!(rows <= 4096, "{rows}");
            for stream in 0..STREAMS as u8 {
                let beats = test.traffic.iter().filter(|beat| beat.stream == stream);
                let octets: usize = beats.map(|beat| beat.octets.len()).sum();
                assert!(
                    octets < crate::device::config(width).ring_octets,
                    "{octets}"
                );
            }
        }
    }
}

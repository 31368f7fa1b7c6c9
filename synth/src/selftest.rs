//! The self-test of a board: its two ROMs, made from the register description and the sender.
//!
//! ```text
//!  streams, regions, buffers ─► program: one register access a row
//!  messages ─► FPDUs ─► segments of all streams, mixed ─► traffic: one beat a row, or half a beat
//!           └─► expected memory ─► its CRC32C, compared on the board
//! ```
//!
//! `constraints/warpline_selftest.sv` defines the rows.

use warpline_hdl::parts::axi::USER_FIN;
use warpline_regmap::layout::{close, receive_buffer, stag_entry, stream_context};
use warpline_regmap::register::{self, Register, command};
use warpline_sv_writer::Design;
use warpline_wire::crc::crc32c;
use warpline_wire::send::{CrcField, FpduWriter, Message};

use crate::error::Error;

/// Top module of the evaluation board's bitstream.
pub const BOARD: &str = "warpline_ecp5_evn";

/// Clock of the PLL of [`BOARD`] for a device of `width` bits, in MHz; a placement has to reach it.
#[must_use]
pub const fn board_mhz(width: usize) -> f64 {
    if width == 512 { 120.0 } else { 156.0 }
}

const SELFTEST: &str = include_str!("../../constraints/warpline_selftest.sv");
const BOARD_TEXT: &str = include_str!("../../constraints/ecp5-evn/warpline_ecp5_evn.sv");
/// Pins of the board.
pub(crate) const PINS: &str = include_str!("../../constraints/ecp5-evn/warpline_ecp5_evn.lpf");

/// Octets of memory whose CRC is compared, from address 0 on; the completion queue follows them.
const OCTETS_SUMMED: usize = 12 << 10;
const COMPLETIONS_AT: u32 = OCTETS_SUMMED as u32;
const COMPLETION_ENTRIES: u32 = 64;
/// Octets of each stream's region.
const REGION: usize = 2 << 10;
/// Address of the receive buffers, and length of each.
const BUFFERS_AT: usize = 8 << 10;
const BUFFER: usize = 512;
const STREAMS: usize = 4;
const MULPDU: u16 = 600;
const DOMAIN: u64 = 7;
const PROGRAM: &str = "warpline_selftest_program";
const TRAFFIC: &str = "warpline_selftest_traffic";
/// Makes `constraints/warpline_selftest.sv` use few block RAMs.
const FEW_BLOCK_RAMS: &str = "`define WARPLINE_FEW_BLOCK_RAMS\n";

/// A planted fault, for tests of the self-test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A bit of the traffic is inverted: its FPDU fails the CRC.
    Traffic,
    /// The expected CRC of memory is wrong.
    Memory,
}

/// Operations of the program.
#[derive(Clone, Copy)]
enum Operation {
    Write = 0,
    Command = 1,
    Expect = 2,
    Traffic = 3,
    Sum = 4,
}

/// The self-test of a device.
#[derive(Clone, Debug)]
pub struct SelfTest {
    width: usize,
    program: Vec<u64>,
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
            program: Vec::new(),
            traffic: Vec::new(),
            memory: vec![0; OCTETS_SUMMED],
        };
        let mut segments = Vec::new();
        test.queue();
        for stream in 0..STREAMS {
            segments.push(test.stream(stream)?);
        }
        test.send(segments);
        if fault == Some(Fault::Traffic) {
            test.traffic[20].octets[0] ^= 1;
        }
        test.row(Operation::Traffic, 0, 0);
        // on each stream a message of each kind, and the close event
        let completions = 3 * STREAMS as u32;
        test.expect(register::COMPLETION_PRODUCER, completions);
        test.expect(register::ERRORS, 0);
        test.expect(register::SEGMENTS_DROPPED, 0);
        for stream in 0..STREAMS {
            let mut words = [0; close::WORDS];
            close::STREAM.put(&mut words, stream as u64);
            test.command(command::CLOSE_STREAM, &words);
        }
        let sum = crc32c(&test.memory) ^ u32::from(fault == Some(Fault::Memory));
        test.row(Operation::Sum, (OCTETS_SUMMED / 64) as u32, sum);
        Ok(test)
    }

    fn row(&mut self, operation: Operation, address: u32, data: u32) {
        let row = (operation as u64) << 44 | u64::from(address) << 32 | u64::from(data);
        self.program.push(row);
    }

    fn write(&mut self, register: Register, index: u32, value: u32) {
        self.row(Operation::Write, register.at(index), value);
    }

    fn expect(&mut self, register: Register, value: u32) {
        self.row(Operation::Expect, register.at(0), value);
    }

    fn command(&mut self, number: u32, words: &[u32]) {
        for (index, word) in (0..).zip(words) {
            self.write(register::ARGUMENT, index, *word);
        }
        self.write(register::COMMAND, 0, number);
        self.row(Operation::Command, register::COMMAND.at(0), 0);
    }

    /// Checks identity and version, and sets up the completion queue.
    fn queue(&mut self) {
        self.expect(register::IDENTITY, register::IDENTITY_VALUE);
        self.expect(register::VERSION, register::VERSION_VALUE);
        self.write(register::COMPLETION_BASE_LOW, 0, COMPLETIONS_AT);
        self.write(register::COMPLETION_BASE_HIGH, 0, 0);
        self.write(register::COMPLETION_ENTRIES, 0, COMPLETION_ENTRIES);
        self.write(register::INTERRUPT_ENABLE, 0, 1);
        self.write(register::COMPLETION_ARM, 0, 0);
    }

    /// Arms a stream with a region and a buffer; returns its segments. Odd streams carry markers.
    fn stream(&mut self, stream: usize) -> Result<Vec<Piece>, Error> {
        let markers = stream % 2 == 1;
        let start = 0xffff_fe00_u32.wrapping_add(stream as u32 * 0x4000_0000); // wraps on stream 0
        let stag = 0x0000_1100 + 0x100 * stream as u32;
        let region = stream * REGION;
        let buffer = BUFFERS_AT + stream * BUFFER;

        let mut words = [0; stag_entry::WORDS];
        stag_entry::STAG.put(&mut words, stag.into());
        stag_entry::PROTECTION_DOMAIN.put(&mut words, DOMAIN);
        stag_entry::REMOTE_WRITE.put(&mut words, 1);
        stag_entry::BASE.put(&mut words, TAGGED_OFFSET);
        stag_entry::LENGTH.put(&mut words, REGION as u64);
        stag_entry::ADDRESS.put(&mut words, region as u64);
        self.command(command::WRITE_STAG, &words);

        let mut words = [0; stream_context::WORDS];
        stream_context::STREAM.put(&mut words, stream as u64);
        stream_context::MARKERS.put(&mut words, markers.into());
        stream_context::CRC.put(&mut words, 1);
        stream_context::TAGGED_COMPLETIONS.put(&mut words, 1);
        stream_context::QUEUES.put(&mut words, 1);
        stream_context::PROTECTION_DOMAIN.put(&mut words, DOMAIN);
        stream_context::SEQUENCE_START.put(&mut words, start.into());
        stream_context::FIRST_MSN.put(&mut words, 1);
        self.command(command::ARM_STREAM, &words);

        let mut words = [0; receive_buffer::WORDS];
        receive_buffer::STREAM.put(&mut words, stream as u64);
        receive_buffer::LENGTH.put(&mut words, BUFFER as u64);
        receive_buffer::ADDRESS.put(&mut words, buffer as u64);
        self.command(command::POST_RECEIVE, &words);

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
        self.program.len()
    }

    /// Beats of the traffic.
    #[must_use]
    pub fn beats(&self) -> usize {
        self.traffic.len()
    }

    /// Both ROMs as SystemVerilog: file name and text.
    #[must_use]
    pub fn roms(&self) -> Vec<(String, String)> {
        let program: Vec<_> = self.program.iter().map(|row| format!("{row:x}")).collect();
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
            let mut roms = vec![rom(PROGRAM, 47, 8, Style::Luts, &program)];
            roms.extend(rom_of_halves(TRAFFIC, bits, 12, &traffic));
            return roms;
        }
        vec![
            rom(PROGRAM, 47, 8, Style::BlockRam, &program),
            rom(TRAFFIC, bits, 12, Style::BlockRam, &traffic),
        ]
    }
}

/// Tagged Offset of each region's first octet.
const TAGGED_OFFSET: u64 = 0x7f00_0000_1000;

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

/// Pseudo-random octets: xorshift.
struct Octets(u32);

impl Octets {
    fn take(&mut self, count: usize) -> Vec<u8> {
        let next = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 17;
            self.0 ^= self.0 << 5;
            (self.0 >> 24) as u8
        };
        std::iter::repeat_with(next).take(count).collect()
    }
}

/// Whether the device leaves few block RAMs in the largest part.
const fn few_block_rams(width: usize) -> bool {
    width > 256
}

/// What a ROM is made of.
#[derive(Clone, Copy)]
enum Style {
    BlockRam,
    Luts,
}

/// A ROM with a registered output; rows are in hexadecimal.
fn rom(
    name: &str,
    width: usize,
    address: usize,
    style: Style,
    rows: &[String],
) -> (String, String) {
    let depth = rows.len().next_power_of_two();
    let bits = depth.trailing_zeros().max(1) as usize;
    let style = match style {
        Style::BlockRam => "rom_style = \"block\", rom_block",
        Style::Luts => "rom_style = \"logic\"",
    };
    let mut text = format!(
        "// Made by warpline-synth: see constraints/warpline_selftest.sv for what a row means.
module {name} (
    input  wire                clock,
    input  wire  [{}:0]        row,
    output logic [{}:0] out
);
    (* {style} *) reg [{}:0] rows [0:{}];
    integer n;
    initial begin
        for (n = 0; n < {depth}; n = n + 1) rows[n] = {width}'h0;
",
        address - 1,
        width - 1,
        width - 1,
        depth - 1,
    );
    for (n, row) in rows.iter().enumerate() {
        text += &format!("        rows[{n}] = {width}'h{row};\n");
    }
    text += &format!(
        "    end
    initial out = {width}'h0;
    always_ff @(posedge clock) out <= rows[row[{}:0]];
",
        bits - 1
    );
    if bits < address {
        text += &format!(
            "    wire unused = &{{1'b0, row[{}:{bits}]}};\n",
            address - 1
        );
    }
    text += "endmodule\n";
    (format!("{name}.sv"), text)
}

/// The same in half as many block RAMs: rows are halves, the lower one first. The whole row is valid while the upper half is
/// read.
fn rom_of_halves(
    name: &str,
    width: usize,
    address: usize,
    rows: &[String],
) -> [(String, String); 2] {
    let digits = width.div_ceil(8);
    let halves: Vec<String> = rows
        .iter()
        .flat_map(|row| {
            let (upper, lower) = row.split_at(row.len().saturating_sub(digits));
            [lower.to_owned(), format!("0{upper}")] // a number, even if nothing is left
        })
        .collect();
    let half = 4 * digits;
    let text = format!(
        "// Made by warpline-synth: see constraints/warpline_selftest.sv for what a row means.
module {name} (
    input  wire                clock,
    input  wire  [{address}:0]        row,
    output wire  [{out}:0] out
);
    wire  [{half_top}:0] half;
    logic [{half_top}:0] lower;
    {name}_halves halves (.clock(clock), .row(row), .out(half));
    always_ff @(posedge clock) lower <= half;
    assign out = {{half[{upper_top}:0], lower}};
    wire unused = &{{1'b0, half[{half_top}:{upper}]}};
endmodule
",
        address = address - 1,
        out = width - 1,
        half_top = half - 1,
        upper = width - half,
        upper_top = width - half - 1,
    );
    [
        rom(
            &format!("{name}_halves"),
            half,
            address,
            Style::BlockRam,
            &halves,
        ),
        (format!("{name}.sv"), text),
    ]
}

/// All files of the bitstream of a `device` of `width` bits in compile order, the top module [`BOARD`] last: the device, the self-test, the board.
///
/// # Errors
/// As [`SelfTest::new`].
pub fn sources(
    device: &Design,
    width: usize,
    fault: Option<Fault>,
) -> Result<Vec<(String, String)>, Error> {
    let mut files = device.sources();
    files.extend(SelfTest::new(width, fault)?.roms());
    let few = if few_block_rams(width) {
        FEW_BLOCK_RAMS
    } else {
        ""
    };
    files.push(("warpline_selftest.sv".into(), format!("{few}{SELFTEST}")));
    files.push((format!("{BOARD}.sv"), BOARD_TEXT.into()));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pll_of_the_board_makes_its_clock() {
        // as it is at 512 bits, and at the others
        let numbers = |before: &str, end: &str| -> [f64; 2] {
            let (_, behind) = BOARD_TEXT.split_once(before).unwrap();
            let number = behind.split_once(end).unwrap().0.trim();
            let number = number.strip_prefix("W == 512 ? ").unwrap_or(number);
            let (wide, others) = number.split_once(':').unwrap_or((number, number));
            [wide, others].map(|number| number.trim().parse().unwrap())
        };
        let of = |name: &str| numbers(&format!(".{name}("), ")");
        let crystal = 12.0; // MHz, the pin clk12
        assert!(BOARD_TEXT.contains("clk12"));
        for (n, width) in [512, 64].into_iter().enumerate() {
            // the feedback is CLKOP
            let clock = crystal / of("CLKI_DIV")[n] * of("CLKFB_DIV")[n];
            assert!((clock - board_mhz(width)).abs() < 1e-9, "{clock}");
            let vco = clock * of("CLKOP_DIV")[n];
            assert!((400.0..=800.0).contains(&vco), "{vco}");
            let baud = clock * 1e6 / numbers("DIVISOR     =", ",")[n];
            assert!((baud / 115_200.0 - 1.0).abs() < 0.001, "{baud}");
        }
    }

    #[test]
    fn operations_look_at_the_bits_that_the_registers_have() {
        assert_eq!(
            (register::COMMAND_BUSY.lsb, register::COMMAND_FAILED.lsb),
            (31, 30)
        );
    }

    #[test]
    fn the_rings_and_the_roms_hold_the_traffic() {
        for width in [64, 128, 256, 512] {
            let test = SelfTest::new(width, None).unwrap();
            assert!(test.program.len() <= 256, "{}", test.program.len());
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

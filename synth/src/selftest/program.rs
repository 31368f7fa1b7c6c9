//! The program of a self-test: what its host does, a row a register access.
//!
//! `constraints/selftest/warpline_selftest_host.sv` carries it out.

use warpline_regmap::Field;
use warpline_regmap::layout::{close, receive_buffer, stag_entry, stream_context};
use warpline_regmap::register::{self, Register, command};
use warpline_wire::crc::crc32c;

use super::fault::Fault;
use super::rom::{Style, rom};

/// Streams of the device.
pub(super) const STREAMS: usize = 4;
/// Protection domain of all regions and streams.
pub(super) const DOMAIN: u64 = 7;
/// Tagged Offset of each region's first octet.
pub(super) const TAGGED_OFFSET: u64 = 0x7f00_0000_1000;

/// Sequence number of the first octet that is sent to a stream, or from it: those of stream 0 wrap.
pub(super) const fn sequence_start(stream: usize) -> u32 {
    0xffff_fe00_u32.wrapping_add(stream as u32 * 0x4000_0000)
}

const PROGRAM: &str = "warpline_selftest_program";
/// Words of `ARGUMENT`.
const ARGUMENTS: usize = register::ARGUMENT.count as usize;

/// What a row does.
#[derive(Clone, Copy)]
enum Operation {
    Write = 0,
    Command = 1,
    Expect = 2,
    Traffic = 3,
    Sum = 4,
}

/// A program.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    rows: Vec<u64>,
    /// What `ARGUMENT` holds, from the first command on.
    argument: [Option<u32>; ARGUMENTS],
}

impl Program {
    /// Rows so far.
    pub(super) const fn rows(&self) -> usize {
        self.rows.len()
    }

    fn row(&mut self, operation: Operation, address: u32, data: u32) {
        let row = (operation as u64) << 44 | u64::from(address) << 32 | u64::from(data);
        self.rows.push(row);
    }

    /// Writes a register.
    pub(super) fn write(&mut self, register: Register, index: u32, value: u32) {
        self.row(Operation::Write, register.at(index), value);
    }

    /// Reads a register until it has this value.
    pub(super) fn expect(&mut self, register: Register, value: u32) {
        self.row(Operation::Expect, register.at(0), value);
    }

    /// Carries out a command. Arguments that `ARGUMENT` holds already are not written.
    pub(super) fn command(&mut self, number: u32, words: &[u32]) {
        for (index, word) in words.iter().enumerate() {
            if self.argument[index] != Some(*word) {
                self.argument[index] = Some(*word);
                self.write(register::ARGUMENT, index as u32, *word);
            }
        }
        self.write(register::COMMAND, 0, number);
        self.row(Operation::Command, register::COMMAND.at(0), 0);
    }

    /// Checks identity and version, and sets up the completion queue.
    pub(super) fn queue(&mut self, address: u32, entries: u32) {
        self.expect(register::IDENTITY, register::IDENTITY_VALUE);
        self.expect(register::VERSION, register::VERSION_VALUE);
        self.write(register::COMPLETION_BASE_LOW, 0, address);
        self.write(register::COMPLETION_BASE_HIGH, 0, 0);
        self.write(register::COMPLETION_ENTRIES, 0, entries);
        self.write(register::INTERRUPT_ENABLE, 0, 1);
        self.write(register::COMPLETION_ARM, 0, 0);
    }

    /// Writes an STag whose owner's peer has `right`.
    pub(super) fn write_stag(&mut self, stag: u32, right: Field, address: usize, length: usize) {
        let mut words = [0; stag_entry::WORDS];
        stag_entry::STAG.put(&mut words, stag.into());
        stag_entry::PROTECTION_DOMAIN.put(&mut words, DOMAIN);
        right.put(&mut words, 1);
        stag_entry::BASE.put(&mut words, TAGGED_OFFSET);
        stag_entry::LENGTH.put(&mut words, length as u64);
        stag_entry::ADDRESS.put(&mut words, address as u64);
        self.command(command::WRITE_STAG, &words);
    }

    /// Arms the receiving direction of a stream, with these untagged queues, one bit each.
    pub(super) fn arm(&mut self, stream: usize, markers: bool, start: u32, queues: u64) {
        let mut words = [0; stream_context::WORDS];
        stream_context::STREAM.put(&mut words, stream as u64);
        stream_context::MARKERS.put(&mut words, markers.into());
        stream_context::CRC.put(&mut words, 1);
        stream_context::TAGGED_COMPLETIONS.put(&mut words, 1);
        stream_context::QUEUES.put(&mut words, queues);
        stream_context::PROTECTION_DOMAIN.put(&mut words, DOMAIN);
        stream_context::SEQUENCE_START.put(&mut words, start.into());
        stream_context::FIRST_MSN.put(&mut words, 1);
        self.command(command::ARM_STREAM, &words);
    }

    /// Posts a buffer to queue 0 of a stream.
    pub(super) fn post(&mut self, stream: usize, address: usize, length: usize) {
        let mut words = [0; receive_buffer::WORDS];
        receive_buffer::STREAM.put(&mut words, stream as u64);
        receive_buffer::LENGTH.put(&mut words, length as u64);
        receive_buffer::ADDRESS.put(&mut words, address as u64);
        self.command(command::POST_RECEIVE, &words);
    }

    /// Lets the traffic go.
    pub(super) fn traffic(&mut self) {
        self.row(Operation::Traffic, 0, 0);
    }

    /// Closes all streams.
    pub(super) fn close_all(&mut self) {
        for stream in 0..STREAMS {
            let mut words = [0; close::WORDS];
            close::STREAM.put(&mut words, stream as u64);
            self.command(command::CLOSE_STREAM, &words);
        }
    }

    /// Compares the CRC of the first octets of memory with that of `memory`, whose length is a multiple of 64.
    pub(super) fn sum(&mut self, memory: &[u8], fault: Option<Fault>) {
        let sum = crc32c(memory) ^ u32::from(fault == Some(Fault::Memory));
        self.row(Operation::Sum, (memory.len() / 64) as u32, sum);
    }

    /// Its ROM: file name and text.
    pub(super) fn rom(&self, style: Style) -> (String, String) {
        let rows: Vec<_> = self.rows.iter().map(|row| format!("{row:x}")).collect();
        rom(PROGRAM, 47, 8, style, &rows)
    }
}

/// Pseudo-random octets: xorshift.
pub(super) struct Octets(pub(super) u32);

impl Octets {
    pub(super) fn take(&mut self, count: usize) -> Vec<u8> {
        let next = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 17;
            self.0 ^= self.0 << 5;
            (self.0 >> 24) as u8
        };
        std::iter::repeat_with(next).take(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_look_at_the_bits_that_the_registers_have() {
        assert_eq!(
            (register::COMMAND_BUSY.lsb, register::COMMAND_FAILED.lsb),
            (31, 30)
        );
    }
}

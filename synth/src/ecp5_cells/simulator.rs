//! The simulation: in a cycle it evaluates the cells whose inputs changed, then clocks registers and memories.

use std::fmt::{self, Write as _};
use std::io::{self, BufRead};

use super::block_ram::BlockRam;
use super::logic::{Cell, FlipFlop, LutRam};
use super::pins::{Net, number};
use super::wires::Wires;

/// A netlist and the state of its registers and memories.
#[derive(Clone)]
pub struct Ecp5Cells {
    pub(super) inputs: Vec<Vec<Net>>,
    pub(super) outputs: Vec<(String, Vec<Net>)>,
    pub(super) cells: Vec<Cell>,
    pub(super) flip_flops: Vec<FlipFlop>,
    pub(super) lut_rams: Vec<LutRam>,
    pub(super) block_rams: Vec<BlockRam>,
    /// The cell that reads each LUT RAM.
    pub(super) read_by: Vec<usize>,
    pub(super) wires: Wires,
    pub(super) next: Vec<(Net, u8)>,
}

/// A planted fault in a cell.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// One of the [`luts`](Ecp5Cells::luts) has an inverted bit.
    Bit {
        /// The LUT.
        lut: usize,
        /// The row, 0 to 15.
        row: usize,
    },
    /// One of the [`flip_flops`](Ecp5Cells::flip_flops) keeps its value of power-up.
    Stuck {
        /// The flip-flop.
        flip_flop: usize,
    },
}

/// A port that differs from the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Cycle from power-up.
    pub cycle: u64,
    /// Output.
    pub port: String,
    /// Recorded value, hexadecimal.
    pub recorded: String,
    /// Value of the netlist, hexadecimal.
    pub netlist: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cycle,
            port,
            recorded,
            netlist,
        } = self;
        write!(
            f,
            "{port} is {recorded} in RTL, {netlist} in the netlist, in cycle {cycle}"
        )
    }
}

impl Ecp5Cells {
    /// Sets registers and memories to their values in the bitstream.
    pub fn power_up(&mut self) {
        let wires = &mut self.wires;
        wires.values.fill(0);
        wires.values[1] = 1;
        for flip_flop in &self.flip_flops {
            wires.values[flip_flop.to] = flip_flop.value;
        }
        wires.changed.fill(0);
        let flip_flops = 64 * wires.words..64 * wires.words + self.flip_flops.len();
        for index in (0..self.cells.len()).chain(flip_flops) {
            wires.changed[index / 64] |= 1 << (index % 64);
        }
        for ram in &mut self.lut_rams {
            ram.rows = ram.first;
        }
        for ram in &mut self.block_rams {
            ram.rows.clone_from(&ram.first);
        }
    }

    /// Replays the inputs of a [`recorder`](super::recorder) from power-up, compares the outputs in every cycle, and returns the
    /// number of cycles.
    ///
    /// # Errors
    /// Those of `recording`, and a recording of another design.
    pub fn replay(&mut self, recording: impl BufRead) -> io::Result<Result<u64, Difference>> {
        self.power_up();
        let mut cycle = 0;
        for line in recording.lines() {
            let line = line?;
            let wrong = || io::Error::new(io::ErrorKind::InvalidData, format!("no cycle: {line}"));
            let mut digits = line.split(' ');
            for nets in &self.inputs {
                let digits = digits.next().ok_or_else(wrong)?.as_bytes();
                for (at, &net) in nets.iter().enumerate() {
                    self.wires.drive(net, bit_of(digits, at).ok_or_else(wrong)?);
                }
            }
            self.settle();
            for (port, nets) in &self.outputs {
                let recorded = digits.next().ok_or_else(wrong)?;
                for (at, &net) in nets.iter().enumerate() {
                    let bit = bit_of(recorded.as_bytes(), at).ok_or_else(wrong)?;
                    if self.wires.values[net] != bit {
                        return Ok(Err(Difference {
                            cycle,
                            port: port.clone(),
                            recorded: recorded.into(),
                            netlist: self.hexadecimal(nets),
                        }));
                    }
                }
            }
            self.edge();
            cycle += 1;
        }
        Ok(Ok(cycle))
    }

    fn hexadecimal(&self, nets: &[Net]) -> String {
        let digits = nets.chunks(4).rev();
        digits.fold(String::new(), |mut text, digit| {
            let bits = digit.iter().rev();
            let value = bits.fold(0, |sum, &net| sum << 1 | self.wires.values[net]);
            let _ = write!(text, "{value:x}");
            text
        })
    }

    /// Evaluates cells whose inputs changed, in order: a cell changes only inputs of later ones.
    pub(super) fn settle(&mut self) {
        for word in 0..self.wires.words {
            while self.wires.changed[word] != 0 {
                let bit = self.wires.changed[word].trailing_zeros() as usize;
                self.wires.changed[word] &= self.wires.changed[word] - 1;
                self.cells[64 * word + bit].follow(&mut self.wires, &self.lut_rams);
            }
        }
    }

    /// A rising edge: all cells sample the values before it.
    pub(super) fn edge(&mut self) {
        let (wires, next) = (&mut self.wires, &mut self.next);
        next.clear();
        for (word, changed) in wires.changed[wires.words..].iter_mut().enumerate() {
            // The others sampled the same inputs at an earlier edge.
            while *changed != 0 {
                let flip_flop = &self.flip_flops[64 * word + changed.trailing_zeros() as usize];
                *changed &= *changed - 1;
                if wires.values[flip_flop.reset] == 1 {
                    next.push((flip_flop.to, flip_flop.value));
                } else if wires.values[flip_flop.enable] == flip_flop.enabled_at {
                    next.push((flip_flop.to, wires.values[flip_flop.data]));
                }
            }
        }
        for (ram, &reader) in self.lut_rams.iter_mut().zip(&self.read_by) {
            if wires.values[ram.write] == 1 {
                let row = number(&ram.row, &wires.values);
                ram.rows[row] = number(&ram.data, &wires.values) as u8;
                wires.changed[reader / 64] |= 1 << (reader % 64);
            }
        }
        for ram in &mut self.block_rams {
            ram.edge(&wires.values, next);
        }
        for &(net, value) in next.iter() {
            wires.drive(net, value);
        }
    }

    /// Number of LUTs.
    #[must_use]
    pub fn luts(&self) -> usize {
        self.cells.iter().filter(|cell| cell.is_lut()).count()
    }

    /// The row that one of the [`luts`](Self::luts) selects at present.
    #[must_use]
    pub fn row(&self, lut: usize) -> Option<usize> {
        match self.cells.iter().filter(|cell| cell.is_lut()).nth(lut)? {
            Cell::Lut { from, .. } => Some(number(from, &self.wires.values)),
            _ => None,
        }
    }

    /// Number of flip-flops.
    #[must_use]
    pub fn flip_flops(&self) -> usize {
        self.flip_flops.len()
    }

    /// A copy with a planted fault.
    ///
    /// # Panics
    /// When there is no such LUT, row or flip-flop.
    #[must_use]
    pub fn with(&self, fault: Fault) -> Self {
        let mut faulty = self.clone();
        match fault {
            Fault::Bit { lut, row } => {
                assert!(row < 16, "a LUT has rows 0 to 15");
                let mut luts = faulty.cells.iter_mut().filter(|cell| cell.is_lut());
                match luts.nth(lut) {
                    Some(Cell::Lut { table, .. }) => *table ^= 1 << row,
                    _ => panic!("no LUT {lut}"),
                }
            }
            Fault::Stuck { flip_flop } => {
                let stuck = &mut faulty.flip_flops[flip_flop];
                (stuck.reset, stuck.enable, stuck.enabled_at) = (0, 0, 1);
            }
        }
        faulty
    }
}

/// Bit `at` of a hexadecimal number.
fn bit_of(digits: &[u8], at: usize) -> Option<u8> {
    let digit = *digits.get(digits.len().checked_sub(1 + at / 4)?)?;
    let value = char::from(digit).to_digit(16)?;
    Some((value >> (at % 4) & 1) as u8)
}

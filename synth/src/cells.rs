//! A netlist of ECP5 cells at work, for devices whose netlist is too long a text for a compiler ([`side_by_side`] is for blocks);
//! and a faulty one costs nothing to make.
//!
//! ```text
//!  RTL in a simulator ─► recording: all ports at each rising edge ─┬─ inputs ──► cells ─► outputs ─┐
//!                                                                  └─ outputs ─────────────────────┴─ equal?
//! ```
//!
//! Only cells whose inputs changed are looked at. What a cell does is said in yosys' `ecp5/cells_sim.v`; for the block RAM,
//! which that file leaves out, in Lattice's ECP5 Memory Usage Guide (FPGA-TN-02204). A parameter of which nothing is known here
//! is refused. One clock; two values, no X.
//!
//! [`side_by_side`]: crate::side_by_side

use std::fmt::{self, Write as _};
use std::io::{self, BufRead};
use std::path::Path;

use warpline_sv_writer::{Design, Direction, Port};

use crate::Error;
use crate::module::{self, Bit, Module, NETLIST_JSON, ordered};

/// Where a signal's value is. yosys numbers from 2 on: 0 and 1 are the constants.
type Net = usize;

/// A cell whose outputs follow its inputs.
#[derive(Clone, Copy)]
enum Cell {
    Lut {
        table: u16,
        from: [Net; 4],
        to: Net,
    },
    /// Two LUTs in front of two bits of an adder.
    Carry {
        tables: [u16; 2],
        from: [[Net; 4]; 2],
        carry: Net,
        sums: [Net; 2],
        to: Net,
    },
    Mux {
        zero: Net,
        one: Net,
        select: Net,
        to: Net,
    },
    /// Read port of a RAM of LUTs.
    Read {
        ram: usize,
        row: [Net; 4],
        to: [Net; 4],
    },
}

#[derive(Clone)]
struct FlipFlop {
    data: Net,
    enable: Net,
    /// The enable that lets it take its data.
    enabled_at: u8,
    reset: Net,
    value: u8,
    to: Net,
}

/// 16 rows of 4 bits.
#[derive(Clone)]
struct LutRam {
    rows: [u8; 16],
    first: [u8; 16],
    write: Net,
    row: [Net; 4],
    data: [Net; 4],
}

/// 1024 rows of 18 bits and two ports.
#[derive(Clone)]
struct BlockRam {
    rows: Vec<u32>,
    first: Vec<u32>,
    ports: [RamPort; 2],
}

#[derive(Clone)]
struct RamPort {
    width: usize,
    enable: Net,
    write: Net,
    reset: Net,
    address: Vec<Net>,
    data: Vec<Net>,
    to: Vec<Net>,
    /// What is read while a row is written: what was there, or nothing.
    reads_before_write: bool,
}

/// A netlist and the state of its registers and memories.
#[derive(Clone)]
pub struct Cells {
    inputs: Vec<Vec<Net>>,
    outputs: Vec<(String, Vec<Net>)>,
    cells: Vec<Cell>,
    flip_flops: Vec<FlipFlop>,
    lut_rams: Vec<LutRam>,
    block_rams: Vec<BlockRam>,
    /// The cell that reads a RAM of LUTs.
    read_by: Vec<usize>,
    wires: Wires,
    next: Vec<(Net, u8)>,
}

/// Values of all nets, and what has to be looked at again since they changed: in most cycles, few cells.
#[derive(Clone)]
struct Wires {
    values: Vec<u8>,
    /// Where a net's readers begin.
    first: Vec<usize>,
    /// Cells, and flip-flops behind them.
    readers: Vec<usize>,
    /// A bit for each cell, then from a new word on for each flip-flop.
    changed: Vec<u64>,
    /// Words of cells.
    words: usize,
}

impl Wires {
    fn new(nets: usize, cells: &[Cell], flip_flops: &[FlipFlop]) -> Self {
        let words = cells.len().div_ceil(64);
        let mut readers = vec![Vec::new(); nets];
        for (index, cell) in cells.iter().enumerate() {
            cell.inputs(|net| readers[net].push(index));
        }
        for (index, flip_flop) in flip_flops.iter().enumerate() {
            for net in [flip_flop.data, flip_flop.enable, flip_flop.reset] {
                readers[net].push(64 * words + index);
            }
        }
        let first = readers.iter().scan(0, |first, of_net| {
            let here = *first;
            *first += of_net.len();
            Some(here)
        });
        let mut first: Vec<usize> = first.collect();
        let readers = readers.concat();
        first.push(readers.len());
        Self {
            values: vec![0; nets],
            first,
            readers,
            changed: vec![0; words + flip_flops.len().div_ceil(64)],
            words,
        }
    }

    fn drive(&mut self, net: Net, value: u8) {
        if self.values[net] != value {
            self.values[net] = value;
            for &reader in &self.readers[self.first[net]..self.first[net + 1]] {
                self.changed[reader / 64] |= 1 << (reader % 64);
            }
        }
    }
}

/// Something wrong with a cell.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// One of the [`luts`](Cells::luts) has the other value in a row.
    Bit {
        /// The LUT.
        lut: usize,
        /// The row, 0 to 15.
        row: usize,
    },
    /// One of the [`flip_flops`](Cells::flip_flops) stays as it is after power-up.
    Stuck {
        /// The flip-flop.
        flip_flop: usize,
    },
}

/// A port that is not what was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Cycle from power-up.
    pub cycle: u64,
    /// Output.
    pub port: String,
    /// What was recorded, hexadecimal.
    pub recorded: String,
    /// What the netlist has.
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

impl Bit {
    fn net(self) -> Net {
        match self {
            Self::Net(net) => net,
            // what is of no matter is zero
            Self::Constant(value) => usize::from(value == '1'),
        }
    }
}

/// A cell of the netlist.
impl module::Cell {
    /// Bits of a port; constant zero where it is left open.
    fn bits(&self, port: &str) -> impl Iterator<Item = Net> {
        let bits = self.connections.get(port).map_or(&[][..], Vec::as_slice);
        bits.iter().map(|bit| bit.net())
    }

    fn bit(&self, port: &str) -> Net {
        self.bits(port).next().unwrap_or(0)
    }

    /// Bit `at` of an output.
    fn driven(&self, port: &str, at: usize, nowhere: Net) -> Net {
        match self.connections.get(port).and_then(|bits| bits.get(at)) {
            Some(Bit::Net(net)) => *net,
            _ => nowhere,
        }
    }

    fn four(&self, port: &str) -> [Net; 4] {
        let mut bits = self.bits(port);
        std::array::from_fn(|_| bits.next().unwrap_or(0))
    }

    fn lut(&self, suffix: &str) -> [Net; 4] {
        ["A", "B", "C", "D"].map(|pin| self.bit(&format!("{pin}{suffix}")))
    }

    /// Text of a parameter, "" where the netlist says nothing.
    fn text(&self, name: &str) -> &str {
        self.parameters.get(name).map_or("", |text| text.trim_end())
    }

    /// Bits `low..low + count` of a number, of which the text has the highest bit first.
    fn number(&self, name: &str, low: usize, count: usize) -> u64 {
        let text = self.text(name);
        let digits = text.bytes().rev().skip(low).take(count).enumerate();
        digits.fold(0, |sum, (at, digit)| sum | u64::from(digit == b'1') << at)
    }

    /// The parameters are among those that are known.
    fn expects(&self, known: &[(&str, &[&str])]) -> Result<(), String> {
        for (name, texts) in known {
            let text = self.text(name);
            if !texts.contains(&text) {
                return Err(format!("a {} with {name} {text:?}", self.r#type));
            }
        }
        Ok(())
    }
}

impl Cells {
    /// The netlist that yosys left in `folder`, as it is after power-up. `design` is what it was made of; it has one `clock`.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Output`] when a cell is not known, or drives itself.
    pub fn read(folder: &Path, design: &Design, clock: &str) -> Result<Self, Error> {
        let module = Module::read(folder, design.top())?;
        let cells = Self::of(&module, &design.ports, clock);
        cells.map_err(Error::output(folder.join(NETLIST_JSON)))
    }

    fn of(module: &Module, ports: &[Port], clock: &str) -> Result<Self, String> {
        let bits = |name: &str| -> Result<Vec<Net>, String> {
            let port = module.ports.get(name);
            let port = port.ok_or_else(|| format!("no port {name}"))?;
            Ok(port.bits.iter().map(|bit| bit.net()).collect())
        };
        let clock_net = bits(clock)?[0];
        let mut made = Self {
            inputs: Vec::new(),
            outputs: Vec::new(),
            cells: Vec::new(),
            flip_flops: Vec::new(),
            lut_rams: Vec::new(),
            block_rams: Vec::new(),
            read_by: Vec::new(),
            wires: Wires::new(0, &[], &[]),
            next: Vec::new(),
        };
        for port in recorded(ports, clock) {
            match port.direction {
                Direction::Input => made.inputs.push(bits(&port.name)?),
                Direction::Output => made.outputs.push((port.name.clone(), bits(&port.name)?)),
            }
        }
        let nets = module.cells.values().flat_map(|cell| &cell.connections);
        let nets = nets.flat_map(|(_, bits)| bits).map(|bit| bit.net());
        let ports = module.ports.values().flat_map(|port| &port.bits);
        let highest = nets.chain(ports.map(|bit| bit.net())).max().unwrap_or(1);
        // one more for outputs that lead nowhere
        let nowhere = highest.max(1) + 1;
        for cell in module.cells.values() {
            let clocks = ["CLK", "WCK", "CLKA", "CLKB"];
            let clocks = clocks.iter().flat_map(|pin| cell.bits(pin));
            if clocks.into_iter().any(|net| net != clock_net) {
                return Err(format!("a {} with another clock", cell.r#type));
            }
            made.add(cell, nowhere)?;
        }
        made.sort()?;
        made.wires = Wires::new(nowhere + 1, &made.cells, &made.flip_flops);
        made.power_up();
        Ok(made)
    }

    fn add(&mut self, cell: &module::Cell, nowhere: Net) -> Result<(), String> {
        let out = |pin: &str| cell.driven(pin, 0, nowhere);
        match cell.r#type.as_str() {
            "$scopeinfo" => {}
            "LUT4" => self.cells.push(Cell::Lut {
                table: cell.number("INIT", 0, 16) as u16,
                from: cell.lut(""),
                to: out("Z"),
            }),
            "CCU2C" => {
                cell.expects(&[("INJECT1_0", &["NO"]), ("INJECT1_1", &["NO"])])?;
                self.cells.push(Cell::Carry {
                    tables: ["INIT0", "INIT1"].map(|name| cell.number(name, 0, 16) as u16),
                    from: ["0", "1"].map(|half| cell.lut(half)),
                    carry: cell.bit("CIN"),
                    sums: ["S0", "S1"].map(out),
                    to: out("COUT"),
                });
            }
            "PFUMX" | "L6MUX21" => {
                let [zero, one, select] = match cell.r#type.as_str() {
                    "PFUMX" => ["BLUT", "ALUT", "C0"],
                    _ => ["D0", "D1", "SD"],
                }
                .map(|pin| cell.bit(pin));
                let to = out("Z");
                self.cells.push(Cell::Mux {
                    zero,
                    one,
                    select,
                    to,
                });
            }
            "TRELLIS_FF" => {
                cell.expects(&[
                    ("CEMUX", &["1", "CE", "INV"]),
                    ("CLKMUX", &["CLK"]),
                    ("LSRMUX", &["LSR"]),
                    ("REGSET", &["SET", "RESET"]),
                    ("SRMODE", &["", "LSR_OVER_CE"]),
                    ("LSRMODE", &[""]),
                ])?;
                self.flip_flops.push(FlipFlop {
                    data: cell.bit("DI"),
                    enable: match cell.text("CEMUX") {
                        "1" => 1,
                        _ => cell.bit("CE"),
                    },
                    enabled_at: (cell.text("CEMUX") != "INV").into(),
                    reset: cell.bit("LSR"),
                    value: (cell.text("REGSET") == "SET").into(),
                    to: out("Q"),
                });
            }
            "TRELLIS_DPR16X4" => {
                cell.expects(&[("WCKMUX", &["WCK"]), ("WREMUX", &["WRE"])])?;
                let first = std::array::from_fn(|row| cell.number("INITVAL", 4 * row, 4) as u8);
                self.cells.push(Cell::Read {
                    ram: self.lut_rams.len(),
                    row: cell.four("RAD"),
                    to: std::array::from_fn(|bit| cell.driven("DO", bit, nowhere)),
                });
                self.lut_rams.push(LutRam {
                    rows: first,
                    first,
                    write: cell.bit("WRE"),
                    row: cell.four("WAD"),
                    data: cell.four("DI"),
                });
            }
            "DP16KD" => self.block_rams.push(block_ram(cell, nowhere)?),
            other => return Err(format!("a cell {other}, which is not known")),
        }
        Ok(())
    }

    /// Each cell behind those that its inputs come from.
    fn sort(&mut self) -> Result<(), String> {
        let nets: Vec<_> = (self.cells.iter())
            .map(|cell| {
                let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
                cell.inputs(|net| inputs.push(net));
                cell.outputs(|net| outputs.push(net));
                (inputs, outputs)
            })
            .collect();
        let order = ordered(&nets).map_err(|_| "a loop without register")?;
        self.cells = order.iter().map(|&index| self.cells[index]).collect();
        self.read_by = vec![0; self.lut_rams.len()];
        for (index, cell) in self.cells.iter().enumerate() {
            if let Cell::Read { ram, .. } = cell {
                self.read_by[*ram] = index;
            }
        }
        Ok(())
    }

    /// Registers and memories as the bitstream sets them.
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

    /// Runs from power-up on the inputs of a [`recorder`], and compares the outputs in every cycle; gives the number of cycles.
    ///
    /// # Errors
    /// Those of `recording`, and what is no recording of this design.
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

    /// Cells whose inputs changed, in their order: what one changes stands behind it.
    fn settle(&mut self) {
        for word in 0..self.wires.words {
            while self.wires.changed[word] != 0 {
                let bit = self.wires.changed[word].trailing_zeros() as usize;
                self.wires.changed[word] &= self.wires.changed[word] - 1;
                self.cells[64 * word + bit].follow(&mut self.wires, &self.lut_rams);
            }
        }
    }

    /// A rising edge: all cells see what was there in front of it.
    fn edge(&mut self) {
        let (wires, next) = (&mut self.wires, &mut self.next);
        next.clear();
        for (word, changed) in wires.changed[wires.words..].iter_mut().enumerate() {
            // Others have seen these inputs at an edge, and nothing new comes of them.
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

    /// How many LUTs there are.
    #[must_use]
    pub fn luts(&self) -> usize {
        self.cells.iter().filter(|cell| cell.is_lut()).count()
    }

    /// The row that one of the [`luts`](Self::luts) shows at present.
    #[must_use]
    pub fn row(&self, lut: usize) -> Option<usize> {
        match self.cells.iter().filter(|cell| cell.is_lut()).nth(lut)? {
            Cell::Lut { from, .. } => Some(number(from, &self.wires.values)),
            _ => None,
        }
    }

    /// How many flip-flops there are.
    #[must_use]
    pub fn flip_flops(&self) -> usize {
        self.flip_flops.len()
    }

    /// With a fault to be found.
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

impl Cell {
    /// Sets the outputs to what follows from the inputs.
    fn follow(&self, wires: &mut Wires, lut_rams: &[LutRam]) {
        match self {
            Self::Lut { table, from, to } => {
                let value = looked_up(*table, from, &wires.values);
                wires.drive(*to, value);
            }
            Self::Carry {
                tables,
                from,
                carry,
                sums,
                to,
            } => {
                let mut carry = wires.values[*carry];
                for half in 0..2 {
                    let [a, b, ..] = from[half];
                    let propagate = looked_up(tables[half], &from[half], &wires.values);
                    // the lowest quarter of the table, by the first two inputs
                    let inputs = wires.values[a] | wires.values[b] << 1;
                    let generate = (tables[half] >> inputs & 1) as u8;
                    wires.drive(sums[half], propagate ^ carry);
                    carry = if propagate == 1 { carry } else { generate };
                }
                wires.drive(*to, carry);
            }
            Self::Mux {
                zero,
                one,
                select,
                to,
            } => {
                let from = match wires.values[*select] {
                    1 => *one,
                    _ => *zero,
                };
                wires.drive(*to, wires.values[from]);
            }
            Self::Read { ram, row, to } => {
                let data = lut_rams[*ram].rows[number(row, &wires.values)];
                for (bit, net) in to.iter().enumerate() {
                    wires.drive(*net, data >> bit & 1);
                }
            }
        }
    }

    fn is_lut(&self) -> bool {
        matches!(self, Self::Lut { .. })
    }

    fn inputs(&self, mut each: impl FnMut(Net)) {
        match self {
            Self::Lut { from, .. } => from.iter().copied().for_each(each),
            Self::Carry { from, carry, .. } => {
                from.iter().flatten().copied().for_each(&mut each);
                each(*carry);
            }
            Self::Mux {
                zero, one, select, ..
            } => [*zero, *one, *select].into_iter().for_each(each),
            Self::Read { row, .. } => row.iter().copied().for_each(each),
        }
    }

    fn outputs(&self, mut each: impl FnMut(Net)) {
        match self {
            Self::Lut { to, .. } | Self::Mux { to, .. } => each(*to),
            Self::Carry { sums, to, .. } => [sums[0], sums[1], *to].into_iter().for_each(each),
            Self::Read { to, .. } => to.iter().copied().for_each(each),
        }
    }
}

fn looked_up(table: u16, from: &[Net; 4], values: &[u8]) -> u8 {
    (table >> number(from, values) & 1) as u8
}

/// Value of nets, the lowest first.
fn number(nets: &[Net], values: &[u8]) -> usize {
    let bits = nets.iter().rev();
    bits.fold(0, |sum, &net| sum << 1 | usize::from(values[net]))
}

/// Bit `at` of a hexadecimal number.
fn bit_of(digits: &[u8], at: usize) -> Option<u8> {
    let digit = *digits.get(digits.len().checked_sub(1 + at / 4)?)?;
    let value = char::from(digit).to_digit(16)?;
    Some((value >> (at % 4) & 1) as u8)
}

fn block_ram(cell: &module::Cell, nowhere: Net) -> Result<BlockRam, String> {
    let port = |name: &str| -> Result<RamPort, String> {
        let with = |text: &str| format!("{text}{name}");
        let clock = with("CLK");
        cell.expects(&[
            (&with("REGMODE_"), &["NOREG"]),
            (&with("CSDECODE_"), &["0b000"]),
            (&format!("{clock}MUX"), &[clock.as_str()]),
            (&with("WRITEMODE_"), &["", "NORMAL", "READBEFOREWRITE"]),
        ])?;
        let inputs = |text: &str, count: usize| -> Vec<Net> {
            let pin = |bit| cell.bit(&format!("{text}{name}{bit}"));
            (0..count).map(pin).collect()
        };
        let output = |bit| cell.driven(&format!("DO{name}{bit}"), 0, nowhere);
        if inputs("CS", 3) != [0; 3] {
            return Err("a block RAM with a chip select".into());
        }
        let width = cell.number(&with("DATA_WIDTH_"), 0, 32) as usize;
        if ![1, 2, 4, 9, 18, 36].contains(&width) {
            return Err(format!("a block RAM of {width} bits"));
        }
        Ok(RamPort {
            width,
            enable: cell.bit(&with("CE")),
            write: cell.bit(&with("WE")),
            reset: cell.bit(&with("RST")),
            address: inputs("AD", 14),
            data: inputs("DI", 18),
            to: (0..18).map(output).collect(),
            reads_before_write: cell.text(&with("WRITEMODE_")) == "READBEFOREWRITE",
        })
    };
    let ports = [port("A")?, port("B")?];
    if ports[0].width == 36 && ports[1].write != 0
        || (ports[0].width == 36) != (ports[1].width == 36)
    {
        return Err("a block RAM of 36 bits that does not write at A and read at B".into());
    }
    let row = |row: usize| {
        let name = format!("INITVAL_{:02X}", row / 16);
        cell.number(&name, 20 * (row % 16), 18) as u32
    };
    let first: Vec<u32> = (0..1024).map(row).collect();
    Ok(BlockRam {
        rows: first.clone(),
        first,
        ports,
    })
}

impl BlockRam {
    fn edge(&mut self, values: &[u8], next: &mut Vec<(Net, u8)>) {
        if self.ports[0].width == 36 {
            return self.edge_of_two_rows(values, next);
        }
        let rests = |port: &RamPort| values[port.enable] | values[port.reset] == 0;
        if self.ports.iter().all(rests) {
            return;
        }
        let was = |port: &RamPort, rows: &[u32]| rows[number(&port.address, values) >> 4];
        let before = [0, 1].map(|at| was(&self.ports[at], &self.rows));
        for (port, was) in self.ports.iter().zip(before) {
            let address = number(&port.address, values);
            let low = low(port.width, address);
            let part = match port.width {
                18 => 0x3ffff,
                width => (1 << width) - 1,
            };
            let writes = values[port.write] == 1;
            if values[port.reset] == 1 {
                give(&port.to, 0, next);
            } else if values[port.enable] == 1 && (!writes || port.reads_before_write) {
                give(&port.to, was >> low & part, next);
            }
            if values[port.enable] == 1 && writes {
                let mask = match port.width {
                    18 => octets(address),
                    _ => part << low,
                };
                let data = (number(&port.data, values) as u32) << low;
                let row = &mut self.rows[address >> 4];
                *row = *row & !mask | data & mask;
            }
        }
    }

    /// 36 bits: port A writes two rows, with an enable for each octet, and port B reads two.
    fn edge_of_two_rows(&mut self, values: &[u8], next: &mut Vec<(Net, u8)>) {
        let [a, b] = &self.ports;
        let from = number(&b.address, values) >> 5 << 1;
        if values[b.reset] == 1 {
            give(&a.to, 0, next);
            give(&b.to, 0, next);
        } else if values[b.enable] == 1 {
            give(&a.to, self.rows[from], next);
            give(&b.to, self.rows[from + 1], next);
        }
        if values[a.enable] == 1 && values[a.write] == 1 {
            let address = number(&a.address, values);
            for (half, data) in [&a.data, &b.data].into_iter().enumerate() {
                let mask = octets(address >> (2 * half));
                let row = &mut self.rows[(address >> 5 << 1) + half];
                *row = *row & !mask | number(data, values) as u32 & mask;
            }
        }
    }
}

/// The bits of a row that are written: wide ports have an enable for each octet in place of the lowest address bits.
fn octets(enables: usize) -> u32 {
    let bits = |enable: usize, octet: u32| if enables >> enable & 1 == 1 { octet } else { 0 };
    bits(0, 0x1ff) | bits(1, 0x3fe00)
}

/// Where a narrow port's bits begin in a row: 16 bits are numbered, the ninth one of each octet is seen by 9 and more.
fn low(width: usize, address: usize) -> usize {
    let bit = |at: usize, weight: usize| (address >> at & 1) * weight;
    match width {
        18 => 0,
        9 => bit(3, 9),
        4 => bit(3, 9) + bit(2, 4),
        2 => bit(3, 9) + bit(2, 4) + bit(1, 2),
        _ => bit(3, 9) + bit(2, 4) + bit(1, 2) + bit(0, 1),
    }
}

fn give(to: &[Net], value: u32, next: &mut Vec<(Net, u8)>) {
    let bits = to.iter().enumerate();
    next.extend(bits.map(|(bit, &net)| (net, (value >> bit & 1) as u8)));
}

/// All ports but the clock, inputs in front.
fn recorded<'p>(ports: &'p [Port], clock: &str) -> impl Iterator<Item = &'p Port> {
    let of = move |direction| ports.iter().filter(move |port| port.direction == direction);
    let all = of(Direction::Input).chain(of(Direction::Output));
    let clock = clock.to_owned();
    all.filter(move |port| port.name != clock)
}

/// The design with its name and ports, which writes a line into `file` at each rising edge of `clock`: inputs, then outputs,
/// as they are in front of it. Opened anew it begins the file anew.
///
/// Memories start with zeros, as those of a bitstream do: what is read from a row that nobody wrote is then the same.
#[must_use]
pub fn recorder(design: &Design, clock: &str, file: &Path) -> Vec<(String, String)> {
    let (mut files, top) = (design.sources(), design.top());
    let inside = format!("{top}_recorded");
    for (name, text) in &mut files {
        if *name == format!("{top}.sv") {
            *name = format!("{inside}.sv");
            *text = text.replacen(&format!("module {top} "), &format!("module {inside} "), 1);
        }
        *text = with_zeros(text);
    }
    let mut ports = Vec::new();
    let mut joined = Vec::new();
    for port in &design.ports {
        let direction = match port.direction {
            Direction::Input => "input",
            Direction::Output => "output",
        };
        let (name, high) = (&port.name, port.width - 1);
        ports.push(format!("    {direction} wire [{high}:0] {name}"));
        joined.push(format!(".{name}({name})"));
    }
    let names: Vec<&str> = recorded(&design.ports, clock)
        .map(|port| port.name.as_str())
        .collect();
    let wrapper = format!(
        "// Says what its ports are.
module {top} (
{}
);
    {inside} watched ({});
    integer recording;
    initial recording = $fopen(\"{}\", \"w\");
    always @(posedge {clock}) begin
        $fwrite(recording, \"{}\\n\", {});
        $fflush(recording);
    end
endmodule
",
        ports.join(",\n"),
        joined.join(", "),
        file.display(),
        vec!["%h"; names.len()].join(" "),
        names.join(", "),
    );
    files.push((format!("{top}.sv"), wrapper));
    files
}

/// Memories of `text` that start with zeros.
fn with_zeros(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        out += line;
        out.push('\n');
        let last = line
            .split_once(" rows [0:")
            .and_then(|(_, tail)| tail.strip_suffix("];"));
        if let Some(last) = last {
            let _ = writeln!(
                out,
                "    initial for (int row = 0; row <= {last}; row = row + 1) rows[row] = '0;"
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;
    use warpline_verilate::Build;

    use crate::simulate::{block_ram as block_ram_text, lint_off};

    /// A cell and nothing else: its pins are ports, `bits` of each.
    struct Alone {
        cells: Cells,
        nets: BTreeMap<String, Vec<Net>>,
    }

    impl Alone {
        fn new(kind: &str, parameters: Value, pins: &[(&str, usize)]) -> Result<Self, String> {
            let mut next = 2..;
            let nets: BTreeMap<String, Vec<Net>> = (pins.iter())
                .map(|&(pin, bits)| (pin.into(), next.by_ref().take(bits).collect()))
                .collect();
            let module = json!({
                "ports": {"clock": {"bits": [1000]}},
                "cells": {"cell": {
                    "type": kind, "parameters": parameters, "port_directions": {}, "connections": nets,
                }},
            });
            let mut module: Module = serde_json::from_value(module).unwrap();
            let cell = module.cells.get_mut("cell").unwrap();
            for clock in ["CLK", "WCK", "CLKA", "CLKB"] {
                cell.connections.insert(clock.into(), vec![Bit::Net(1000)]);
            }
            let cells = Cells::of(&module, &[], "clock")?;
            Ok(Self { cells, nets })
        }

        fn set(&mut self, pin: &str, value: usize) {
            for (at, &net) in self.nets[pin].iter().enumerate() {
                self.cells.wires.drive(net, (value >> at & 1) as u8);
            }
        }

        fn get(&self, pin: &str) -> usize {
            number(&self.nets[pin], &self.cells.wires.values)
        }
    }

    #[test]
    fn luts_and_multiplexers_do_what_their_tables_say() {
        let pins = ["A", "B", "C", "D", "Z"].map(|pin| (pin, 1));
        let mut lut = Alone::new("LUT4", json!({"INIT": "1100101001010110"}), &pins).unwrap();
        for row in 0..16 {
            for (bit, pin) in ["A", "B", "C", "D"].into_iter().enumerate() {
                lut.set(pin, row >> bit);
            }
            lut.cells.settle();
            assert_eq!(lut.get("Z"), 0b1100_1010_0101_0110 >> row & 1, "{row}");
        }
        for (kind, [zero, one, select]) in [
            ("PFUMX", ["BLUT", "ALUT", "C0"]),
            ("L6MUX21", ["D0", "D1", "SD"]),
        ] {
            let pins = [zero, one, select, "Z"].map(|pin| (pin, 1));
            let mut mux = Alone::new(kind, json!({}), &pins).unwrap();
            for row in 0..8 {
                mux.set(zero, row & 1);
                mux.set(one, row >> 1 & 1);
                mux.set(select, row >> 2);
                mux.cells.settle();
                let wanted = row >> (row >> 2) & 1;
                assert_eq!(mux.get("Z"), wanted, "{kind} {row}");
            }
        }
    }

    /// Tables of a sum as yosys writes them: A + B.
    #[test]
    fn a_carry_cell_adds() {
        let sum = "1001011010101010";
        let parameters = json!({"INIT0": sum, "INIT1": sum, "INJECT1_0": "NO", "INJECT1_1": "NO"});
        let pins = [
            "A0", "B0", "C0", "D0", "A1", "B1", "C1", "D1", "CIN", "S0", "S1", "COUT",
        ];
        let pins = pins.map(|pin| (pin, 1));
        let mut carry = Alone::new("CCU2C", parameters, &pins).unwrap();
        for row in 0..32 {
            let (a, b, from) = (row & 3, row >> 2 & 3, row >> 4);
            for half in 0..2 {
                carry.set(&format!("A{half}"), a >> half);
                carry.set(&format!("B{half}"), b >> half);
                carry.set(&format!("D{half}"), 1);
            }
            carry.set("CIN", from);
            carry.cells.settle();
            let made = carry.get("S0") | carry.get("S1") << 1 | carry.get("COUT") << 2;
            assert_eq!(made, a + b + from, "{a} + {b} + {from}");
        }
    }

    #[test]
    fn flip_flops_are_reset_before_they_are_enabled() {
        let pins = ["DI", "CE", "LSR", "Q"].map(|pin| (pin, 1));
        for (set, enabled) in ["1", "CE", "INV"]
            .into_iter()
            .flat_map(|e| [(0, e), (1, e)])
        {
            let parameters = json!({
                "CLKMUX": "CLK", "LSRMUX": "LSR", "SRMODE": "LSR_OVER_CE",
                "REGSET": if set == 1 { "SET" } else { "RESET" },
                "CEMUX": enabled,
            });
            let mut flip_flop = Alone::new("TRELLIS_FF", parameters, &pins).unwrap();
            let mut wanted = set;
            assert_eq!(flip_flop.get("Q"), wanted, "at power-up");
            let mut rng = fastrand::Rng::with_seed(1);
            for _ in 0..100 {
                let [data, enable, reset] = [(); 3].map(|()| rng.usize(..2));
                flip_flop.set("DI", data);
                flip_flop.set("CE", enable);
                flip_flop.set("LSR", reset);
                flip_flop.cells.edge();
                wanted = match (reset, enable, enabled) {
                    (1, _, _) => set,
                    (_, 0, "CE") | (_, 1, "INV") => wanted,
                    _ => data,
                };
                assert_eq!(flip_flop.get("Q"), wanted);
            }
        }
    }

    #[test]
    fn a_ram_of_luts_is_read_at_once_and_written_at_the_edge() {
        let parameters = json!({"WCKMUX": "WCK", "WREMUX": "WRE", "INITVAL": "0110".repeat(16)});
        let pins = [("RAD", 4), ("WAD", 4), ("DI", 4), ("WRE", 1), ("DO", 4)];
        let mut ram = Alone::new("TRELLIS_DPR16X4", parameters, &pins).unwrap();
        let mut wanted = [0b0110; 16];
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..500 {
            let [from, to, data] = [(); 3].map(|()| rng.usize(..16));
            let write = rng.usize(..2);
            for (pin, value) in [("RAD", from), ("WAD", to), ("DI", data), ("WRE", write)] {
                ram.set(pin, value);
            }
            ram.cells.settle();
            assert_eq!(ram.get("DO"), wanted[from]);
            ram.cells.edge();
            if write == 1 {
                wanted[to] = data;
            }
        }
    }

    /// Both models of the block RAM, written apart: this one, and the text that blocks are simulated with.
    #[test]
    fn block_rams_do_what_the_text_of_their_model_does() {
        let each = |pin: &str, bits: usize| -> Vec<String> {
            (0..bits).map(|bit| format!("{pin}{bit}")).collect()
        };
        let buses = [("DI", 18), ("AD", 14), ("DO", 18)];
        let modes = ["NORMAL", "READBEFOREWRITE"];
        let widths = [1, 2, 4, 9, 18].map(|width| (width, width));
        let mixed = [(36, 36), (9, 18), (1, 4)];
        for (at, (a, b)) in widths.into_iter().chain(mixed).enumerate() {
            let mode = modes[at % 2];
            let (mut parameters, mut instance) = (json!({}), Vec::new());
            let first = "011010011".repeat(320);
            for (name, value) in [("DATA_WIDTH_A", a), ("DATA_WIDTH_B", b)] {
                parameters[name] = format!("{value:032b}").into();
                instance.push(format!(".{name}({value})"));
            }
            for (name, value) in [
                ("REGMODE_A", "NOREG"),
                ("REGMODE_B", "NOREG"),
                ("CSDECODE_A", "0b000"),
                ("CSDECODE_B", "0b000"),
                ("CLKAMUX", "CLKA"),
                ("CLKBMUX", "CLKB"),
                ("WRITEMODE_A", mode),
                ("WRITEMODE_B", mode),
            ] {
                parameters[name] = value.into();
                instance.push(format!(".{name}(\"{value}\")"));
            }
            for row in 0..64 {
                // each has other bits than the next one
                let text = &first[row..row + 320];
                parameters[format!("INITVAL_{row:02X}")] = text.into();
                instance.push(format!(".INITVAL_{row:02X}(320'b{text})"));
            }

            let (mut pins, mut joined, mut ports) = (Vec::new(), Vec::new(), Vec::new());
            for port in ["A", "B"] {
                for (bus, bits) in buses {
                    let direction = if bus == "DO" { "output" } else { "input" };
                    ports.push(format!("{direction} wire [{}:0] {bus}{port}", bits - 1));
                    for (bit, pin) in each(&format!("{bus}{port}"), bits).into_iter().enumerate() {
                        joined.push(format!(".{pin}({bus}{port}[{bit}])"));
                        pins.push(pin);
                    }
                }
                for pin in ["CE", "WE", "RST"].map(|pin| format!("{pin}{port}")) {
                    ports.push(format!("input wire {pin}"));
                    joined.push(format!(".{pin}({pin})"));
                    pins.push(pin);
                }
                joined.push(format!(".CLK{port}(clock), .OCE{port}(1'b1)"));
                joined.extend(
                    each(&format!("CS{port}"), 3)
                        .iter()
                        .map(|pin| format!(".{pin}(1'b0)")),
                );
            }
            let text = format!(
                "module top (input wire clock, {});\n    DP16KD #({}) cell_ ({});\nendmodule\n",
                ports.join(", "),
                instance.join(", "),
                joined.join(", "),
            );
            let off = lint_off(&[
                "UNUSEDSIGNAL",
                "DECLFILENAME",
                "WIDTHEXPAND",
                "WIDTHTRUNC",
                "BLKSEQ",
                "UNUSEDPARAM",
                "PROCASSINIT",
                "MULTIDRIVEN",
            ]);
            let build = Build::new("top")
                .source("block_ram.v", off + &block_ram_text())
                .source("top.sv", text);
            let mut model = build.open().unwrap_or_else(|e| panic!("{e}"));
            let of_model = |name: &str| model.port(name).unwrap();
            let names: Vec<String> = ["A", "B"]
                .iter()
                .flat_map(|port| ["DI", "AD", "CE", "WE", "RST"].map(|pin| format!("{pin}{port}")))
                .collect();
            let inputs: Vec<_> = names.iter().map(|name| (name, of_model(name))).collect();
            let (clock, outputs) = (
                of_model("clock"),
                ["DOA", "DOB"].map(|name| (name, of_model(name))),
            );

            if a == 36 {
                pins.retain(|pin| pin != "WEB");
            }
            let pins: Vec<_> = pins.iter().map(|pin| (pin.as_str(), 1)).collect();
            let mut ram = Alone::new("DP16KD", parameters, &pins).unwrap();
            let mut rng = fastrand::Rng::with_seed(at as u64);
            let (mut other, mut writes) = (0, 0);
            for cycle in 0..2000 {
                for (name, port) in &inputs {
                    let value = match &name[..2] {
                        // few rows, so that they are met again
                        "AD" => rng.usize(..1 << 14) & 0x31ff,
                        "RS" => usize::from(rng.u8(..) < 8),
                        // One port writes at a time, as in all memories of the text; of 36 bits, that is port A.
                        "WE" if name.ends_with('A') => {
                            writes = rng.usize(..2);
                            writes
                        }
                        "WE" if a == 36 => 0,
                        "WE" => rng.usize(..2) & !writes,
                        "DI" => rng.usize(..1 << 18),
                        _ => rng.usize(..2),
                    };
                    model.set(*port, value as u64);
                    match &name[..2] {
                        "AD" | "DI" => {
                            for bit in 0..if name.starts_with("AD") { 14 } else { 18 } {
                                ram.set(&format!("{name}{bit}"), value >> bit);
                            }
                        }
                        "WE" if a == 36 && name.ends_with('B') => {}
                        _ => ram.set(name, value),
                    }
                }
                for level in [0, 1] {
                    model.set(clock, level);
                    model.eval().unwrap();
                }
                ram.cells.edge();
                for (name, port) in outputs {
                    let bit = |bit| ram.get(&format!("{name}{bit}")) << bit;
                    let got: usize = (0..18).map(bit).sum();
                    assert_eq!(
                        got as u64,
                        model.get(port),
                        "{name}, {a} and {b} bits, {mode}, cycle {cycle}"
                    );
                    other += got;
                }
            }
            assert_ne!(other, 0);
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let pins = ["DI", "Q"].map(|pin| (pin, 1));
        let said = |kind: &str, parameters| Alone::new(kind, parameters, &pins).err().unwrap();
        assert_eq!(
            said("MULT18X18D", json!({})),
            "a cell MULT18X18D, which is not known"
        );
        assert_eq!(
            said("TRELLIS_FF", json!({"CEMUX": "0"})),
            "a TRELLIS_FF with CEMUX \"0\""
        );
    }
}

//! ECP5's block RAM.

use super::pins::{Net, number};
use crate::module;

/// 1024 rows of 18 bits and two ports.
#[derive(Clone)]
pub(super) struct BlockRam {
    pub(super) rows: Vec<u32>,
    pub(super) first: Vec<u32>,
    pub(super) ports: [RamPort; 2],
}

#[derive(Clone)]
pub(super) struct RamPort {
    pub(super) width: usize,
    pub(super) enable: Net,
    pub(super) write: Net,
    pub(super) reset: Net,
    pub(super) address: Vec<Net>,
    pub(super) data: Vec<Net>,
    pub(super) to: Vec<Net>,
    /// Whether a read during a write returns the old row, or leaves the output.
    pub(super) reads_before_write: bool,
}

pub(super) fn block_ram(cell: &module::Cell, nowhere: Net) -> Result<BlockRam, String> {
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
    pub(super) fn edge(&mut self, values: &[u8], next: &mut Vec<(Net, u8)>) {
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
    pub(super) fn edge_of_two_rows(&mut self, values: &[u8], next: &mut Vec<(Net, u8)>) {
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

/// Bits of a row that are written: the lowest address bits of a wide port are enables of the octets.
pub(super) fn octets(enables: usize) -> u32 {
    let bits = |enable: usize, octet: u32| if enables >> enable & 1 == 1 { octet } else { 0 };
    bits(0, 0x1ff) | bits(1, 0x3fe00)
}

/// First bit of a narrow port in a row: 16 bits are numbered; only ports of 9 bits and more see the ninth of each octet.
pub(super) fn low(width: usize, address: usize) -> usize {
    let bit = |at: usize, weight: usize| (address >> at & 1) * weight;
    match width {
        18 => 0,
        9 => bit(3, 9),
        4 => bit(3, 9) + bit(2, 4),
        2 => bit(3, 9) + bit(2, 4) + bit(1, 2),
        _ => bit(3, 9) + bit(2, 4) + bit(1, 2) + bit(0, 1),
    }
}

pub(super) fn give(to: &[Net], value: u32, next: &mut Vec<(Net, u8)>) {
    let bits = to.iter().enumerate();
    next.extend(bits.map(|(bit, &net)| (net, (value >> bit & 1) as u8)));
}

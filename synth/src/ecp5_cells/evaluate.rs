//! What a cell drives, given the values of its inputs.

use super::logic::{Cell, LutRam};
use super::pins::{Net, number};
use super::wires::Wires;

impl Cell {
    /// Sets the outputs to what follows from the inputs.
    pub(super) fn follow(&self, wires: &mut Wires, lut_rams: &[LutRam]) {
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
}

fn looked_up(table: u16, from: &[Net; 4], values: &[u8]) -> u8 {
    (table >> number(from, values) & 1) as u8
}

//! Values of nets, and the cells whose inputs changed.

use super::logic::{Cell, FlipFlop};
use super::pins::Net;

/// Values of all nets, and what has to be evaluated again: in most cycles, few cells.
#[derive(Clone)]
pub(super) struct Wires {
    pub(super) values: Vec<u8>,
    /// Index of the first reader of each net.
    pub(super) first: Vec<usize>,
    /// Cells, followed by flip-flops.
    pub(super) readers: Vec<usize>,
    /// A bit for each cell, then from a new word on for each flip-flop.
    pub(super) changed: Vec<u64>,
    /// Words of cells.
    pub(super) words: usize,
}

impl Wires {
    pub(super) fn new(nets: usize, cells: &[Cell], flip_flops: &[FlipFlop]) -> Self {
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

    pub(super) fn drive(&mut self, net: Net, value: u8) {
        if self.values[net] != value {
            self.values[net] = value;
            for &reader in &self.readers[self.first[net]..self.first[net + 1]] {
                self.changed[reader / 64] |= 1 << (reader % 64);
            }
        }
    }
}

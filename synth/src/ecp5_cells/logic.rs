//! Cells and the nets that they are connected to.

use super::pins::Net;

/// A combinational cell.
#[derive(Clone, Copy)]
pub(super) enum Cell {
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
    /// Read port of a LUT RAM.
    Read {
        ram: usize,
        row: [Net; 4],
        to: [Net; 4],
    },
}

#[derive(Clone)]
pub(super) struct FlipFlop {
    pub(super) data: Net,
    pub(super) enable: Net,
    /// Level of `enable` at which it samples its data.
    pub(super) enabled_at: u8,
    pub(super) reset: Net,
    pub(super) value: u8,
    pub(super) to: Net,
}

/// 16 rows of 4 bits.
#[derive(Clone)]
pub(super) struct LutRam {
    pub(super) rows: [u8; 16],
    pub(super) first: [u8; 16],
    pub(super) write: Net,
    pub(super) row: [Net; 4],
    pub(super) data: [Net; 4],
}

impl Cell {
    pub(super) fn is_lut(&self) -> bool {
        matches!(self, Self::Lut { .. })
    }

    pub(super) fn inputs(&self, mut each: impl FnMut(Net)) {
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

    pub(super) fn outputs(&self, mut each: impl FnMut(Net)) {
        match self {
            Self::Lut { to, .. } | Self::Mux { to, .. } => each(*to),
            Self::Carry { sums, to, .. } => [sums[0], sums[1], *to].into_iter().for_each(each),
            Self::Read { to, .. } => to.iter().copied().for_each(each),
        }
    }
}

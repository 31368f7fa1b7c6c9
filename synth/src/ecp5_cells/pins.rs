//! What a cell of the netlist is connected to, and its parameters.

use crate::module::{self, Bit};

/// Number of a net. yosys numbers from 2 on: 0 and 1 are the constants.
pub(super) type Net = usize;

impl Bit {
    pub(super) fn net(self) -> Net {
        match self {
            Self::Net(net) => net,
            // don't care is zero
            Self::Constant(value) => usize::from(value == '1'),
        }
    }
}

/// A cell of the netlist.
impl module::Cell {
    /// Bits of a port; constant zero where it is left open.
    pub(super) fn bits(&self, port: &str) -> impl Iterator<Item = Net> {
        let bits = self.connections.get(port).map_or(&[][..], Vec::as_slice);
        bits.iter().map(|bit| bit.net())
    }

    pub(super) fn bit(&self, port: &str) -> Net {
        self.bits(port).next().unwrap_or(0)
    }

    /// Bit `at` of an output.
    pub(super) fn driven(&self, port: &str, at: usize, nowhere: Net) -> Net {
        match self.connections.get(port).and_then(|bits| bits.get(at)) {
            Some(Bit::Net(net)) => *net,
            _ => nowhere,
        }
    }

    pub(super) fn four(&self, port: &str) -> [Net; 4] {
        let mut bits = self.bits(port);
        std::array::from_fn(|_| bits.next().unwrap_or(0))
    }

    pub(super) fn lut(&self, suffix: &str) -> [Net; 4] {
        ["A", "B", "C", "D"].map(|pin| self.bit(&format!("{pin}{suffix}")))
    }

    /// Text of a parameter, "" where the netlist has none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.parameters.get(name).map_or("", |text| text.trim_end())
    }

    /// Bits `low..low + count` of a number; its text has the highest bit first.
    pub(super) fn number(&self, name: &str, low: usize, count: usize) -> u64 {
        let text = self.text(name);
        let digits = text.bytes().rev().skip(low).take(count).enumerate();
        digits.fold(0, |sum, (at, digit)| sum | u64::from(digit == b'1') << at)
    }

    /// Checks that each parameter has one of the values that are modelled.
    pub(super) fn expects(&self, known: &[(&str, &[&str])]) -> Result<(), String> {
        for (name, texts) in known {
            let text = self.text(name);
            if !texts.contains(&text) {
                return Err(format!("a {} with {name} {text:?}", self.r#type));
            }
        }
        Ok(())
    }
}

/// Value of nets, the lowest bit first.
pub(super) fn number(nets: &[Net], values: &[u8]) -> usize {
    let bits = nets.iter().rev();
    bits.fold(0, |sum, &net| sum << 1 | usize::from(values[net]))
}

//! Netlists run on symbols: a complete proof for networks of XOR, where a solver does not come to an end.
//!
//! ```text
//!  text ─► yosys ─► gates, flip-flops ─► a cycle after the other, every wire a sum of symbols ─► outputs
//! ```
//!
//! Data inputs are symbols, control inputs are numbers. A wire then carries a sum modulo 2 of symbols and a constant,
//! which has one form only: equal forms are equal functions of all values the symbols can have. What compares sums is
//! their conjunction or disjunction. Anything else is refused.
use crate::{Error, Tools};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::rc::Rc;
use warpline_sv_writer::Design;

/// A sum modulo 2 of symbols and a constant.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sum(Rc<[u64]>);

impl Sum {
    /// A number, among `symbols` symbols.
    #[must_use]
    pub fn number(one: bool, symbols: usize) -> Self {
        let mut words = vec![0; symbols / 64 + 1];
        words[0] = u64::from(one); // bit 0 is the constant
        Self(words.into())
    }

    /// Symbol `index` of `symbols`.
    #[must_use]
    pub fn symbol(index: usize, symbols: usize) -> Self {
        let mut words = vec![0; symbols / 64 + 1];
        words[(index + 1) / 64] |= 1 << ((index + 1) % 64);
        Self(words.into())
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self(
            self.0
                .iter()
                .zip(other.0.iter())
                .map(|(a, b)| a ^ b)
                .collect(),
        )
    }

    /// Its value, when no symbol is in it.
    #[must_use]
    pub fn known(&self) -> Option<bool> {
        (self.0[0] <= 1 && self.0[1..].iter().all(|word| *word == 0)).then(|| self.0[0] == 1)
    }

    fn not(&self) -> Self {
        let mut words = self.0.to_vec();
        words[0] ^= 1;
        Self(words.into())
    }
}

/// What a wire carries.
#[derive(Clone)]
pub enum Wire {
    /// A sum.
    Sum(Sum),
    /// One when all of these are.
    All(Vec<Sum>),
    /// One when any of these is.
    Any(Vec<Sum>),
}

impl Wire {
    fn not(&self) -> Self {
        let turned = |sums: &[Sum]| sums.iter().map(Sum::not).collect();
        match self {
            Self::Sum(sum) => Self::Sum(sum.not()),
            Self::All(sums) => Self::Any(turned(sums)),
            Self::Any(sums) => Self::All(turned(sums)),
        }
    }

    fn known(&self) -> Option<bool> {
        match self {
            Self::Sum(sum) => sum.known(),
            _ => None,
        }
    }

    fn sum(&self) -> Result<&Sum, Error> {
        match self {
            Self::Sum(sum) => Ok(sum),
            _ => Err(Error::NotLinear("a comparison in a sum".into())),
        }
    }

    fn xor(&self, other: &Self) -> Result<Self, Error> {
        match (self.known(), other.known()) {
            (Some(one), _) => Ok(if one { other.not() } else { other.clone() }),
            (_, Some(one)) => Ok(if one { self.not() } else { self.clone() }),
            _ => Ok(Self::Sum(self.sum()?.plus(other.sum()?))),
        }
    }

    fn and(&self, other: &Self) -> Result<Self, Error> {
        match (self, other) {
            (a, b) | (b, a) if a.known().is_some() => {
                return Ok(if a.known() == Some(true) {
                    b.clone()
                } else {
                    a.clone()
                });
            }
            _ => {}
        }
        let terms = |wire: &Self| match wire {
            Self::Sum(sum) => Ok(vec![sum.clone()]),
            Self::All(sums) => Ok(sums.clone()),
            Self::Any(_) => Err(Error::NotLinear(
                "both of a choice and something else".into(),
            )),
        };
        Ok(Self::All([terms(self)?, terms(other)?].concat()))
    }

    fn or(&self, other: &Self) -> Result<Self, Error> {
        Ok(self.not().and(&other.not())?.not())
    }

    /// `other` when `select`, else this.
    fn or_else(&self, other: &Self, select: &Self) -> Result<Self, Error> {
        match select.known() {
            Some(true) => return Ok(other.clone()),
            Some(false) => return Ok(self.clone()),
            None => {}
        }
        match self.xor(other)?.known() {
            Some(false) => Ok(self.clone()),
            Some(true) => self.xor(select),
            None => Err(Error::NotLinear("a choice between sums by a sum".into())),
        }
    }
}

struct Gate {
    kind: String,
    inputs: Vec<usize>,
    output: usize,
}

/// A netlist that runs on symbols.
pub struct Netlist {
    symbols: usize,
    nets: HashMap<String, Vec<usize>>,
    gates: Vec<Gate>,
    /// From what to what at the edge.
    flip_flops: Vec<(usize, usize)>,
    wires: Vec<Wire>,
}

impl Netlist {
    /// The gates of `text`, module `top`; all flip-flops hold zero.
    ///
    /// # Errors
    /// [`Error::Yosys`]; [`Error::NotLinear`] when there is more in it than gates and flip-flops.
    pub fn of(design: &Design, symbols: usize, tools: &Tools) -> Result<Self, Error> {
        let top = &design.modules.last().ok_or(Error::NoModule)?.name;
        Self::of_text(&design.text(), top, symbols, tools)
    }

    /// As [`of`](Self::of), of a text that may hold a planted fault.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_text(text: &str, top: &str, symbols: usize, tools: &Tools) -> Result<Self, Error> {
        let script = format!(
            "hierarchy -check -top {top}; proc; flatten; opt -nodffe -nosdff; memory; opt -nodffe -nosdff; techmap; \
             opt -nodffe -nosdff; simplemap; opt_clean; \
             write_json netlist.json"
        );
        let folder = tools.yosys(text, &script)?;
        let file = folder.path().join("netlist.json");
        let text = std::fs::read_to_string(&file).map_err(Error::at(file))?;
        let json: Json = serde_json::from_str(&text).map_err(|e| Error::Yosys(e.to_string()))?;
        Self::from_json(&json["modules"][top], symbols)
    }

    fn from_json(module: &Json, symbols: usize) -> Result<Self, Error> {
        // nets 0 and 1 are the constants; yosys numbers its own from 2 on
        let net = |bit: &Json| match bit.as_u64() {
            Some(net) => net as usize,
            None => usize::from(bit == "1"),
        };
        let bits = |value: &Json| {
            let bits = value.as_array().map(Vec::as_slice).unwrap_or_default();
            bits.iter().map(net).collect::<Vec<_>>()
        };
        let object = |value: &Json| value.as_object().cloned().unwrap_or_default();
        let nets = object(&module["netnames"]);
        let nets = nets
            .iter()
            .map(|(name, net)| (name.clone(), bits(&net["bits"])));
        let (mut gates, mut flip_flops, mut last) = (vec![], vec![], 1);
        for cell in object(&module["cells"]).values() {
            let kind = cell["type"].as_str().unwrap_or_default();
            let pin = |name: &str| bits(&cell["connections"][name]).first().copied();
            let missing = || Error::NotLinear(format!("cell {kind}"));
            let pins = |names: &[&str]| {
                let pins = names.iter().map(|name| pin(name).ok_or_else(missing));
                pins.collect::<Result<Vec<_>, _>>()
            };
            match kind {
                "$scopeinfo" => continue,
                "$_DFF_P_" => {
                    let pins = pins(&["D", "Q"])?;
                    flip_flops.push((pins[0], pins[1]));
                    last = last.max(pins[0]).max(pins[1]);
                    continue;
                }
                _ => {}
            }
            let names: &[&str] = match kind {
                "$_MUX_" => &["A", "B", "S"],
                "$_NOT_" | "$_BUF_" => &["A"],
                _ => &["A", "B"],
            };
            let (inputs, output) = (pins(names)?, pins(&["Y"])?[0]);
            last = inputs
                .iter()
                .fold(last.max(output), |last, net| last.max(*net));
            gates.push(Gate {
                kind: kind.into(),
                inputs,
                output,
            });
        }
        let nets: HashMap<_, _> = nets.collect();
        let last = nets
            .values()
            .flatten()
            .fold(last, |last, net| last.max(*net));
        let mut wires = vec![Wire::Sum(Sum::number(false, symbols)); last + 1];
        wires[1] = Wire::Sum(Sum::number(true, symbols));
        Ok(Self {
            symbols,
            nets,
            gates: in_order(gates, last + 1)?,
            flip_flops,
            wires,
        })
    }

    fn net(&self, name: &str) -> Result<Vec<usize>, Error> {
        let nets = self.nets.get(name).cloned();
        nets.ok_or_else(|| Error::NotLinear(format!("no net {name}")))
    }

    /// Lets `name` carry a number.
    ///
    /// # Errors
    /// [`Error::NotLinear`] when there is no such net.
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), Error> {
        for (bit, net) in self.net(name)?.into_iter().enumerate() {
            self.wires[net] = Wire::Sum(Sum::number(value >> bit & 1 == 1, self.symbols));
        }
        Ok(())
    }

    /// Lets `name` carry symbols from `first` on, and returns them.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn set_symbols(&mut self, name: &str, first: usize) -> Result<Vec<Sum>, Error> {
        let nets = self.net(name)?;
        let sums = (first..first + nets.len()).map(|index| Sum::symbol(index, self.symbols));
        let sums: Vec<Sum> = sums.collect();
        for (net, sum) in nets.into_iter().zip(&sums) {
            self.wires[net] = Wire::Sum(sum.clone());
        }
        Ok(sums)
    }

    /// What `name` carries.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn get(&self, name: &str) -> Result<Vec<Wire>, Error> {
        let nets = self.net(name)?;
        Ok(nets
            .into_iter()
            .map(|net| self.wires[net].clone())
            .collect())
    }

    /// [`get`](Self::get) of a net that carries sums.
    ///
    /// # Errors
    /// As [`set`](Self::set), and [`Error::NotLinear`] when it carries a comparison.
    pub fn sums(&self, name: &str) -> Result<Vec<Sum>, Error> {
        let wires = self.get(name)?;
        wires.iter().map(|wire| wire.sum().cloned()).collect()
    }

    /// Lets the inputs settle.
    ///
    /// # Errors
    /// [`Error::NotLinear`].
    pub fn settle(&mut self) -> Result<(), Error> {
        for gate in &self.gates {
            let pin = |index: usize| &self.wires[gate.inputs[index]];
            let wire = match gate.kind.as_str() {
                "$_BUF_" => pin(0).clone(),
                "$_NOT_" => pin(0).not(),
                "$_XOR_" => pin(0).xor(pin(1))?,
                "$_XNOR_" => pin(0).xor(pin(1))?.not(),
                "$_AND_" => pin(0).and(pin(1))?,
                "$_NAND_" => pin(0).and(pin(1))?.not(),
                "$_OR_" => pin(0).or(pin(1))?,
                "$_NOR_" => pin(0).or(pin(1))?.not(),
                "$_ANDNOT_" => pin(0).and(&pin(1).not())?,
                "$_ORNOT_" => pin(0).or(&pin(1).not())?,
                "$_MUX_" => pin(0).or_else(pin(1), pin(2))?,
                kind => return Err(Error::NotLinear(format!("cell {kind}"))),
            };
            self.wires[gate.output] = wire;
        }
        Ok(())
    }

    /// Settles, and lets the clock rise.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    pub fn edge(&mut self) -> Result<(), Error> {
        self.settle()?;
        let next = self.flip_flops.iter().map(|(d, _)| self.wires[*d].clone());
        let next: Vec<Wire> = next.collect();
        for ((_, q), wire) in self.flip_flops.iter().zip(next) {
            self.wires[*q] = wire;
        }
        Ok(())
    }
}

/// Gates, each behind those that feed it.
fn in_order(gates: Vec<Gate>, nets: usize) -> Result<Vec<Gate>, Error> {
    let mut driver = vec![None; nets];
    for (index, gate) in gates.iter().enumerate() {
        driver[gate.output] = Some(index);
    }
    let (mut order, mut state) = (vec![], vec![0_u8; gates.len()]);
    for root in 0..gates.len() {
        let mut stack = vec![root];
        while let Some(&index) = stack.last() {
            if state[index] == 0 {
                state[index] = 1;
                for feeding in gates[index].inputs.iter().filter_map(|net| driver[*net]) {
                    match state[feeding] {
                        0 => stack.push(feeding),
                        1 if feeding == index => {
                            return Err(Error::NotLinear("a loop of gates".into()));
                        }
                        _ => {}
                    }
                }
            } else {
                stack.pop();
                if state[index] == 1 {
                    state[index] = 2;
                    order.push(index);
                }
            }
        }
    }
    let mut gates: Vec<Option<Gate>> = gates.into_iter().map(Some).collect();
    Ok(order
        .into_iter()
        .filter_map(|index| gates[index].take())
        .collect())
}

/// The equations "all of `sums` are one", solved: equal systems have equal results.
#[must_use]
pub fn solved(sums: &[Sum]) -> Vec<Sum> {
    // "is one" as "is zero", then Gauss and Jordan; the constant, in bit 0, is never a pivot
    let mut rows: Vec<Sum> = sums.iter().map(Sum::not).collect();
    let (mut done, bits) = (0, sums.first().map_or(0, |sum| 64 * sum.0.len()));
    for bit in 1..bits {
        let has = |sum: &Sum| sum.0[bit / 64] >> (bit % 64) & 1 == 1;
        let Some(found) = (done..rows.len()).find(|row| has(&rows[*row])) else {
            continue;
        };
        rows.swap(done, found);
        for row in 0..rows.len() {
            if row != done && has(&rows[row]) {
                rows[row] = rows[row].plus(&rows[done]);
            }
        }
        done += 1;
    }
    rows.retain(|row| row.known() != Some(false));
    rows
}

//! A netlist of yosys: ports, and cells that are connected by numbered nets.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::Deserialize;

use crate::error::Error;
use crate::json::read;

/// Name of the file in a netlist's folder.
pub(crate) const NETLIST_JSON: &str = "netlist.json";

#[derive(Deserialize)]
struct Json {
    modules: HashMap<String, Module>,
}

/// A flat module: only cells.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Module {
    pub(crate) ports: HashMap<String, Port>,
    pub(crate) cells: BTreeMap<String, Cell>,
    #[serde(default)]
    netnames: HashMap<String, NetName>,
}

/// Names of a net.
#[derive(Debug, Deserialize)]
struct NetName {
    #[serde(default)]
    attributes: Attributes,
}

#[derive(Debug, Default, Deserialize)]
struct Attributes {
    /// Its name in the sources, from the top module on, with a space at each step down; without, it is that of the net.
    hdlname: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Port {
    pub(crate) bits: Vec<Bit>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Cell {
    pub(crate) r#type: String,
    #[serde(default)]
    pub(crate) parameters: HashMap<String, String>,
    pub(crate) port_directions: HashMap<String, String>,
    pub(crate) connections: HashMap<String, Vec<Bit>>,
}

/// What a pin is connected to. yosys numbers nets from 2 on.
#[derive(Debug, Deserialize, PartialEq, Eq, Hash, Clone, Copy)]
#[serde(untagged)]
pub(crate) enum Bit {
    Net(usize),
    /// '0', '1', or 'x' and 'z' for don't care.
    Constant(char),
}

impl Module {
    /// The module `top` of the netlist in `folder`.
    pub(crate) fn read(folder: &Path, top: &str) -> Result<Self, Error> {
        let path = folder.join(NETLIST_JSON);
        let mut json: Json = read(&path)?;
        let module = json.modules.remove(top);
        let module = module.ok_or_else(|| format!("no module {top}"));
        module.map_err(Error::output(&path))
    }

    /// The name in the sources of the signal that the netlist calls `name`.
    pub(crate) fn source_name(&self, name: &str) -> String {
        let net = self.netnames.get(name);
        let hidden = net.and_then(|net| net.attributes.hdlname.as_deref());
        hidden.map_or(name.into(), |path| path.replace(' ', "."))
    }
}

impl Cell {
    /// Whether paths begin and end there: registers, memories with a registered output, clocks.
    pub(crate) fn is_register(&self) -> bool {
        let starts = ["TRELLIS_FF", "DP16KD", "FD", "RAMB", "URAM", "EHXPLLL"];
        starts.iter().any(|start| self.r#type.starts_with(start))
    }

    pub(crate) fn is_lut_ram(&self) -> bool {
        !self.is_register()
            && ["TRELLIS_DPR", "RAM", "SRL"]
                .iter()
                .any(|start| self.r#type.starts_with(start))
    }

    /// Pins and nets of that direction, without constants.
    pub(crate) fn nets<'c>(
        &'c self,
        direction: &'c str,
    ) -> impl Iterator<Item = (&'c str, usize)> + 'c {
        let is = move |pin: &str| self.port_directions.get(pin).map(String::as_str);
        let pins = self.connections.iter();
        let pins = pins.filter(move |(pin, _)| is(pin) == Some(direction));
        pins.flat_map(|(pin, bits)| bits.iter().map(move |bit| (pin.as_str(), *bit)))
            .filter_map(|(pin, bit)| match bit {
                Bit::Net(net) => Some((pin, net)),
                Bit::Constant(_) => None,
            })
    }
}

/// Topological order of cells, each given by the nets at its inputs and outputs: a cell follows those that drive it.
///
/// # Errors
/// A cell on a loop.
pub(crate) fn ordered(cells: &[(Vec<usize>, Vec<usize>)]) -> Result<Vec<usize>, usize> {
    let mut driver = HashMap::new();
    for (index, (_, outputs)) in cells.iter().enumerate() {
        driver.extend(outputs.iter().map(|net| (net, index)));
    }
    let mut waits = vec![0; cells.len()];
    let mut readers = vec![Vec::new(); cells.len()];
    for (index, (inputs, _)) in cells.iter().enumerate() {
        for from in inputs.iter().filter_map(|net| driver.get(net)) {
            waits[index] += 1;
            readers[*from].push(index);
        }
    }
    let mut order: Vec<usize> = (0..cells.len()).filter(|&at| waits[at] == 0).collect();
    let mut done = 0;
    while let Some(&index) = order.get(done) {
        done += 1;
        for &reader in &readers[index] {
            waits[reader] -= 1;
            if waits[reader] == 0 {
                order.push(reader);
            }
        }
    }
    let Some(mut at) = waits.iter().position(|&waits| waits > 0) else {
        return Ok(order);
    };
    // What is left is on a loop or driven by one; as many steps back as there are cells reach it.
    for _ in 0..cells.len() {
        let mut before = cells[at].0.iter().filter_map(|net| driver.get(net));
        at = before
            .find(|&&from| waits[from] > 0)
            .map_or(at, |&from| from);
    }
    Err(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_are_those_of_the_sources_again() {
        let module: Module = serde_json::from_str(
            r#"{"ports": {}, "cells": {}, "netnames": {
                "_12_": {"bits": [2], "attributes": {"hdlname": "check segments row_q"}},
                "_13_": {"bits": [3], "attributes": {}}}}"#,
        )
        .unwrap();
        let names = ["_12_", "_13_", "place.rows"].map(|name| module.source_name(name));
        assert_eq!(names, ["check.segments.row_q", "_13_", "place.rows"]);
    }

    #[test]
    fn cells_stand_behind_what_drives_them_and_loops_are_found() {
        // 2 drives 0 drives 1
        let chain = [
            (vec![5], vec![6]),
            (vec![6, 5], vec![7]),
            (vec![9], vec![5]),
        ];
        assert_eq!(ordered(&chain), Ok(vec![2, 0, 1]));
        // 0 is driven by the loop of 1 and 2
        let looped = [(vec![6], vec![5]), (vec![7], vec![6]), (vec![6], vec![7])];
        assert!(matches!(ordered(&looped), Err(1 | 2)));
    }
}

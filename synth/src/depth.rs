//! Logic between registers: LUT levels, and the longest path with the same delay for every wire.
//!
//! There is no placement, so the result is no clock; it shows whether a device became slower.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::module::{Cell, ordered};

/// The longest path between registers or ports of an ECP5.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongestPath {
    /// Picoseconds, setup left out.
    pub ps: u64,
    /// The register, memory or port where it begins.
    pub from: String,
    /// Where it ends.
    pub to: String,
}

/// Picoseconds of a wire between two slices.
const WIRE: u64 = 750;

/// Cells between registers, each after the cells that drive it.
struct Between<'c> {
    cells: Vec<&'c Cell>,
}

impl<'c> Between<'c> {
    fn new(cells: &'c BTreeMap<String, Cell>) -> Result<Self, String> {
        let between: Vec<_> = cells.iter().filter(|(_, c)| !c.is_register()).collect();
        let nets: Vec<_> = (between.iter())
            .map(|(_, cell)| {
                let inputs = through(cell).map(|(_, net)| net).collect();
                (inputs, cell.nets("output").map(|(_, net)| net).collect())
            })
            .collect();
        let order = ordered(&nets)
            .map_err(|at| format!("a loop without register through {}", between[at].0))?;
        Ok(Self {
            cells: order.iter().map(|&at| between[at].1).collect(),
        })
    }
}

/// Inputs with a combinational path to an output: of a LUT RAM, the read address.
fn through(cell: &Cell) -> impl Iterator<Item = (&str, usize)> {
    let address = |pin: &str| ["RAD", "A", "DPRA"].iter().any(|s| pin.starts_with(s));
    let inputs = cell.nets("input");
    inputs.filter(move |(pin, _)| !cell.is_lut_ram() || address(pin))
}

/// The largest number of LUTs between registers. A LUT RAM on the path counts as one; carry chains and wide multiplexers do not
/// count.
///
/// # Errors
/// A loop without a register.
pub(crate) fn luts(cells: &BTreeMap<String, Cell>) -> Result<usize, String> {
    let mut levels: HashMap<usize, usize> = HashMap::new();
    for cell in Between::new(cells)?.cells {
        let before = through(cell).filter_map(|(_, net)| levels.get(&net)).max();
        let one = cell.r#type.starts_with("LUT") || cell.is_lut_ram();
        let depth = before.copied().unwrap_or(0) + usize::from(one);
        levels.extend(cell.nets("output").map(|(_, net)| (net, depth)));
    }
    Ok(levels.into_values().max().unwrap_or(0))
}

/// The longest path between registers or ports of a netlist of ECP5.
///
/// # Errors
/// A loop without a register, or a cell that is not known.
pub(crate) fn longest(cells: &BTreeMap<String, Cell>) -> Result<LongestPath, String> {
    // arrival time of a net, and the start of its path
    let mut times: HashMap<usize, (u64, &str)> = HashMap::new();
    for (name, cell) in cells.iter().filter(|(_, cell)| cell.is_register()) {
        let nets = cell.nets("output").map(|(_, net)| net);
        times.extend(nets.map(|net| (net, (clock_to_output(cell), name.as_str()))));
    }
    for cell in Between::new(cells)?.cells {
        for (output, net) in cell.nets("output") {
            let mut latest = (0, "a port");
            for (input, from) in through(cell) {
                let (time, start) = *times.get(&from).unwrap_or(&(0, "a port"));
                let time = time + wire(cell, input) + delay(cell, input, output)?;
                latest = latest.max((time, start));
            }
            times.insert(net, latest);
        }
    }
    let mut longest = (0, "", "");
    for (name, cell) in cells
        .iter()
        .filter(|(_, c)| c.is_register() || c.is_lut_ram())
    {
        let ends = cell.nets("input").map(|(_, net)| net);
        for (time, from) in ends.filter_map(|net| times.get(&net)) {
            longest = longest.max((time + WIRE, *from, name.as_str()));
        }
    }
    let (ps, from, to) = longest;
    Ok(LongestPath {
        ps,
        from: register(from).into(),
        to: register(to).into(),
    })
}

/// Name of a register or memory in the sources: yosys appends the kind of the cell.
fn register(name: &str) -> &str {
    let kinds = [
        "_TRELLIS_",
        "_DP16KD",
        "_LUT4",
        "_CCU2C",
        "_PFUMX",
        "_L6MUX21",
    ];
    let ends = kinds.iter().filter_map(|kind| name.find(kind));
    ends.min().map_or(name, |end| &name[..end])
}

/// Clock to output in picoseconds: speed grade 8 of nextpnr, rounded.
fn clock_to_output(cell: &Cell) -> u64 {
    let registered = cell.parameters.get("REGMODE_A").map(|text| text.trim());
    match cell.r#type.as_str() {
        "DP16KD" if registered == Some("OUTREG") => 600,
        "DP16KD" => 4000,
        _ => 310,
    }
}

/// Pin to pin in picoseconds, likewise.
fn delay(cell: &Cell, input: &str, output: &str) -> Result<u64, String> {
    Ok(match (cell.r#type.as_str(), input, output) {
        ("LUT4", ..) => 141,
        ("PFUMX" | "L6MUX21", ..) => 150,
        ("CCU2C", "CIN", "COUT") => 60,
        ("CCU2C", ..) => 450,
        ("TRELLIS_DPR16X4", ..) => 250,
        (kind, ..) => return Err(format!("a {kind}, whose delay is not known")),
    })
}

/// Delay of the wire to an input: none within a slice.
fn wire(cell: &Cell, input: &str) -> u64 {
    match (cell.r#type.as_str(), input) {
        ("CCU2C", "CIN") | ("PFUMX", "ALUT" | "BLUT") | ("L6MUX21", "D0" | "D1") => 0,
        _ => WIRE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn cell(kind: &str, inputs: &[(&str, usize)], output: (&str, usize)) -> Value {
        let mut directions = json!({output.0: "output"});
        let mut connections = json!({output.0: [output.1, "x"]});
        for (pin, net) in inputs {
            directions[pin] = json!("input");
            connections[pin] = json!([net, "0"]);
        }
        json!({"type": kind, "port_directions": directions, "connections": connections})
    }

    fn cells(cells: &[Value]) -> BTreeMap<String, Cell> {
        let cells = cells.iter().enumerate();
        let cells = cells.map(|(n, cell)| {
            let kind = cell["type"].as_str().unwrap();
            let name = format!("block.signal{n}_{kind}_Q");
            (name, serde_json::from_value(cell.clone()).unwrap())
        });
        cells.collect()
    }

    /// From a register through two LUTs, a carry and a LUT RAM back into it.
    fn chain() -> [Value; 6] {
        [
            cell("LUT4", &[("A", 5)], ("Z", 9)),
            cell("TRELLIS_FF", &[("DI", 9)], ("Q", 1)),
            cell("LUT4", &[("A", 1)], ("Z", 2)),
            cell("CCU2C", &[("A0", 2)], ("S0", 3)),
            cell("LUT4", &[("A", 3), ("B", 1)], ("Z", 4)),
            cell("TRELLIS_DPR16X4", &[("RAD", 4), ("DI", 9)], ("DO", 5)),
        ]
    }

    #[test]
    fn levels_are_the_luts_between_registers() {
        assert_eq!(luts(&cells(&chain())), Ok(4));
        // There is no path from the data of a LUT RAM, but from its address.
        assert_eq!(luts(&cells(&chain()[..5])), Ok(2));
        let looped = [
            cell("LUT4", &[("A", 2)], ("Z", 1)),
            cell("LUT4", &[("A", 1)], ("Z", 2)),
        ];
        let said = luts(&cells(&looped)).unwrap_err();
        assert!(said.starts_with("a loop without register through block.signal"));
    }

    #[test]
    fn the_longest_path_counts_cells_and_wires_between_them() {
        let longest = |with: &[Value]| longest(&cells(with)).unwrap();
        let path = longest(&chain());
        // the path also ends at the data of the RAM, as late as at the input of the register
        assert_eq!(path.ps, 310 + 3 * 141 + 450 + 250 + 6 * WIRE);
        assert_eq!(path.from, "block.signal1");
        assert!(["block.signal1", "block.signal5"].contains(&&*path.to));
        let mut faster = chain();
        faster[4] = cell("PFUMX", &[("ALUT", 3), ("C0", 1)], ("Z", 4));
        assert_eq!(longest(&faster).ps, path.ps - WIRE - 141 + 150);
        let mut carried = chain();
        carried[3] = cell("CCU2C", &[("CIN", 2)], ("COUT", 3));
        assert_eq!(longest(&carried).ps, path.ps - WIRE - 450 + 60);
        let mut from_memory = chain();
        from_memory[1] = cell("DP16KD", &[("DIA0", 9)], ("DOA0", 1));
        assert_eq!(longest(&from_memory).ps, path.ps - 310 + 4000);
        let unknown = [cell("MULT18X18D", &[("A0", 1)], ("P0", 2))];
        let said = super::longest(&cells(&unknown)).unwrap_err();
        assert_eq!(said, "a MULT18X18D, whose delay is not known");
    }
}

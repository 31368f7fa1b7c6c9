//! yosys: SystemVerilog in, cells of a family out.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use warpline_hdl::writer::Design;

use crate::Error;
use crate::flow::{call, read};

/// A family of parts that yosys knows the cells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Lattice ECP5 and ECP5-5G.
    Ecp5,
    /// AMD UltraScale+.
    UltraScalePlus,
}

impl Family {
    /// Its name in options and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ecp5 => "ecp5",
            Self::UltraScalePlus => "xcup",
        }
    }

    /// The family of that name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let all = [Self::Ecp5, Self::UltraScalePlus];
        all.into_iter().find(|family| family.name() == name)
    }

    /// yosys' way to the cells.
    fn commands(self, top: &str) -> String {
        match self {
            Self::Ecp5 => format!("synth_ecp5 -top {top}\n"),
            // out of context: without pins and clock buffers
            Self::UltraScalePlus => {
                format!("synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top {top}\n")
            }
        }
    }
}

/// What to make a netlist of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'s> {
    /// Top module.
    pub top: &'s str,
    /// Names and texts of all files.
    pub files: &'s [(String, String)],
    /// Parameters of the top module.
    pub parameters: &'s [(&'s str, usize)],
}

/// A netlist: in its folder as `netlist.json` and `netlist.v`.
#[derive(Clone, Debug)]
pub struct Netlist {
    /// The folder.
    pub folder: PathBuf,
    /// How many there are of each kind of cell.
    pub cells: BTreeMap<String, u64>,
}

/// [`netlist`] of a design with nothing around it.
///
/// # Errors
/// As [`netlist`].
pub fn netlist_of(
    design: &Design,
    yosys: &Path,
    family: Family,
    folder: &Path,
) -> Result<Netlist, Error> {
    let source = Source {
        top: design.top(),
        files: &design.sources(),
        parameters: &[],
    };
    netlist(yosys, family, &source, folder)
}

/// Has yosys make a netlist; sources, script and log are in `folder` as well.
///
/// # Errors
/// [`Error::Start`], [`Error::Tool`], [`Error::File`], [`Error::Output`].
pub(crate) fn netlist(
    yosys: &Path,
    family: Family,
    source: &Source<'_>,
    folder: &Path,
) -> Result<Netlist, Error> {
    let rtl = folder.join("rtl");
    fs::create_dir_all(&rtl).map_err(Error::at(&rtl))?;
    let mut script = String::from("read_verilog -sv");
    for (name, text) in source.files {
        let path = rtl.join(name);
        fs::write(&path, text).map_err(Error::at(&path))?;
        script += &format!(" rtl/{name}");
    }
    script += "\n";
    for (name, value) in source.parameters {
        script += &format!("chparam -set {name} {value} {}\n", source.top);
    }
    script += &family.commands(source.top);
    script += "write_json netlist.json\nwrite_verilog -noattr netlist.v\n";
    script += "tee -q -o statistics.json stat -json\n";
    run(yosys, folder, "synth", &script)?;

    #[derive(Deserialize)]
    struct Statistics {
        design: Counts,
    }
    #[derive(Deserialize)]
    struct Counts {
        num_cells_by_type: BTreeMap<String, u64>,
    }
    let path = folder.join("statistics.json");
    let statistics: Statistics = read(&path)?;
    let mut cells = statistics.design.num_cells_by_type;
    cells.retain(|kind, _| !kind.starts_with('$')); // where modules were: no cells
    Ok(Netlist {
        folder: folder.into(),
        cells,
    })
}

/// Runs a script, `<name>.ys`.
pub(crate) fn run(yosys: &Path, folder: &Path, name: &str, script: &str) -> Result<(), Error> {
    let file = format!("{name}.ys");
    let path = folder.join(&file);
    fs::write(&path, script).map_err(Error::at(&path))?;
    let mut command = Command::new(yosys);
    command.args(["-q", "-s", &file]);
    call("yosys", &mut command, folder, &format!("{name}.log"))
}

impl Netlist {
    /// How many cells there are of kinds that `is` picks.
    pub(crate) fn count(&self, is: impl Fn(&str) -> bool) -> u64 {
        let picked = self.cells.iter().filter(|(kind, _)| is(kind));
        picked.map(|(_, count)| count).sum()
    }

    /// LUTs on the longest path between two registers or ports. A RAM of LUTs that is read on the way is one; carry
    /// chains and wide multiplexers are none.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Output`].
    pub fn lut_levels(&self, top: &str) -> Result<usize, Error> {
        let path = self.folder.join("netlist.json");
        let json: Json = read(&path)?;
        let module = json.modules.get(top);
        let module = module.ok_or_else(|| format!("no module {top}"));
        let levels = module.and_then(|module| deepest(&module.cells));
        levels.map_err(Error::output(&path))
    }
}

#[derive(Deserialize)]
struct Json {
    modules: HashMap<String, Module>,
}

#[derive(Deserialize)]
struct Module {
    cells: BTreeMap<String, Cell>,
}

#[derive(Deserialize)]
struct Cell {
    r#type: String,
    port_directions: HashMap<String, String>,
    connections: HashMap<String, Vec<Bit>>,
}

#[derive(Deserialize, PartialEq, Eq, Hash, Clone, Copy)]
#[serde(untagged)]
enum Bit {
    Net(u64),
    Constant(char),
}

impl Cell {
    fn is_register(&self) -> bool {
        let starts = ["TRELLIS_FF", "DP16KD", "FD", "RAMB", "URAM", "EHXPLLL"];
        starts.iter().any(|start| self.r#type.starts_with(start))
    }

    fn is_lut_ram(&self) -> bool {
        !self.is_register()
            && ["TRELLIS_DPR", "RAM", "SRL"]
                .iter()
                .any(|start| self.r#type.starts_with(start))
    }

    /// LUTs between its inputs and its outputs.
    fn luts(&self) -> usize {
        (self.r#type.starts_with("LUT") || self.is_lut_ram()).into()
    }

    /// Nets at ports of that direction; of a RAM of LUTs, only the read addresses go on to its outputs.
    fn nets<'c>(&'c self, direction: &'c str) -> impl Iterator<Item = u64> + 'c {
        let ports = self.connections.iter().filter(move |(port, _)| {
            let address = ["RAD", "A", "DPRA"]
                .iter()
                .any(|start| port.starts_with(start));
            self.port_directions
                .get(*port)
                .is_some_and(|d| d == direction)
                && (direction == "output" || !self.is_lut_ram() || address)
        });
        ports
            .flat_map(|(_, bits)| bits)
            .filter_map(|bit| match bit {
                Bit::Net(net) => Some(*net),
                Bit::Constant(_) => None,
            })
    }
}

/// The largest number of LUTs between registers; a loop without a register is an error.
fn deepest(cells: &BTreeMap<String, Cell>) -> Result<usize, String> {
    let between: Vec<_> = cells
        .iter()
        .filter(|(_, cell)| !cell.is_register())
        .collect();
    let mut driver = HashMap::new();
    for (index, (_, cell)) in between.iter().enumerate() {
        driver.extend(cell.nets("output").map(|net| (net, index)));
    }
    let drivers: Vec<Vec<usize>> = (between.iter())
        .map(|(_, cell)| {
            cell.nets("input")
                .filter_map(|net| driver.get(&net).copied())
                .collect()
        })
        .collect();
    let mut depths = vec![None; between.len()];
    let mut open = vec![false; between.len()];
    for start in 0..between.len() {
        let mut stack = vec![start];
        while let Some(&index) = stack.last() {
            if depths[index].is_some() {
                stack.pop();
                continue;
            }
            let waiting: Vec<_> = drivers[index]
                .iter()
                .copied()
                .filter(|&d| depths[d].is_none())
                .collect();
            if waiting.is_empty() {
                let before = drivers[index].iter().filter_map(|&d| depths[d]).max();
                depths[index] = Some(before.unwrap_or(0) + between[index].1.luts());
                stack.pop();
            } else if open[index] {
                return Err(format!(
                    "a loop without register through {}",
                    between[index].0
                ));
            } else {
                open[index] = true;
                stack.extend(waiting);
            }
        }
    }
    Ok(depths.into_iter().flatten().max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn cell(kind: &str, inputs: &[(&str, u64)], output: u64) -> Value {
        let mut directions = json!({"Z": "output"});
        let mut connections = json!({"Z": [output, "x"]});
        for (port, net) in inputs {
            directions[port] = json!("input");
            connections[port] = json!([net, "0"]);
        }
        json!({"type": kind, "port_directions": directions, "connections": connections})
    }

    fn depth(cells: &[Value]) -> Result<usize, String> {
        let cells = cells.iter().enumerate();
        let cells = cells.map(|(n, cell)| {
            let cell = serde_json::from_value(cell.clone()).unwrap();
            (format!("cell{n}"), cell)
        });
        deepest(&cells.collect())
    }

    #[test]
    fn levels_are_the_luts_between_registers() {
        let register = cell("TRELLIS_FF", &[("DI", 9)], 1);
        let first = cell("LUT4", &[("A", 1)], 2);
        let carry = cell("CCU2C", &[("A0", 2)], 3);
        let second = cell("LUT4", &[("A", 3), ("B", 1)], 4);
        let ram = cell("TRELLIS_DPR16X4", &[("RAD", 4), ("DI", 9)], 5);
        let last = cell("LUT4", &[("A", 5)], 9);
        let chain = [last, register, first, carry, second, ram];
        assert_eq!(depth(&chain), Ok(4));
        // What a RAM of LUTs stores does not pass it; what addresses it does.
        assert_eq!(depth(&chain[..5]), Ok(2));
        let looped = [cell("LUT4", &[("A", 2)], 1), cell("LUT4", &[("A", 1)], 2)];
        assert!(
            depth(&looped)
                .unwrap_err()
                .starts_with("a loop without register")
        );
    }
}

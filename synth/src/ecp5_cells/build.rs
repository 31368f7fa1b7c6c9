//! From yosys' netlist to cells that can be evaluated.

use std::path::Path;

use warpline_sv_writer::{Design, Direction, Port};

use super::block_ram::block_ram;
use super::logic::{Cell, FlipFlop, LutRam};
use super::pins::Net;
use super::recorder::recorded;
use super::simulator::Ecp5Cells;
use super::wires::Wires;
use crate::error::Error;
use crate::module::{self, Module, NETLIST_JSON, ordered};

impl Ecp5Cells {
    /// Reads the netlist that yosys made of `design` in `folder`, in its state after power-up. The design has one `clock`.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Output`] when a cell has no model, or drives itself.
    pub fn read(folder: &Path, design: &Design, clock: &str) -> Result<Self, Error> {
        let module = Module::read(folder, design.top())?;
        let cells = Self::of(&module, &design.ports, clock);
        cells.map_err(Error::output(folder.join(NETLIST_JSON)))
    }

    pub(super) fn of(module: &Module, ports: &[Port], clock: &str) -> Result<Self, String> {
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
        // one more, for open outputs
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

    /// Sorts cells: each follows those that drive its inputs.
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
}

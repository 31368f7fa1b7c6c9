//! Each kind of cell on its own.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use warpline_verilate::Build;

use super::pins::{Net, number};
use super::simulator::Ecp5Cells;
use crate::module::{Bit, Module};
use crate::simulate::{block_ram as block_ram_text, lint_off};

/// A cell and nothing else: its pins are ports, `bits` of each.
struct Alone {
    cells: Ecp5Cells,
    nets: BTreeMap<String, Vec<Net>>,
}

impl Alone {
    fn new(kind: &str, parameters: Value, pins: &[(&str, usize)]) -> Result<Self, String> {
        let mut next = 2..;
        let nets: BTreeMap<String, Vec<Net>> = (pins.iter())
            .map(|&(pin, bits)| (pin.into(), next.by_ref().take(bits).collect()))
            .collect();
        let module = json!({
            "ports": {"clock": {"bits": [1000]}},
            "cells": {"cell": {
                "type": kind, "parameters": parameters, "port_directions": {}, "connections": nets,
            }},
        });
        let mut module: Module = serde_json::from_value(module).unwrap();
        let cell = module.cells.get_mut("cell").unwrap();
        for clock in ["CLK", "WCK", "CLKA", "CLKB"] {
            cell.connections.insert(clock.into(), vec![Bit::Net(1000)]);
        }
        let cells = Ecp5Cells::of(&module, &[], "clock")?;
        Ok(Self { cells, nets })
    }

    fn set(&mut self, pin: &str, value: usize) {
        for (at, &net) in self.nets[pin].iter().enumerate() {
            self.cells.wires.drive(net, (value >> at & 1) as u8);
        }
    }

    fn get(&self, pin: &str) -> usize {
        number(&self.nets[pin], &self.cells.wires.values)
    }
}

#[test]
fn luts_and_multiplexers_do_what_their_tables_say() {
    let pins = ["A", "B", "C", "D", "Z"].map(|pin| (pin, 1));
    let mut lut = Alone::new("LUT4", json!({"INIT": "1100101001010110"}), &pins).unwrap();
    for row in 0..16 {
        for (bit, pin) in ["A", "B", "C", "D"].into_iter().enumerate() {
            lut.set(pin, row >> bit);
        }
        lut.cells.settle();
        assert_eq!(lut.get("Z"), 0b1100_1010_0101_0110 >> row & 1, "{row}");
    }
    for (kind, [zero, one, select]) in [
        ("PFUMX", ["BLUT", "ALUT", "C0"]),
        ("L6MUX21", ["D0", "D1", "SD"]),
    ] {
        let pins = [zero, one, select, "Z"].map(|pin| (pin, 1));
        let mut mux = Alone::new(kind, json!({}), &pins).unwrap();
        for row in 0..8 {
            mux.set(zero, row & 1);
            mux.set(one, row >> 1 & 1);
            mux.set(select, row >> 2);
            mux.cells.settle();
            let wanted = row >> (row >> 2) & 1;
            assert_eq!(mux.get("Z"), wanted, "{kind} {row}");
        }
    }
}

/// Tables of a sum as yosys writes them: A + B.
#[test]
fn a_carry_cell_adds() {
    let sum = "1001011010101010";
    let parameters = json!({"INIT0": sum, "INIT1": sum, "INJECT1_0": "NO", "INJECT1_1": "NO"});
    let pins = [
        "A0", "B0", "C0", "D0", "A1", "B1", "C1", "D1", "CIN", "S0", "S1", "COUT",
    ];
    let pins = pins.map(|pin| (pin, 1));
    let mut carry = Alone::new("CCU2C", parameters, &pins).unwrap();
    for row in 0..32 {
        let (a, b, from) = (row & 3, row >> 2 & 3, row >> 4);
        for half in 0..2 {
            carry.set(&format!("A{half}"), a >> half);
            carry.set(&format!("B{half}"), b >> half);
            carry.set(&format!("D{half}"), 1);
        }
        carry.set("CIN", from);
        carry.cells.settle();
        let made = carry.get("S0") | carry.get("S1") << 1 | carry.get("COUT") << 2;
        assert_eq!(made, a + b + from, "{a} + {b} + {from}");
    }
}

#[test]
fn flip_flops_are_reset_before_they_are_enabled() {
    let pins = ["DI", "CE", "LSR", "Q"].map(|pin| (pin, 1));
    for (set, enabled) in ["1", "CE", "INV"]
        .into_iter()
        .flat_map(|e| [(0, e), (1, e)])
    {
        let parameters = json!({
            "CLKMUX": "CLK", "LSRMUX": "LSR", "SRMODE": "LSR_OVER_CE",
            "REGSET": if set == 1 { "SET" } else { "RESET" },
            "CEMUX": enabled,
        });
        let mut flip_flop = Alone::new("TRELLIS_FF", parameters, &pins).unwrap();
        let mut wanted = set;
        assert_eq!(flip_flop.get("Q"), wanted, "at power-up");
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..100 {
            let [data, enable, reset] = [(); 3].map(|()| rng.usize(..2));
            flip_flop.set("DI", data);
            flip_flop.set("CE", enable);
            flip_flop.set("LSR", reset);
            flip_flop.cells.edge();
            wanted = match (reset, enable, enabled) {
                (1, _, _) => set,
                (_, 0, "CE") | (_, 1, "INV") => wanted,
                _ => data,
            };
            assert_eq!(flip_flop.get("Q"), wanted);
        }
    }
}

#[test]
fn a_ram_of_luts_is_read_at_once_and_written_at_the_edge() {
    let parameters = json!({"WCKMUX": "WCK", "WREMUX": "WRE", "INITVAL": "0110".repeat(16)});
    let pins = [("RAD", 4), ("WAD", 4), ("DI", 4), ("WRE", 1), ("DO", 4)];
    let mut ram = Alone::new("TRELLIS_DPR16X4", parameters, &pins).unwrap();
    let mut wanted = [0b0110; 16];
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..500 {
        let [from, to, data] = [(); 3].map(|()| rng.usize(..16));
        let write = rng.usize(..2);
        for (pin, value) in [("RAD", from), ("WAD", to), ("DI", data), ("WRE", write)] {
            ram.set(pin, value);
        }
        ram.cells.settle();
        assert_eq!(ram.get("DO"), wanted[from]);
        ram.cells.edge();
        if write == 1 {
            wanted[to] = data;
        }
    }
}

/// Both models of the block RAM, written apart: this one, and the text that blocks are simulated with.
#[test]
fn block_rams_do_what_the_text_of_their_model_does() {
    let each = |pin: &str, bits: usize| -> Vec<String> {
        (0..bits).map(|bit| format!("{pin}{bit}")).collect()
    };
    let buses = [("DI", 18), ("AD", 14), ("DO", 18)];
    let modes = ["NORMAL", "READBEFOREWRITE"];
    let widths = [1, 2, 4, 9, 18].map(|width| (width, width));
    let mixed = [(36, 36), (9, 18), (1, 4)];
    for (at, (a, b)) in widths.into_iter().chain(mixed).enumerate() {
        let mode = modes[at % 2];
        let (mut parameters, mut instance) = (json!({}), Vec::new());
        let first = "011010011".repeat(320);
        for (name, value) in [("DATA_WIDTH_A", a), ("DATA_WIDTH_B", b)] {
            parameters[name] = format!("{value:032b}").into();
            instance.push(format!(".{name}({value})"));
        }
        for (name, value) in [
            ("REGMODE_A", "NOREG"),
            ("REGMODE_B", "NOREG"),
            ("CSDECODE_A", "0b000"),
            ("CSDECODE_B", "0b000"),
            ("CLKAMUX", "CLKA"),
            ("CLKBMUX", "CLKB"),
            ("WRITEMODE_A", mode),
            ("WRITEMODE_B", mode),
        ] {
            parameters[name] = value.into();
            instance.push(format!(".{name}(\"{value}\")"));
        }
        for row in 0..64 {
            // each has other bits than the next one
            let text = &first[row..row + 320];
            parameters[format!("INITVAL_{row:02X}")] = text.into();
            instance.push(format!(".INITVAL_{row:02X}(320'b{text})"));
        }

        let (mut pins, mut joined, mut ports) = (Vec::new(), Vec::new(), Vec::new());
        for port in ["A", "B"] {
            for (bus, bits) in buses {
                let direction = if bus == "DO" { "output" } else { "input" };
                ports.push(format!("{direction} wire [{}:0] {bus}{port}", bits - 1));
                for (bit, pin) in each(&format!("{bus}{port}"), bits).into_iter().enumerate() {
                    joined.push(format!(".{pin}({bus}{port}[{bit}])"));
                    pins.push(pin);
                }
            }
            for pin in ["CE", "WE", "RST"].map(|pin| format!("{pin}{port}")) {
                ports.push(format!("input wire {pin}"));
                joined.push(format!(".{pin}({pin})"));
                pins.push(pin);
            }
            joined.push(format!(".CLK{port}(clock), .OCE{port}(1'b1)"));
            joined.extend(
                each(&format!("CS{port}"), 3)
                    .iter()
                    .map(|pin| format!(".{pin}(1'b0)")),
            );
        }
        let text = format!(
            "module top (input wire clock, {});\n    DP16KD #({}) cell_ ({});\nendmodule\n",
            ports.join(", "),
            instance.join(", "),
            joined.join(", "),
        );
        let off = lint_off(&[
            "UNUSEDSIGNAL",
            "DECLFILENAME",
            "WIDTHEXPAND",
            "WIDTHTRUNC",
            "BLKSEQ",
            "UNUSEDPARAM",
            "PROCASSINIT",
            "MULTIDRIVEN",
        ]);
        let build = Build::new("top")
            .source("block_ram.v", off + &block_ram_text())
            .source("top.sv", text);
        let mut model = build.open().unwrap_or_else(|e| panic!("{e}"));
        let of_model = |name: &str| model.port(name).unwrap();
        let names: Vec<String> = ["A", "B"]
            .iter()
            .flat_map(|port| ["DI", "AD", "CE", "WE", "RST"].map(|pin| format!("{pin}{port}")))
            .collect();
        let inputs: Vec<_> = names.iter().map(|name| (name, of_model(name))).collect();
        let (clock, outputs) = (
            of_model("clock"),
            ["DOA", "DOB"].map(|name| (name, of_model(name))),
        );

        if a == 36 {
            pins.retain(|pin| pin != "WEB");
        }
        let pins: Vec<_> = pins.iter().map(|pin| (pin.as_str(), 1)).collect();
        let mut ram = Alone::new("DP16KD", parameters, &pins).unwrap();
        let mut rng = fastrand::Rng::with_seed(at as u64);
        let (mut other, mut writes) = (0, 0);
        for cycle in 0..2000 {
            for (name, port) in &inputs {
                let value = match &name[..2] {
                    // few rows, so that they are met again
                    "AD" => rng.usize(..1 << 14) & 0x31ff,
                    "RS" => usize::from(rng.u8(..) < 8),
                    // One port writes at a time, as in all memories of the text; of 36 bits, that is port A.
                    "WE" if name.ends_with('A') => {
                        writes = rng.usize(..2);
                        writes
                    }
                    "WE" if a == 36 => 0,
                    "WE" => rng.usize(..2) & !writes,
                    "DI" => rng.usize(..1 << 18),
                    _ => rng.usize(..2),
                };
                model.set(*port, value as u64);
                match &name[..2] {
                    "AD" | "DI" => {
                        for bit in 0..if name.starts_with("AD") { 14 } else { 18 } {
                            ram.set(&format!("{name}{bit}"), value >> bit);
                        }
                    }
                    "WE" if a == 36 && name.ends_with('B') => {}
                    _ => ram.set(name, value),
                }
            }
            for level in [0, 1] {
                model.set(clock, level);
                model.eval().unwrap();
            }
            ram.cells.edge();
            for (name, port) in outputs {
                let bit = |bit| ram.get(&format!("{name}{bit}")) << bit;
                let got: usize = (0..18).map(bit).sum();
                assert_eq!(
                    got as u64,
                    model.get(port),
                    "{name}, {a} and {b} bits, {mode}, cycle {cycle}"
                );
                other += got;
            }
        }
        assert_ne!(other, 0);
    }
}

#[test]
fn what_is_not_known_is_refused() {
    let pins = ["DI", "Q"].map(|pin| (pin, 1));
    let said = |kind: &str, parameters| Alone::new(kind, parameters, &pins).err().unwrap();
    assert_eq!(
        said("MULT18X18D", json!({})),
        "a cell MULT18X18D, which is not known"
    );
    assert_eq!(
        said("TRELLIS_FF", json!({"CEMUX": "0"})),
        "a TRELLIS_FF with CEMUX \"0\""
    );
}

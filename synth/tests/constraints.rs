//! Constraint files name existing ports of the board and the device, and existing files.

use std::collections::BTreeSet;

use warpline_synth::{BOARD, config};

const LPF: &str = include_str!("../../constraints/ecp5-evn/warpline_ecp5_evn.lpf");
const BOARD_TEXT: &str = include_str!("../../constraints/ecp5-evn/warpline_ecp5_evn.sv");
const XDC: &str = include_str!("../../constraints/ultrascale/warpline.xdc");
const SCRIPT: &str = include_str!("../../constraints/ultrascale/warpline.tcl");

/// Pins of the board's top module, each bit of a vector on its own.
fn pins() -> BTreeSet<String> {
    let start = BOARD_TEXT.find(&format!("module {BOARD}")).unwrap();
    let ports = BOARD_TEXT[start..].split_once(") (").unwrap().1;
    let ports = ports.split_once(");").unwrap().0;
    let mut pins = BTreeSet::new();
    for port in ports.split(',') {
        let name = port.split_whitespace().last().unwrap();
        match port.split_once('[') {
            None => pins.extend([name.to_owned()]),
            Some((_, range)) => {
                let top: usize = range.split(':').next().unwrap().parse().unwrap();
                pins.extend((0..=top).map(|bit| format!("{name}[{bit}]")));
            }
        }
    }
    pins
}

/// Quoted names after `word` in lines of `text`, without comments.
fn named(text: &str, word: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let names = lines.filter_map(|line| line.split_once(&format!("{word} \"")));
    names
        .map(|(_, rest)| rest.split('"').next().unwrap().to_owned())
        .collect()
}

/// Pins without a site, or sites of pins that are not there.
fn unlike(pins: &BTreeSet<String>, lpf: &str) -> Vec<String> {
    let sited: BTreeSet<_> = named(lpf, "COMP").into_iter().collect();
    let typed: BTreeSet<_> = named(lpf, "IOBUF PORT").into_iter().collect();
    let mut wrong: Vec<_> = sited.symmetric_difference(pins).cloned().collect();
    wrong.extend(typed.symmetric_difference(pins).cloned());
    wrong
}

#[test]
fn every_pin_of_the_board_has_its_site_and_no_site_two_pins() {
    let pins = pins();
    assert!(
        pins.contains("led[7]") && pins.contains("clk12"),
        "{pins:?}"
    );
    assert_eq!(unlike(&pins, LPF), [""; 0]);
    let sites = named(LPF, "SITE");
    assert_eq!(sites.iter().collect::<BTreeSet<_>>().len(), sites.len());
    assert_eq!(unlike(&pins, &LPF.replace("led[3]", "led[9]")).len(), 4);
}

/// Names in `get_ports` and after options of `text` that `ports` lacks.
fn unknown(text: &str, ports: &[String]) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let text: Vec<_> = lines.collect();
    let text = text.join("\n");
    let asked = text.split("[get_ports ").skip(1).flat_map(|rest| {
        let names = rest.split(']').next().unwrap_or_default();
        let names = names.trim_start_matches("-filter ");
        let names = names.split(|c: char| !c.is_alphanumeric() && c != '_');
        let words = ["DIRECTION", "NAME", "IN", "OUT", ""];
        names
            .filter(|name| !words.contains(name))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    asked.filter(|name| !ports.contains(name)).collect()
}

#[test]
fn vendor_constraints_name_ports_of_the_device() {
    let design = warpline_design::design(&config(64)).unwrap();
    let ports: Vec<_> = design.ports.iter().map(|port| port.name.clone()).collect();
    assert_eq!(unknown(XDC, &ports), [""; 0]);
    assert_eq!(
        unknown(&XDC.replace("get_ports aclk", "get_ports clk"), &ports),
        ["clk"]
    );
    assert!(XDC.contains("-period 6.400"), "156.25 MHz");
    assert!(SCRIPT.contains(&format!("-top {} ", warpline_design::TOP)));
    assert!(SCRIPT.contains(&format!("{}.f", warpline_design::TOP)));
    assert!(SCRIPT.contains("warpline.xdc"));
    let clocks = design.ports.iter().filter(|port| port.clock);
    assert_eq!(clocks.count(), 1, "one clock, one create_clock");
    assert_eq!(XDC.matches("create_clock").count(), 1);
}

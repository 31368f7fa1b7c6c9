//! Constraint files name existing ports of the board and the device, and existing files.

use std::collections::BTreeSet;

use warpline_synth::{BOARDS, Board, config};

const XDC: &str = include_str!("../../constraints/ultrascale/warpline.xdc");
const SCRIPT: &str = include_str!("../../constraints/ultrascale/warpline.tcl");

/// Pins of a board's top module, each bit of a vector on its own.
fn pins(board: &Board) -> BTreeSet<String> {
    let text = board.sv();
    let start = text.find(&format!("module {} ", board.top())).unwrap();
    let ports = text[start..].split_once(") (").unwrap().1;
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
fn every_pin_of_a_board_has_its_site_and_no_site_two_pins() {
    for board in &BOARDS {
        let (pins, lpf) = (pins(board), board.lpf());
        let clock = format!("clk{}", board.mhz);
        assert!(pins.contains("led[0]") && pins.contains(&clock), "{pins:?}");
        assert_eq!(unlike(&pins, &lpf), [""; 0], "{}", board.name);
        let sites = named(&lpf, "SITE");
        assert_eq!(sites.iter().collect::<BTreeSet<_>>().len(), sites.len());
        assert_eq!(unlike(&pins, &lpf.replace("led[0]", "led[19]")).len(), 4);
    }
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

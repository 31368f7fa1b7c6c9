//! CRC32C unit against the definition, bit by bit: all data, all register states, every number of dwords in the last
//! beat, at all widths. Complete, since both sides are sums of the same symbols.
//!
//! ```text
//!  case A   [any beat of another FPDU] [first beat of ours]  [first beat of the next]
//!  case B   [idle; register = any]     [a beat of ours]      [first beat of the next]
//! ```
//!
//! Beats are last ones with 1 to D dwords, or not last. Together: whatever the register stands for in front of a beat, it
//! is right behind it, and a verdict is right; by induction over the beats of an FPDU, for all FPDUs.

use std::time::Instant;
use warpline_formal::linear::{Netlist, Sum, Wire, solved};
use warpline_formal::{Error, Tools};
use warpline_hdl::parts::crc_register::squared;
use warpline_hdl::parts::crc32c::{Crc32c, latency};
use warpline_sv_writer::{self as writer, Design};
use warpline_wire::crc::{INIT, POLYNOMIAL_REFLECTED};

/// The register behind `data`, bit by bit (RFC 5044 §4.4: each octet least significant bit first).
fn serial(mut register: Vec<Sum>, data: &[Sum]) -> Vec<Sum> {
    for bit in data {
        let out = register[0].plus(bit);
        register.rotate_left(1);
        register[31] = out.plus(&out);
        for (place, sum) in register.iter_mut().enumerate() {
            if POLYNOMIAL_REFLECTED >> place & 1 == 1 {
                *sum = sum.plus(&out);
            }
        }
    }
    register
}

/// `map` of a register of sums; `map` is linear.
fn mapped(register: &[Sum], map: impl Fn(u32) -> u32) -> Vec<Sum> {
    let zero = register[0].plus(&register[0]);
    let column = |bit: usize| map(1 << bit);
    let sum = |place: usize| {
        let terms = (0..32).filter(|bit| column(*bit) >> place & 1 == 1);
        terms.fold(zero.clone(), |sum, bit| sum.plus(&register[bit]))
    };
    (0..32).map(sum).collect()
}

fn number(value: u32, symbols: usize) -> Vec<Sum> {
    let bit = |place: u32| Sum::number(value >> place & 1 == 1, symbols);
    (0..32).map(bit).collect()
}

/// What goes in with a beat.
#[derive(Clone, Copy)]
struct Beat {
    first: bool,
    last: bool,
    count: usize,
}

/// A beat of `kind` between others; `Err` says what is wrong.
fn one(net: &mut Netlist, width: usize, kind: Beat) -> Result<Result<(), String>, Error> {
    let dwords = width / 32;
    let symbols = 32 + 3 * width;
    let idle = |net: &mut Netlist| net.set("valid", 0);
    let offer = |net: &mut Netlist, beat: Beat, symbol: usize| {
        net.set("valid", 1)?;
        net.set("first", u64::from(beat.first))?;
        net.set("last", u64::from(beat.last))?;
        net.set("count", beat.count as u64)?;
        net.set_symbols("data", symbol)
    };
    // nothing under way
    net.set("reset", 1)?;
    idle(net)?;
    for _ in 0..latency(width) + 2 {
        net.edge()?;
    }
    net.set("reset", 0)?;

    let full = |first, last| Beat {
        first,
        last,
        count: dwords,
    };
    let root = net.set_symbols("root_q", 0)?;
    if kind.first {
        offer(net, full(false, true), 32 + width)?;
        net.edge()?;
    }
    let data = offer(net, kind, 32)?;
    net.edge()?;
    if kind.last {
        offer(net, full(true, false), 32 + 2 * width)?;
        net.edge()?;
    }
    idle(net)?;

    // what the register stands for: its W-th power
    let squarings = width.ilog2() as usize;
    let before = match kind.first {
        true => number(INIT, symbols),
        false => mapped(&root, |register| squared(register, squarings)),
    };
    let after = serial(before.clone(), &data[..32 * kind.count]);
    if !kind.last {
        for _ in 0..latency(width) {
            net.edge()?;
        }
        let root = mapped(&net.sums("root_q")?, |register| {
            squared(register, squarings)
        });
        return Ok((root == after).then_some(()).ok_or("register".into()));
    }
    for _ in 0..latency(width) - 3 {
        net.edge()?;
        net.settle()?;
    }
    let said = |net: &Netlist| Ok::<_, Error>(net.sums("verdict_valid")?[0].known());
    // the beat of the other FPDU, if any, had its verdict a cycle earlier
    if said(net)? != Some(kind.first) {
        return Ok(Err("a verdict too early".into()));
    }
    net.edge()?;
    net.settle()?;
    if said(net)? != Some(true) {
        return Ok(Err("no verdict".into()));
    }
    let verdict = net.get("verdict")?;
    let sums = |wires: &[Wire]| {
        let sums = wires.iter().map(|wire| match wire {
            Wire::Sum(sum) => Some(sum.clone()),
            _ => None,
        });
        sums.collect::<Option<Vec<Sum>>>()
    };
    // good: the CRC field is the complement of the register in front of it
    let field = &data[32 * kind.count - 32..32 * kind.count];
    let register = serial(before, &data[..32 * kind.count - 32]);
    let equal = register.iter().zip(field).map(|(a, b)| a.plus(b));
    let equal: Vec<Sum> = equal.collect();
    let Wire::All(good) = &verdict[0] else {
        return Ok(Err("`good` is no comparison".into()));
    };
    if solved(good) != solved(&equal) {
        return Ok(Err("good".into()));
    }
    let zeros = dwords - kind.count;
    let nothing = vec![Sum::number(false, symbols); 32 * zeros];
    if sums(&verdict[1..33]) != Some(serial(after, &nothing)) {
        return Ok(Err("state".into()));
    }
    let told = (33..37).rev().try_fold(0, |told, bit| match &verdict[bit] {
        Wire::Sum(sum) => sum.known().map(|one| told << 1 | usize::from(one)),
        _ => None,
    });
    if told != Some(zeros) {
        return Ok(Err("zeros".into()));
    }
    if sums(&verdict[37..69]).as_deref() != Some(field) {
        return Ok(Err("received".into()));
    }
    Ok(Ok(()))
}

/// All beats there are; the first fault that shows.
fn all(text: &str, width: usize) -> Result<(), String> {
    let symbols = 32 + 3 * width;
    let tools = Tools::find().unwrap_or_else(|error| panic!("{error}"));
    let mut net = Netlist::of_text(text, "crc", symbols, &tools).unwrap();
    for first in [true, false] {
        for count in 0..=width / 32 {
            // 0: not the last one
            let kind = Beat {
                first,
                last: count > 0,
                count: if count > 0 { count } else { width / 32 },
            };
            one(&mut net, width, kind).unwrap().map_err(|what| {
                format!("{width} bits, first {first}, {count} dwords at the end: {what}")
            })?;
        }
    }
    Ok(())
}

fn text<const W: usize, const D: usize>() -> String {
    let design: Design = writer::write(&Crc32c::<W, D>::default(), "crc").unwrap();
    design.text()
}

fn proved<const W: usize, const D: usize>() {
    let (text, start) = (text::<W, D>(), Instant::now());
    all(&text, W).unwrap();
    println!(
        "CRC of {W} bits: equal to the definition, {:.1?}",
        start.elapsed()
    );
}

// The definition is that of MPA-CRC-12 and MPA-CRC-24, which tests of every run cite.
#[test]
#[ignore = "needs yosys: make formal"]
fn crc_equals_the_definition_for_all_data_at_every_width_and_length() {
    proved::<64, 2>();
    proved::<128, 4>();
    proved::<256, 8>();
    proved::<512, 16>();
}

#[test]
#[ignore = "needs yosys: make formal"]
fn one_term_less_anywhere_in_the_networks_is_found() {
    let right = text::<64, 2>();
    // a term of the first network, of the second one, and of the constants
    let terms: Vec<usize> = right.match_indices(" ^ data[").map(|(at, _)| at).collect();
    for pick in [0, terms.len() / 3, terms.len() - 1] {
        let at = terms[pick];
        let end = at + right[at..].find(']').unwrap() + 1;
        let wrong = [&right[..at], &right[end..]].concat();
        all(&wrong, 64).unwrap_err();
    }
    for (name, digit) in [("preset", 1), ("residues_1", 5)] {
        let at = right.find(&format!(" {name} = 32'h")).unwrap() + name.len() + 7 + digit;
        let flipped = if &right[at..=at] == "0" { "1" } else { "0" };
        let wrong = [&right[..at], flipped, &right[at + 1..]].concat();
        all(&wrong, 64).unwrap_err();
    }
}

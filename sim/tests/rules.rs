//! Each rule that the card checks is broken once, by a module made for it.

use warpline_hdl::Config;
use warpline_regmap::register;
use warpline_sim::{BackPressure, Card, CardOptions, Error, Rule, Violation};

/// Runs the stand-in with a fault until the card reports it.
fn broken(fault: u32) -> Result<(), Violation> {
    let text = include_str!("stand_in.sv");
    let text = text.replace(
        "localparam FAULT = 0;",
        &format!("localparam FAULT = {fault};"),
    );
    assert_eq!(text.contains("FAULT = 0"), fault == 0);
    let options = CardOptions {
        back_pressure: BackPressure {
            stall: 60,
            latency: 1..=4,
        },
        ..Default::default()
    };
    let sources = [("stand_in.sv".to_owned(), text)];
    let violation = |error: Error| match error {
        Error::Violation(violation) => violation,
        other => panic!("{other}"),
    };
    let config = Config::simulated(64);
    let card = Card::open_sources(&config, options, sources).map_err(violation)?;
    for _ in 0..50 {
        card.write_register(0x40, 1).map_err(violation)?;
        let read = card.read_register(0x40).map_err(violation)?;
        assert_eq!(read, 7);
        card.step(10).map_err(violation)?;
    }
    // The card stops after a violation; without one, every write was answered.
    assert!(card.bus_errors() > 10, "nothing is mapped");
    Ok(())
}

#[test]
fn every_rule_is_watched() {
    let crosses = Rule::Crosses4KiB {
        address: 0x1FF8,
        beats: 2,
    };
    let second = Rule::ManyReads {
        address: 0x2008,
        most: 1,
    };
    let cases = [
        (0, None),
        (1, Some(("m_axi_aw", Rule::ValidFell))),
        (2, Some(("m_axi_aw", Rule::PayloadChanged))),
        (3, Some(("m_axi_w", Rule::PayloadChanged))),
        (4, Some(("m_axi_w", Rule::NoLast { beats: 2 }))),
        (5, Some(("m_axi_aw", crosses))),
        (6, Some(("m_axis_window", Rule::PayloadChanged))),
        (7, Some(("s_axil_b", Rule::Unasked))),
        (8, Some(("s_axil_r", Rule::PayloadChanged))),
        (9, Some(("m_axis_window", Rule::ValidInReset))),
        (10, Some(("s_axil_b", Rule::Response(2)))),
        (11, Some(("s_axil_r", Rule::Response(3)))),
        (12, Some(("m_axi_aw", Rule::Size(2)))),
        (13, Some(("m_axi_aw", Rule::Burst(0)))),
        (14, Some(("m_axi_ar", Rule::ValidFell))),
        (15, Some(("m_axi_ar", second))),
        (16, Some(("m_axi_ar", Rule::ValidInReset))),
        (17, Some(("m_axis_msix", Rule::PayloadChanged))),
        (18, Some(("m_axis_msix", Rule::ValidFell))),
        (19, Some(("m_axis_msix", Rule::Vector(2)))),
        (20, Some(("m_axis_msix", Rule::ValidInReset))),
    ];
    for (fault, expected) in cases {
        let found = broken(fault).err();
        let found = found.map(|violation| (violation.port, violation.rule));
        assert_eq!(found, expected, "fault {fault}");
    }
}

#[test]
fn a_violation_ends_the_run() {
    let text = include_str!("stand_in.sv").replace("FAULT = 0;", "FAULT = 12;");
    let sources = [("stand_in.sv".to_owned(), text)];
    let config = Config::simulated(64);
    let card = Card::open_sources(&config, CardOptions::default(), sources).unwrap();
    card.write_register(0, 0).ok();
    let first = card.step(100).unwrap_err().to_string();
    assert!(
        first.ends_with("m_axi_aw: size 2: not the width of the bus"),
        "{first}"
    );
    let cycles = card.timing().cycles;
    assert_eq!(card.step(1).unwrap_err().to_string(), first);
    assert_eq!(card.run_until_idle().unwrap_err().to_string(), first);
    assert_eq!(card.timing().cycles, cycles);
}

/// Windows that move in every cycle are progress, but not endless progress.
#[test]
fn a_device_that_never_comes_to_rest_does_not_hold_the_run() {
    let text = include_str!("stand_in.sv");
    let sources = [("stand_in.sv".to_owned(), text.to_owned())];
    let config = Config::simulated(64);
    let card = Card::open_sources(&config, CardOptions::default(), sources).unwrap();
    let write = |register, value| card.write_register(register, value).unwrap();
    write(register::ARGUMENT.at(0), 0);
    write(register::COMMAND.at(0), register::command::ARM_STREAM);
    card.read_register(register::COMMAND.at(0)).unwrap();
    let ends = card.run_until_idle();
    assert!(matches!(ends, Err(Error::NotIdle { .. })), "{ends:?}");
    card.feed(0, 0, [0; 100]).unwrap();
    let ends = card.run_until_idle();
    assert!(matches!(ends, Err(Error::NotIdle { .. })), "{ends:?}");
}

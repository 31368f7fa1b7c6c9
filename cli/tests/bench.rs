//! The receive path takes what the bus brings: cycles counted in simulation, exact and the same on every run.

use warpline::measure::{Figure, ULPDUS, measure};
use warpline_hdl::Config;
use warpline_sim::{Card, CardOptions};

/// Smallest ULPDU for which the goal holds.
const GOAL_FROM: usize = 1442;
/// Share of the bus that has to be reached.
const GOAL: f64 = 0.90;

fn figures(width: usize) -> Vec<Figure> {
    let card = Card::open(&Config::simulated(width), CardOptions::default()).unwrap();
    let run = |(ulpdu, markers)| measure(&card, ulpdu, markers).unwrap();
    let figures: Vec<_> = ULPDUS
        .iter()
        .flat_map(|&ulpdu| [(ulpdu, false), (ulpdu, true)])
        .map(run)
        .collect();
    assert_eq!(run((ULPDUS[0], false)), figures[0], "the same on every run");
    figures
}

fn check(width: usize) {
    for figure in figures(width) {
        let Figure {
            octets,
            cycles,
            octets_per_cycle,
            of_bus,
            ..
        } = figure;
        assert_eq!(figure.width, width);
        assert_eq!(octets_per_cycle, octets as f64 / cycles as f64);
        assert!(of_bus <= 1.0, "more than the bus can carry: {figure:?}");
        if figure.ulpdu >= GOAL_FROM {
            assert!(of_bus >= GOAL, "{figure:?}");
        }
    }
}

#[test]
fn goal_is_reached_at_64_bits() {
    check(64);
}

#[test]
fn goal_is_reached_at_128_bits() {
    check(128);
}

#[test]
fn goal_is_reached_at_256_bits() {
    check(256);
}

#[test]
fn goal_is_reached_at_512_bits() {
    check(512);
}

/// A network that pauses in half of all cycles cannot go unnoticed.
#[test]
fn a_slow_network_misses_the_goal() {
    let slow = CardOptions {
        idle: 50,
        ..CardOptions::default()
    };
    let card = Card::open(&Config::simulated(64), slow).unwrap();
    let figure = measure(&card, GOAL_FROM, false).unwrap();
    assert!((0.45..0.55).contains(&figure.of_bus), "{figure:?}");
}

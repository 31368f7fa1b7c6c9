//! The receive path keeps up with the bus: cycles counted in simulation, exact and the same on every run.

use warpline::measure::{Figure, Latency, REVERSED, ULPDUS, latency, measure, measure_reversed};
use warpline_hdl::Config;
use warpline_sim::{BackPressure, Card, CardOptions};

/// Smallest ULPDU for which the goal holds.
const GOAL_FROM: usize = 1442;
/// Share of the bus that must be reached.
const fn goal(width: usize) -> f64 {
    if width == 512 { 0.95 } else { 0.98 }
}
/// Cycles that FPDUs of any size may take for each beat that they touch.
const BUBBLES: f64 = 1.02;
/// Cycles from the last beat of a TCP segment to the first write, not counting the beats of its FPDU.
const BESIDE: u64 = 40;
/// More sizes to check; they end at all places of a beat and around the markers.
fn sizes() -> impl Iterator<Item = usize> {
    (15..1600).step_by(37)
}
/// Share of the bus if each 64 KiB arrive in reverse.
const REVERSED_GOAL: f64 = 0.90;
/// Share of a recorded figure that must be reached again.
const KEPT: f64 = 0.99;

/// Whether `figure` is worse than its record in `docs/bench/receive-cycles.json`, which `make bench` writes.
fn is_worse(figure: &Figure) -> bool {
    is_worse_than(figure, include_str!("../../docs/bench/receive-cycles.json"))
}

fn is_worse_than(figure: &Figure, recorded: &str) -> bool {
    let recorded: Vec<Figure> = serde_json::from_str(recorded).unwrap();
    let key = |of: &Figure| (of.width, of.ulpdu, of.markers, of.streams);
    let recorded = recorded.iter().find(|of| key(of) == key(figure));
    let recorded = recorded.unwrap_or_else(|| panic!("not recorded: {figure:?}"));
    figure.of_bus < KEPT * recorded.of_bus
}

/// Whether a latency is longer than `docs/bench/receive-latency.json` records.
fn is_later(latency: &Latency) -> bool {
    let recorded = include_str!("../../docs/bench/receive-latency.json");
    let recorded: Vec<Latency> = serde_json::from_str(recorded).unwrap();
    let key = |of: &Latency| (of.width, of.ulpdu, of.markers);
    let recorded = recorded.iter().find(|of| key(of) == key(latency));
    let recorded = recorded.unwrap_or_else(|| panic!("not recorded: {latency:?}"));
    latency.cycles as f64 * KEPT > recorded.cycles as f64
}

/// Whether a latency misses its goal.
fn is_late(latency: &Latency) -> bool {
    latency.cycles > latency.beats + BESIDE
}

fn figures(card: &Card) -> Vec<Figure> {
    let run = |(ulpdu, markers)| measure(card, ulpdu, markers, 1).unwrap();
    let figures: Vec<_> = ULPDUS
        .iter()
        .flat_map(|&ulpdu| [(ulpdu, false), (ulpdu, true)])
        .map(run)
        .collect();
    assert_eq!(run((ULPDUS[0], false)), figures[0], "the same on every run");
    figures
}

fn check(width: usize) {
    let card = Card::open(&Config::simulated(width), CardOptions::default()).unwrap();
    for (ulpdu, markers) in ULPDUS.iter().flat_map(|&u| [(u, false), (u, true)]) {
        let latency = latency(&card, ulpdu, markers).unwrap();
        println!("{latency:?}");
        assert!(!is_later(&latency), "more than 1 % later: {latency:?}");
        assert!(!is_late(&latency), "{latency:?}");
    }
    for (ulpdu, markers) in sizes().flat_map(|ulpdu| [(ulpdu, false), (ulpdu, true)]) {
        let latency = latency(&card, ulpdu, markers).unwrap();
        assert!(!is_late(&latency), "{latency:?}");
    }
    for figure in figures(&card) {
        println!("{figure:?}");
        let Figure {
            octets,
            beats,
            cycles,
            octets_per_cycle,
            of_bus,
            ..
        } = figure;
        assert_eq!(figure.width, width);
        assert_eq!(octets_per_cycle, octets as f64 / cycles as f64);
        assert!(of_bus <= 1.0, "more than the bus can carry: {figure:?}");
        assert!(!is_worse(&figure), "more than 1 % worse: {figure:?}");
        if figure.ulpdu >= GOAL_FROM {
            assert!(of_bus >= goal(width), "{figure:?}");
        }
        assert!(cycles as f64 <= BUBBLES * beats as f64, "{figure:?}");
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

/// Fully reversed arrival within a window of 64 KiB, with markers.
#[test]
fn reversed_segments_reach_their_goal() {
    let recorded = include_str!("../../docs/bench/receive-reversed.json");
    let figures = [64, 128, 256, 512].map(|width| {
        let card = Card::open(&Config::simulated(width), CardOptions::default()).unwrap();
        let figures = REVERSED.map(|ulpdu| measure_reversed(&card, ulpdu).unwrap());
        println!("{figures:?}");
        assert!(figures.iter().all(|figure| figure.width == width));
        figures
    });
    for figure in figures.as_flattened() {
        let share = figure.of_bus;
        assert!((REVERSED_GOAL..=1.0).contains(&share), "{figure:?}");
        let worse = is_worse_than(figure, recorded);
        assert!(!worse, "more than 1 % worse: {figure:?}");
    }
    // The check rejects a card that accepts every second beat only.
    let slow = CardOptions {
        idle: 50,
        ..CardOptions::default()
    };
    let card = Card::open(&Config::simulated(64), slow).unwrap();
    let figure = measure_reversed(&card, REVERSED[0]).unwrap();
    assert!(is_worse_than(&figure, recorded), "{figure:?}");
}

/// The checks reject a network that pauses in half of all cycles.
#[test]
fn a_slow_network_misses_the_goal_and_is_worse_than_recorded() {
    let slow = CardOptions {
        idle: 50,
        ..CardOptions::default()
    };
    let card = Card::open(&Config::simulated(64), slow).unwrap();
    let figure = measure(&card, GOAL_FROM, false, 1).unwrap();
    assert!((0.45..0.55).contains(&figure.of_bus), "{figure:?}");
    assert!(is_worse(&figure));
}

/// The check rejects a memory that is seldom ready.
#[test]
fn a_slow_memory_is_late() {
    let slow = CardOptions {
        back_pressure: BackPressure {
            stall: 95,
            ..BackPressure::NONE
        },
        ..CardOptions::default()
    };
    let card = Card::open(&Config::simulated(64), slow).unwrap();
    let late = |ulpdu| is_late(&latency(&card, ulpdu, false).unwrap());
    assert!(sizes().any(late));
}

/// Sixteen streams that alternate segment by segment, against one that has the bus for itself: octets, cycles.
#[test]
fn sixteen_streams_lose_less_than_one_percent_against_one() {
    let config = Config {
        streams: 16,
        ..Config::simulated(512)
    };
    let card = Card::open(&config, CardOptions::default()).unwrap();
    for markers in [false, true] {
        let [one, sixteen] =
            [1, 16].map(|streams| measure(&card, GOAL_FROM, markers, streams).unwrap());
        assert_eq!(sixteen.streams, 16);
        assert!(
            sixteen.of_bus > 0.99 * one.of_bus,
            "{one:?} against {sixteen:?}"
        );
    }
}

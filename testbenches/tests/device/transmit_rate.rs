//! The device transmits as fast as `docs/bench/transmit-cycles.json` records, which `make bench-transmit` writes: cycles counted
//! in simulation, exact and the same on every run, of octets that are compared.

use warpline_design::{TOP, design};
use warpline_testbenches::lockstep::sources;
use warpline_testbenches::transmit_rate::{
    Delay, ETHERNET, Figures, Rate, ReadDelay, Requests, Workload, config, delay, figures, rate,
    read_delay, with_wrong_octet,
};
use warpline_verilate::Model;

const WIDTH: usize = 64;
/// Share of the bus that ULPDUs of [`ETHERNET`] octets and more must reach at each width, in messages of many FPDUs.
const GOALS: [(usize, f64); 4] = [(64, 0.98), (128, 0.98), (256, 0.98), (512, 0.95)];
/// Cycles that a small message may take, from one stream or from many; a change of the stream may cost some more.
const SMALL: f64 = 8.1;
/// Share of a recorded figure that must be reached again.
const KEPT: f64 = 0.99;

fn model() -> Model {
    let build = sources(TOP, &design(&config(WIDTH)).unwrap()).comparable();
    build.open().unwrap()
}

fn recorded() -> Figures {
    let recorded = include_str!("../../../docs/bench/transmit-cycles.json");
    serde_json::from_str(recorded).unwrap()
}

/// The figures that are worse than the record, or are not in it.
fn worse(found: &Figures, recorded: &Figures) -> Vec<String> {
    let rates = found.rates.iter().filter(|rate| {
        let same = |of: &&Rate| (of.width, of.workload) == (rate.width, rate.workload);
        let kept = |of: &Rate| {
            rate.of_bus >= KEPT * of.of_bus && rate.received_of_bus >= KEPT * of.received_of_bus
        };
        !recorded.rates.iter().find(same).is_some_and(kept)
    });
    let delays = found.delays.iter().filter(|delay| {
        let same = |of: &&Delay| (of.width, of.workload) == (delay.width, delay.workload);
        let kept = |of: &Delay| KEPT * delay.cycles as f64 <= of.cycles as f64;
        !recorded.delays.iter().find(same).is_some_and(kept)
    });
    let reads = found.reads.iter().filter(|read| {
        let same = |of: &&ReadDelay| (of.width, of.workload) == (read.width, read.workload);
        let kept = |of: &ReadDelay| KEPT * read.cycles as f64 <= of.cycles as f64;
        !recorded.reads.iter().find(same).is_some_and(kept)
    });
    let rates = rates.map(|rate| format!("{rate:?}"));
    let delays = delays.map(|delay| format!("{delay:?}"));
    let reads = reads.map(|read| format!("{read:?}"));
    rates.chain(delays).chain(reads).collect()
}

#[test]
fn figures_are_those_of_the_record_and_reach_their_goals() {
    let mut model = model();
    let found = figures(&mut model, WIDTH).unwrap();
    let mut recorded = recorded();
    assert_eq!(worse(&found, &recorded), Vec::<String>::new());
    let again = rate(&mut model, WIDTH, found.rates[0].workload).unwrap();
    assert_eq!(again, found.rates[0], "the same on every run");
    let again = delay(&mut model, WIDTH, found.delays[0].workload).unwrap();
    assert_eq!(again, found.delays[0], "the same on every run");
    let again = read_delay(&mut model, WIDTH, found.reads[0].workload).unwrap();
    assert_eq!(again, found.reads[0], "the same on every run");

    let one = Workload::memory(ETHERNET, 4, false);
    let of = |workload: Workload| {
        let found = found.rates.iter().find(|rate| rate.workload == workload);
        found.unwrap_or_else(|| panic!("not measured: {workload:?}"))
    };
    // the other widths are measured by `make bench-transmit`
    let others = recorded.rates.iter().filter(|rate| rate.width != WIDTH);
    for found in found.rates.iter().chain(others) {
        let Workload {
            ulpdu, requests, ..
        } = found.workload;
        assert!(found.of_bus <= 1.0 && found.received_of_bus <= 1.0);
        if ulpdu >= ETHERNET && matches!(requests, Requests::Memory { fpdus: 16 }) {
            let goal = GOALS.iter().find(|(width, _)| *width == found.width);
            assert!(
                goal.is_some_and(|(_, share)| found.of_bus >= *share),
                "{found:?}"
            );
        }
        if requests == Requests::Inline {
            assert!(found.cycles_per_fpdu <= SMALL, "{found:?}");
        }
    }
    let sixteen = Workload { streams: 16, ..one };
    assert!(of(sixteen).of_bus >= 0.99 * of(one).of_bus);
    let silent = Workload {
        silent: true,
        ..sixteen
    };
    let share = of(sixteen).of_bus * 15.0 / 16.0;
    assert!(of(silent).of_bus >= 0.95 * share, "{:?}", of(silent));

    // A record of better figures is not reached.
    let fast = recorded.rates.iter_mut().find(|rate| rate.width == WIDTH);
    fast.unwrap().of_bus *= 1.02;
    let late = recorded
        .delays
        .iter_mut()
        .find(|delay| delay.width == WIDTH);
    late.unwrap().cycles -= 2;
    let late = recorded.reads.iter_mut().find(|read| read.width == WIDTH);
    late.unwrap().cycles -= 2;
    let reads = |rate: &&mut Rate| {
        rate.width == WIDTH && matches!(rate.workload.requests, Requests::Reads { .. })
    };
    let fast = recorded.rates.iter_mut().find(reads);
    fast.unwrap().of_bus *= 1.02;
    assert_eq!(worse(&found, &recorded).len(), 4);
    recorded.rates.clear();
    assert_eq!(worse(&found, &recorded).len(), found.rates.len() + 2);
    recorded.reads.clear();
    let missing = found.rates.len() + 1 + found.reads.len();
    assert_eq!(worse(&found, &recorded).len(), missing);
}

/// A run with octets that are not those of the messages has no figure.
#[test]
fn a_wrong_octet_is_found() {
    let mut model = model();
    for workload in [
        Workload::memory(ETHERNET, 1, true),
        Workload::read(ETHERNET, 1),
    ] {
        let wrong = with_wrong_octet(&mut model, WIDTH, workload, 100).unwrap_err();
        assert!(wrong.to_string().contains("stream 0 at "), "{wrong}");
    }
}

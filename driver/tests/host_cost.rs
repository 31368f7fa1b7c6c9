//! The cases of `make host-cost`, without callgrind: each does what it counts, and the record has a figure for each.

#[path = "../examples/host_cost/cases.rs"]
mod cases;
mod peer;
#[path = "../examples/host_cost/posted_writes.rs"]
mod posted_writes;
mod software_card;

use serde_json::Value;

#[test]
fn each_case_does_what_it_counts() {
    for case in cases::CASES {
        (case.run)(3).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert!(case.items > 0);
    }
}

#[test]
fn the_record_has_a_figure_for_each_case() {
    let text = include_str!("../../docs/bench/host-cost.json");
    let record: Value = serde_json::from_str(text).unwrap();
    let counted = record["instructions"].as_object().unwrap();
    let mut names = cases::CASES.map(|case| case.name);
    names.sort_unstable();
    assert!(counted.keys().eq(names), "run make host-cost");
    assert!(counted.values().all(|value| value.as_f64() > Some(0.0)));
}

//! Messages that were complete in order when a faulty FPDU arrived behind a gap are delivered before its error, whatever
//! the device has still to do with them.

use warpline_design::design;
use warpline_hdl::Config;
use warpline_testbenches::scenario::{Bench, Scenario};

/// Arrivals of each width.
const ARRIVALS: u64 = 480;

fn none_loses_a_message(width: usize) {
    let config = Config::simulated(width);
    let mut bench = Bench::open(&config, 1, None).unwrap();
    for seed in 0..ARRIVALS {
        let scenario = Scenario::with_error_behind_a_gap(seed, &config);
        let outcome = bench.run(&scenario);
        let outcome = outcome.unwrap_or_else(|failure| panic!("width {width}: {failure}"));
        assert_eq!(outcome.errors.len(), 1);
    }
}

// req: AMB-10, AMB-11, MPA-RCV-13
#[test]
fn no_message_is_lost_at_64_bits() {
    none_loses_a_message(64);
}

// req: AMB-10, AMB-11, MPA-RCV-13
#[test]
fn no_message_is_lost_at_128_bits() {
    none_loses_a_message(128);
}

// req: AMB-10, AMB-11, MPA-RCV-13
#[test]
fn no_message_is_lost_at_256_bits() {
    none_loses_a_message(256);
}

// req: AMB-10, AMB-11, MPA-RCV-13
#[test]
fn no_message_is_lost_at_512_bits() {
    none_loses_a_message(512);
}

/// The look-ahead does not wait for the chain in order: messages are lost, and that is noticed.
#[test]
fn a_device_whose_look_ahead_overtakes_the_chain_is_caught() {
    const RIGHT: &str = "conclusive_d = ~in_order_first;";
    let config = Config::simulated(256);
    let mut changed = 0;
    let sources = design(&config).unwrap().files().into_iter();
    let sources = sources.map(|(name, text)| {
        changed += text.matches(RIGHT).count();
        (name, text.replace(RIGHT, "conclusive_d = 1'b1;"))
    });
    let sources: Vec<_> = sources.collect();
    assert_eq!(changed, 1);
    let mut lost = 0;
    let mut bench = Bench::open_sources(&config, 1, sources.clone()).unwrap();
    for seed in 0..ARRIVALS {
        let scenario = Scenario::with_error_behind_a_gap(seed, &config);
        if let Err(failure) = bench.run(&scenario) {
            let told = failure.lines.iter();
            let told = told.filter(|line| line.contains("complete in order before it arrived"));
            assert_eq!(told.count(), 1, "{failure}");
            lost += 1;
            bench = Bench::open_sources(&config, 1, sources.clone()).unwrap();
        }
    }
    println!("{lost} of {ARRIVALS} arrivals lose messages");
    assert!(lost > 0);
}

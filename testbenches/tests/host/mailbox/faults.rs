//! Faults planted in the written text, and around the block: each is seen.

use warpline_testbenches::stimulus::Pace;

use crate::random::{ROUGH, mixture};
use crate::support::{Bench, Plant};

#[test]
fn faults_around_the_block_are_seen() {
    for (plant, due) in [
        (Plant::Enable, "interrupt_enable is"),
        (Plant::Bit, "reads"),
        (Plant::Failed, "reads"),
        (Plant::Passed, "reads"),
    ] {
        let mut bench = Bench::new(31, Pace::Percent(70), ROUGH);
        bench.plant = Some(plant);
        let seen = mixture(&mut bench, 800).err();
        let seen = seen.unwrap_or_else(|| panic!("{plant:?} is not seen"));
        assert!(
            !seen.contains("in rust-hdl,") && seen.contains(due),
            "{plant:?}: {seen}"
        );
    }
}

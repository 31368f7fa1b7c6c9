//! Faults planted in the connection of SCTP: each is seen by the random sessions. Without the verdicts of `check` a chunk is placed
//! once more, which only costs cycles.

use std::panic::{AssertUnwindSafe, catch_unwind};

use warpline_testbenches::lockstep::plant;

use crate::random::{Sessions, run};
use crate::support::{Device, config};

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "a_chunk_needs_a_crc",
        "verdict.good = crc32c_verdict.good | receive_waived;",
        "verdict.good = crc32c_verdict.good | (receive_waived & reset);",
    ),
    (
        "tcp_and_sctp_write_at_once",
        "intake_m_ready = ~beat_valid;",
        "intake_m_ready = ~(beat_valid & reset);",
    ),
    (
        "fpdus_handed_over_uncounted",
        "issued = scan_issued | hands;",
        "issued = scan_issued | (hands & reset);",
    ),
    (
        "fpdus_handed_over_twice",
        "fpdu_valid = ~scan_issued;",
        "fpdu_valid = ~(scan_issued & reset);",
    ),
];

fn is_seen(name: &str) {
    let (_, right, wrong) = FAULTS.iter().find(|(of, ..)| *of == name).unwrap();
    let mut sessions = Sessions::new(
        Device::of(&config(64), 1, |design| plant(design, right, wrong)),
        1,
    );
    // a device that hangs, or breaks a rule of the bus, panics
    let outcome = catch_unwind(AssertUnwindSafe(|| run(&mut sessions, 200)));
    let seen = match outcome {
        Ok(Ok(())) => panic!("{name} is not seen"),
        Ok(Err(seen)) => seen,
        Err(panic) => format!(
            "panic: {:?}",
            panic.downcast_ref::<String>().map(String::as_str)
        ),
    };
    println!("{name}: {seen}");
}

macro_rules! faults {
    ($($name:ident),+ $(,)?) => {
        $(
            #[test]
            #[ignore = "make long-sctp: a device to build"]
            fn $name() {
                is_seen(stringify!($name));
            }
        )+

        /// Each fault has a test.
        #[test]
        fn every_fault_is_planted() {
            let names: Vec<_> = FAULTS.iter().map(|(name, ..)| *name).collect();
            assert_eq!(names, [$(stringify!($name)),+]);
        }
    };
}

faults! {
    a_chunk_needs_a_crc,
    tcp_and_sctp_write_at_once,
    fpdus_handed_over_uncounted,
    fpdus_handed_over_twice,
}

//! Random traffic is judged as by the reference receiver, and a mistake of either is seen.

use super::bench::*;
use super::traffic::*;
use warpline_testbenches::lockstep::on_large_stack;

/// The numbers that this device's receive path can give an FPDU.
const ALL_ERRORS: [u16; 15] = [
    0x000, 0x100, 0x101, 0x102, 0x103, 0x104, 0x201, 0x202, 0x203, 0x204, 0x205, 0x206, 0x301,
    0x302, 0x303,
];

// req: DDP-HDR-02, DDP-HDR-03, DDP-HDR-08, DDP-HDR-11, DDP-HDR-12, DDP-HDR-13, DDP-HDR-14, DDP-HDR-15
// req: DDP-HDR-18, DDP-TAG-03, DDP-TAG-04, DDP-TAG-08, DDP-TAG-11, DDP-TAG-12, DDP-TAG-13
// req: DDP-UNT-04, DDP-UNT-06, DDP-UNT-07, DDP-UNT-08, DDP-UNT-12, DDP-UNT-17, DDP-UNT-18, DDP-UNT-19
// req: DDP-ERR-17, DDP-ERR-18, DDP-ERR-19, DDP-ERR-20, DDP-ERR-36, DDP-SEC-03, DDP-SEC-05, DDP-SEC-17
// req: DDP-SEC-18, DDP-SEC-19, AMB-01, AMB-02, AMB-03, AMB-05, AMB-09, AMB-10, AMB-43, AMB-44, AMB-45, AMB-59, DDP-UNT-02
#[test]
fn random_traffic_is_judged_as_by_the_reference_receiver() {
    on_large_stack(|| {
        let seen = random_run::<4>(config(4, 16, 4, 4), 1, 80_000, None)
            .unwrap_or_else(|wrong| panic!("{wrong}"));
        println!("{seen:?}");
        for error in ALL_ERRORS {
            assert!(seen.errors.contains_key(&error), "{error:#05x} never came");
        }
        assert!(seen.placed > 200 && seen.delivered > 100 && seen.discarded > 50);
        assert!(seen.refused > 5 && seen.faults > 5 && seen.records > 20);
        assert!(seen.ahead_placed > 50 && seen.ahead_returned > 20);
        assert!(seen.ahead_errors > 10 && seen.placed_before > 20);
        assert!(seen.waited > 10 && seen.read_faults > 2 && seen.holes > 5);
    });
}

// req: AMB-04, AMB-05, AMB-06, AMB-07, AMB-08, AMB-24, DDP-UNT-12, DDP-UNT-16, DDP-ORD-03, DDP-ORD-06
#[test]
fn messages_that_overtake_are_judged_as_by_the_reference_receiver() {
    on_large_stack(|| {
        let seen = calm_run(20, 12_000, None).unwrap_or_else(|wrong| panic!("{wrong}"));
        println!("{seen:?}");
        assert!(seen.followers > 10 && seen.anomalies > 5 && seen.holes > 10);
        assert!(seen.delivered > 50 && !seen.errors.is_empty());
    });
}

// req: DDP-SEC-17, DDP-SEC-18, DDP-SEC-19, DDP-ERR-20, AMB-09, AMB-10
#[test]
fn other_shapes_are_judged_the_same() {
    on_large_stack(|| {
        for seen in [
            random_run::<1>(config(1, 32, 2, 1), 2, 4_000, None),
            random_run::<3>(config(3, 64, 256, 3), 3, 4_000, None),
            random_run::<16>(config(16, 512, 8, 4), 4, 4_000, None),
        ] {
            let seen = seen.unwrap_or_else(|wrong| panic!("{wrong}"));
            println!("{seen:?}");
            assert!(seen.placed > 10 && seen.delivered > 10 && seen.errors.len() > 2);
        }
    });
}

#[test]
fn planted_mistakes_are_seen() {
    on_large_stack(|| {
        for plant in [
            Plant::HeaderBit,
            Plant::LongerRegion,
            Plant::OtherMsn,
            Plant::CrcIgnored,
            Plant::FaultLost,
            Plant::ComingLost,
            Plant::GapHidden,
            Plant::PlacedTwice,
        ] {
            let wrong = random_run::<4>(config(4, 16, 4, 4), 1, 16_000, Some(plant)).unwrap_err();
            println!("{plant:?}: {wrong}");
        }
        for plant in [Plant::OffsetsFree, Plant::WindowShut] {
            let wrong = calm_run(20, 30_000, Some(plant)).unwrap_err();
            println!("{plant:?}: {wrong}");
        }
    });
}

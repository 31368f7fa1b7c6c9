//! DDP-SSN order: the window, what is old, what is invalid, and the wrap.

use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;
use warpline_wire::sctp::{FULL_WINDOW_WORDS, InvalidSsn, Order, Ssn, WindowError};

type Full = Order<FULL_WINDOW_WORDS>;

/// The rules of AMB-34 with numbers that never wrap and a set of all chunks that have arrived.
#[derive(Default)]
struct Model {
    arrived: BTreeSet<u64>,
    next: u64,
    window: u64,
}

impl Model {
    fn new(window: u64) -> Self {
        Self {
            window,
            ..Self::default()
        }
    }

    /// `Some(new)`, or `None` for what is invalid.
    fn take(&mut self, ssn: u16) -> Option<bool> {
        // Within half of the number space from the next one, ahead or behind.
        let behind = (0..=self.next).rev().take(32_769).skip(1);
        if let Some(old) = behind.into_iter().find(|old| *old as u16 == ssn) {
            assert!(old < self.next);
            return Some(false);
        }
        let ahead = (self.next..self.next + 32_768).find(|number| *number as u16 == ssn)?;
        if ahead >= self.next + self.window {
            return None;
        }
        let new = self.arrived.insert(ahead);
        while self.arrived.contains(&self.next) {
            self.next += 1;
        }
        Some(new)
    }
}

fn full() -> Full {
    Order::new(32_767).unwrap()
}

/// An order that so many chunks have passed.
fn after(chunks: u32) -> Full {
    let mut order = full();
    for number in 0..chunks {
        assert_eq!(order.take(Ssn(number as u16)), Ok(true));
    }
    order
}

// req: SCTP-SSN-01
#[test]
fn numbers_wrap_and_stay_consecutive() {
    let order = after(70_000);
    assert_eq!(order.next(), Ssn(4464));
    assert!(order.has_begun());
    let order = after(65_536);
    assert_eq!(order.next(), Ssn(0));
    assert!(order.has_begun(), "although 0 is next");
    assert!(!after(0).has_begun());
}

// req: AMB-34, SCTP-SSN-07, SCTP-SSN-10
#[test]
fn the_edges_of_the_window() {
    for chunks in [0, 1, 10, 32_767, 32_768, 32_769, 65_535, 65_536, 100_000] {
        let order = after(chunks);
        let next = order.next();
        let judge = |ahead: u16| order.judge(Ssn(next.0.wrapping_add(ahead)));
        let invalid = |ahead: u16| InvalidSsn {
            ssn: Ssn(next.0.wrapping_add(ahead)),
            next,
            window: 32_767,
        };
        assert_eq!(judge(0), Ok(true));
        assert_eq!(judge(32_766), Ok(true));
        assert_eq!(judge(32_767), Err(invalid(32_767)));
        for behind in [1, 2, 9, 10, 11, 32_766, 32_767, 32_768] {
            // Old if so many chunks have been; otherwise no chunk ever had that number.
            let ahead = 0u16.wrapping_sub(behind);
            let expected = match u32::from(behind) <= chunks {
                true => Ok(false),
                false => Err(invalid(ahead)),
            };
            assert_eq!(judge(ahead), expected, "{behind} behind {chunks}");
        }
    }
}

// req: SCTP-SSN-10
#[test]
fn a_gap_that_nothing_under_way_explains_is_invalid() {
    let mut order = after(10);
    let invalid = InvalidSsn {
        ssn: Ssn(40_000),
        next: Ssn(10),
        window: 32_767,
    };
    assert_eq!(order.take(Ssn(40_000)), Err(invalid));
    assert_eq!(order.next(), Ssn(10));
}

// req: AMB-34, AMB-40, SCTP-SSN-03, SCTP-SSN-07
#[test]
fn a_full_window_may_arrive_backwards() {
    for start in [0, 1, 40_000, 65_000] {
        let mut order = after(start);
        let first = order.next();
        for ahead in (1..32_767u16).rev() {
            let ssn = Ssn(first.0.wrapping_add(ahead));
            assert_eq!(order.has_beyond(ssn), ahead != 32_766);
            assert_eq!(order.take(ssn), Ok(true));
            assert_eq!(order.take(ssn), Ok(false), "marked");
            assert_eq!(order.next(), first);
        }
        assert_eq!(order.take(first), Ok(true));
        assert_eq!(order.next(), Ssn(first.0.wrapping_add(32_767)));
        assert!(!order.has_beyond(order.next()));
        for ahead in 0..32_767u16 {
            assert_eq!(
                order.take(Ssn(first.0.wrapping_add(ahead))),
                Ok(false),
                "old"
            );
        }
    }
}

// req: AMB-34, SCTP-SSN-11
#[test]
fn the_bitmap_limits_the_window() {
    let error = |window, max| Err(WindowError { window, max });
    assert_eq!(Order::<1>::new(0).map(|_| ()), error(0, 32));
    assert_eq!(Order::<1>::new(33).map(|_| ()), error(33, 32));
    assert_eq!(Full::new(32_768).map(|_| ()), error(32_768, 32_767));
    assert_eq!(Order::<512>::MAX_WINDOW, 16_384);
    assert_eq!(Order::<2048>::MAX_WINDOW, 32_767);
    let mut order = Order::<1>::new(32).unwrap();
    for ssn in (0..32).rev() {
        assert_eq!(order.take(Ssn(ssn)), Ok(true));
    }
    assert_eq!(order.next(), Ssn(32));
    assert_eq!(
        order.take(Ssn(64)).map_err(|invalid| invalid.window),
        Err(32)
    );
    assert_eq!(order.take(Ssn(63)), Ok(true));
    // Nothing of one session is left in the next one.
    order.reset();
    assert_eq!(order.next(), Ssn(0));
    for ssn in 0..32 {
        assert_eq!(order.judge(Ssn(ssn)), Ok(true));
    }
    // The memory of an order does not grow.
    assert!(size_of::<Full>() <= 4096 + 16);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // req: SCTP-SSN-06, AMB-34, AMB-40
    #[test]
    fn any_arrival_is_judged_as_by_the_model(
        start in prop_oneof![0..40u32, 32_700..32_800u32, 65_500..65_600u32],
        window in 1..=64u16,
        steps in vec(prop_oneof![
            8 => 0..80i32,
            2 => -80..0i32,
            1 => 32_700..32_800i32,
            1 => any::<i16>().prop_map(i32::from),
        ], 1..300),
    ) {
        let mut order = Order::<2>::new(window).unwrap();
        let mut model = Model::new(window.into());
        for number in 0..start {
            prop_assert_eq!(order.take(Ssn(number as u16)), Ok(true));
            model.arrived.insert(number.into());
        }
        model.next = start.into();
        for step in steps {
            let ssn = order.next().0.wrapping_add(step as u16);
            prop_assert_eq!(order.take(Ssn(ssn)).ok(), model.take(ssn), "{}", step);
            prop_assert_eq!(order.next().0, model.next as u16);
            let top = model.arrived.last().map_or(0, |top| top + 1).max(model.next);
            for ahead in 0..window {
                let probe = Ssn(order.next().0.wrapping_add(ahead));
                let beyond = top > model.next + u64::from(ahead) + 1;
                // For one that has not arrived yet.
                if !model.arrived.contains(&(model.next + u64::from(ahead))) {
                    prop_assert_eq!(order.has_beyond(probe), beyond);
                }
            }
        }
    }
}

//! The access fence: it passes when all segments have left of which a piece had entered, in that cycle and not earlier.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::tx::ddp::access_fence::AccessFence;
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant};
use warpline_testbenches::stimulus::chance;

/// Segments that may be under way.
const UNDER_WAY: usize = 32;
/// Cycles from the last `settled`, or from `fence`, to `passed`.
const LATENCY: u64 = 2;

/// Returns fences that stalled, and those that passed at once.
fn run(fault: Option<(&str, &str)>) -> Result<(u32, u32), String> {
    let block = AccessFence::default();
    let mut design = write(&block, "access_fence").map_err(|e| e.to_string())?;
    if let Some((right, wrong)) = fault {
        plant(&mut design, right, wrong);
    }
    let mut lockstep =
        Lockstep::with_design("access_fence", Box::new(block), &design, |b, level| {
            b.clock.next = level.into();
        })
        .map_err(|e| e.to_string())?;
    for _ in 0..2 {
        lockstep
            .cycle(|b| b.reset.next = true, |_| ())
            .map_err(|e| e.to_string())?;
    }
    lockstep.block.reset.next = false;
    let mut rng = Rng::with_seed(3);
    // numbers of the segments under way; the youngest one may lack its last piece
    let mut under_way: VecDeque<u64> = VecDeque::new();
    let (mut next, mut is_part) = (0_u64, false);
    // the fence: segments below this number have to leave; the cycle in which it can pass
    let mut fence: Option<(u64, u64)> = None;
    let (mut stalled, mut at_once) = (0, 0);
    for cycle in 0..20_000_u64 {
        let busy = cycle / 500 % 3;
        let rate = [70, 20, 2][busy as usize];
        let room = under_way.len() < UNDER_WAY || is_part;
        let piece = room && chance(&mut rng, rate);
        let last = chance(&mut rng, 40);
        // a segment leaves behind its last piece
        let whole = under_way.len() - usize::from(is_part);
        let settled = whole > 0 && chance(&mut rng, [20, 20, 40][busy as usize]);
        let begins = fence.is_none() && chance(&mut rng, 5);
        let b = &mut lockstep.block;
        b.piece.next = piece;
        b.piece_last.next = last;
        b.settled.next = settled;
        b.fence.next = begins;
        lockstep.settle().map_err(|e| e.to_string())?;
        let passed = lockstep.block.passed.val();
        if let Some((_, at)) = fence {
            if passed != (cycle >= at) {
                return Err(format!(
                    "cycle {cycle}: passed is {passed}, due from {at} on"
                ));
            }
            if passed && chance(&mut rng, 30) {
                fence = None;
            }
        }
        if piece {
            if !is_part {
                under_way.push_back(next);
                next += 1;
            }
            is_part = !last;
        }
        if settled {
            under_way.pop_front();
        }
        if let Some((goal, at)) = &mut fence
            && *at == u64::MAX
            && under_way.front().is_none_or(|oldest| oldest >= goal)
        {
            *at = cycle + LATENCY;
        }
        if begins {
            let is_free = under_way.is_empty();
            stalled += u32::from(!is_free);
            at_once += u32::from(is_free);
            let at = if is_free { cycle + LATENCY } else { u64::MAX };
            fence = Some((next, at));
        }
        lockstep.edge().map_err(|e| e.to_string())?;
    }
    Ok((stalled, at_once))
}

// req: AMB-42
#[test]
fn what_was_allowed_before_has_been_read() {
    let (stalled, at_once) = run(None).unwrap();
    assert!(stalled > 50 && at_once > 20, "{stalled} {at_once}");
}

#[test]
fn planted_faults_are_seen() {
    for (right, wrong) in [
        ("if (part_q | piece) begin", "if (part_q) begin"),
        ("if (part_q | piece) begin", "if (piece) begin"),
        ("if (piece_last) begin", "if (1'b1) begin"),
        ("if (settled) begin", "if (settled & (~piece)) begin"),
        (
            "if (fence) begin\n            reached_d",
            "if (1'b0) begin\n            reached_d",
        ),
    ] {
        assert!(run(Some((right, wrong))).is_err(), "{wrong}");
    }
}

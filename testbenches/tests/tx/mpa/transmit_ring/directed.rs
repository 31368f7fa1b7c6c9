//! Cases of their own: stalls of one port, full rings, failed FPDUs, close and arm.

use warpline_hdl::tx::mpa::transmit_ring::commands;
use warpline_hdl::tx::mpa::transmit_ring::ports::{
    ACKNOWLEDGE, MEASURE, REFUSED, SEND, STATUS_KIND,
};
use warpline_hdl::tx::mpa::transmit_ring::room_release::SETTLED;
use warpline_testbenches::stimulus::Pace;

use crate::support::{Bench, Paces, RING, Times};

type Bench64 = Bench<64, 8, 2, 3, 1, 4>;

/// Nothing is accepted.
const NEVER: Pace = Pace::Percent(0);

/// A bench whose stream 0 is armed, with FPDUs of these lengths of ULPDU.
fn with(seed: u64, start: u32, lengths: &[usize]) -> Bench64 {
    let mut bench = Bench64::new(seed);
    bench.arm(0, start).unwrap();
    for length in lengths {
        assert!(bench.write(0, *length, false));
    }
    bench.finish().unwrap();
    bench
}

#[test]
fn room_is_given_back_behind_the_sends_in_front() {
    let mut bench = with(1, 0xFFFF_F000, &[1000, 1000, 1000]);
    bench.pace(Paces {
        transmit: NEVER,
        ..Paces::ALWAYS
    });
    let edge = bench.streams[0].edge();
    bench.command_at(SEND, 0, 3, 2500);
    bench.command_at(SEND, 0, 1, 1);
    bench.command_at(ACKNOWLEDGE, 0, 2000, 0);
    bench.command_at(MEASURE, 0, 2000, 1000);
    bench.command_at(SEND, 0, 1999, 1);
    bench.command_at(ACKNOWLEDGE, 0, edge, 0);
    bench.command_at(SEND, 0, edge, 1);
    bench.steps(200).unwrap();
    // commands go on, in order; two of the SENDs are refused
    assert!(bench.commands.is_empty());
    assert_eq!(bench.cover.refused, 2);
    assert_eq!(bench.cover.boundaries + bench.cover.no_boundary, 1);
    assert!(bench.times.freed.is_empty());
    assert_eq!(bench.streams[0].freed, 0);
    bench.pace(Paces::ALWAYS);
    bench.finish().unwrap();
    let (transmits, freed) = (&bench.times.transmits, &bench.times.freed);
    // 16 beats are behind the ring's read port when the last one is read
    assert!(freed[0] >= transmits[transmits.len() - 20], "{freed:?}");
    assert_eq!(bench.streams[0].freed, edge);
}

/// Commands accepted while nothing leaves; all are executed when it does.
fn accepted(paces: Paces, commands: &[(u64, u64, u16)]) -> usize {
    let mut bench = with(9, 7, &[1000, 1000]);
    bench.pace(paces);
    bench.times = Times::default();
    for (kind, position, length) in commands {
        bench.command_at(*kind, 0, *position, *length);
    }
    bench.steps(400).unwrap();
    let accepted = bench.times.commands.len();
    bench.pace(Paces::ALWAYS);
    bench.finish().unwrap();
    assert_eq!(bench.times.commands.len(), commands.len());
    accepted
}

#[test]
fn commands_stall_when_their_queues_are_full_and_not_before() {
    let [transmit, status] = [
        Paces {
            transmit: NEVER,
            ..Paces::ALWAYS
        },
        Paces {
            status: NEVER,
            ..Paces::ALWAYS
        },
    ];
    // one is read, eight wait, one cannot
    assert_eq!(accepted(transmit, &[(SEND, 0, 1500); 12]), 10);
    // behind the one that is read, sixteen wait
    let mut commands = vec![(SEND, 0, 1500)];
    commands.extend((0..20).map(|number| (ACKNOWLEDGE, number, 0)));
    assert_eq!(accepted(transmit, &commands), 1 + 17);
    // one is offered, four wait
    assert_eq!(accepted(status, &[(MEASURE, 0, 1500); 9]), 6);
    assert_eq!(accepted(status, &[(SEND, 0, 0); 9]), 6);
}

#[test]
fn reports_that_stall_stop_no_fpdu() {
    let mut bench = with(2, 5, &[]);
    bench.arm(3, 6).unwrap();
    bench.pace(Paces {
        status: NEVER,
        ..Paces::ALWAYS
    });
    bench.times = Times::default();
    for number in 0..40 {
        assert!(bench.write(3 * (number & 1), 50, false));
    }
    while !bench.done() {
        bench.step().unwrap();
    }
    let beats = &bench.times.beats;
    assert_eq!(beats.len(), beats.last().unwrap() - beats[0] + 1);
    assert!(bench.times.reports.is_empty());
    // SENDs and acknowledgements do not depend on reports either
    for stream in [0, 3] {
        bench.command_at(SEND, stream, 0, 500);
        bench.command_at(ACKNOWLEDGE, stream, 333, 0);
    }
    while !bench.done() {
        bench.step().unwrap();
    }
    bench.finish().unwrap();
}

#[test]
fn a_ring_can_be_full() {
    let mut bench = with(3, 0xFFFF_FFFF, &[]);
    for _ in 0..4 {
        // an FPDU as long as the ring, or two that fill it
        let first = bench.streams[0].next;
        while bench.streams[0].next < first + RING as u64 {
            let left = (first + RING as u64 - bench.streams[0].next) as usize;
            let most = if bench.rng.bool() {
                left
            } else {
                left / 2 + 16
            };
            // as long as it can be with the markers it may have
            let length = (1..most)
                .rev()
                .find(|length| bench.write(0, *length, false));
            if length.is_none() {
                break;
            }
        }
        bench.finish().unwrap();
        let edge = bench.streams[0].edge();
        assert!(edge - first > RING as u64 - 32);
        let octets = (edge - first) as u16;
        bench.command_at(SEND, 0, first, octets);
        bench.command_at(MEASURE, 0, first, octets);
        bench.command_at(MEASURE, 0, first, octets - 1);
        bench.command_at(MEASURE, 0, edge - 1, 1);
        bench.finish().unwrap();
        bench.command_at(ACKNOWLEDGE, 0, edge, 0);
        bench.finish().unwrap();
    }
    assert_eq!(bench.cover.refused, 0);
}

#[test]
fn an_fpdu_that_failed_ends_its_stream_until_it_is_armed() {
    let mut bench = with(4, 1000, &[200, 100]);
    bench.arm(1, 7).unwrap();
    let edge = bench.streams[0].edge();
    for (stream, failed) in [
        (0, true),
        (1, false),
        (0, false),
        (1, false),
        (0, true),
        (0, false),
    ] {
        assert!(bench.write(stream, 300, failed));
    }
    bench.finish().unwrap();
    assert_eq!((bench.cover.visible, bench.cover.invisible), (4, 4));
    assert_eq!(bench.streams[0].edge(), edge);
    // boundaries of what failed are none, also in the word of the edge
    bench.command_at(MEASURE, 0, 0, u16::MAX);
    bench.command_at(SEND, 0, 0, edge as u16);
    bench.command_at(SEND, 0, edge, 1);
    bench.finish().unwrap();
    assert_eq!((bench.cover.refused, bench.cover.boundaries), (1, 1));
    bench.close(0).unwrap();
    bench.until_quiet().unwrap();
    bench.arm(0, 2000).unwrap();
    assert!(bench.write(0, 77, false));
    bench.finish().unwrap();
    bench.command_at(SEND, 0, 0, 80);
    bench.finish().unwrap();
    assert_eq!(bench.cover.refused, 1);
}

#[test]
fn a_closed_stream_sends_what_it_has_begun_and_is_quiet_then() {
    let mut bench = with(5, 1000, &[1000, 1000]);
    bench.arm(1, 7).unwrap();
    bench.pace(Paces {
        transmit: NEVER,
        ..Paces::ALWAYS
    });
    for from in [0, 900] {
        bench.command_at(SEND, 0, from, 800);
    }
    bench.command_at(ACKNOWLEDGE, 0, 444, 0);
    bench.steps(60).unwrap();
    bench.close(0).unwrap();
    // none of these has an effect, and the other stream goes on
    bench.command_at(SEND, 0, 500, 5);
    bench.command_at(MEASURE, 0, 500, 5);
    bench.command_at(ACKNOWLEDGE, 0, 500, 0);
    assert!(bench.write(0, 100, false));
    assert!(bench.write(1, 100, false));
    bench.steps(300).unwrap();
    assert!(!bench.lockstep.block.quiet.val());
    assert_eq!((bench.cover.refused, bench.cover.invisible), (2, 1));
    assert!(bench.times.freed.is_empty() && bench.commands.is_empty());
    bench.pace(Paces::ALWAYS);
    bench.finish().unwrap();
    assert!(bench.lockstep.block.quiet.val());
    assert_eq!(bench.times.freed.len(), 1);

    // an FPDU that is not complete
    bench.writes.clear();
    assert!(bench.write(0, 600, false));
    bench.steps(20).unwrap();
    for _ in 0..SETTLED {
        bench.step().unwrap();
        assert!(!bench.lockstep.block.quiet.val());
    }
    bench.finish().unwrap();
    assert!(bench.until_quiet().unwrap() <= SETTLED + 4);
}

#[test]
fn a_reset_forgets_an_fpdu_that_is_not_complete() {
    let mut bench = with(11, 5, &[]);
    assert!(bench.write(0, 600, false));
    bench.steps(20).unwrap();
    bench.reset().unwrap();
    bench.arm(0, 9).unwrap();
    bench.close(0).unwrap();
    bench.until_quiet().unwrap();
    bench.finish().unwrap();
}

#[test]
fn a_command_is_refused_from_the_second_cycle_behind_a_close_on() {
    let mut bench = with(6, 1000, &[]);
    for delay in 0..12 {
        bench.until_quiet().unwrap();
        bench.reset().unwrap();
        bench.arm(0, 1000).unwrap();
        assert!(bench.write(0, 100, false));
        bench.finish().unwrap();
        bench.command_at(SEND, 0, 0, 50);
        bench.steps(delay).unwrap();
        bench.close(0).unwrap();
        let (mut beats, mut refused) = (0, 0);
        for _ in 0..40 {
            bench.drive();
            bench.lockstep.settle().unwrap();
            let b = &bench.lockstep.block;
            beats += usize::from(b.m_axis_transmit.tvalid.val());
            let kind = b.m_axis_status.tdata.val().get_bits::<2>(STATUS_KIND);
            refused += usize::from(b.m_axis_status.tvalid.val() && kind == REFUSED);
            bench.lockstep.edge().unwrap();
        }
        let executed = commands::LATENCY;
        assert_eq!(refused, usize::from(delay + 2 <= executed), "{delay}");
        assert_eq!(beats, 7 * (1 - refused), "{delay}");
        assert!(bench.lockstep.block.quiet.val());
        bench.forget();
    }
}

#[test]
fn reset_forgets_what_is_under_way() {
    let mut bench = with(7, 9, &[500]);
    for _ in 0..4 {
        for _ in 0..bench.rng.usize(1..80) {
            bench.noise();
            bench.lockstep.settle().unwrap();
            bench.lockstep.edge().unwrap();
        }
        bench.reset().unwrap();
        bench.command(SEND, 0, 9, 1);
        bench.finish().unwrap();
        bench.arm(2, 77).unwrap();
        assert!(bench.write(2, 300, false));
        bench.finish().unwrap();
        bench.command_at(SEND, 2, 5, 250);
        bench.command_at(MEASURE, 2, 5, u16::MAX);
        bench.finish().unwrap();
    }
}

/// Whatever is at the inputs, the outputs of a cycle are the same.
#[test]
fn no_output_depends_on_an_input_in_the_same_cycle() {
    let mut bench = with(8, 9, &[500]);
    let outputs = |bench: &Bench64| {
        let b = &bench.lockstep.block;
        let (t, s) = (&b.m_axis_transmit, &b.m_axis_status);
        format!(
            "{:?}",
            (
                [
                    b.s_ready.val(),
                    b.complete.val(),
                    b.freed.val(),
                    b.quiet.val()
                ],
                (b.complete_stream.val(), b.complete_visible.val()),
                (b.freed_stream.val(), b.freed_position.val()),
                (
                    t.tdata.val(),
                    t.tkeep.val(),
                    t.tlast.val(),
                    t.tuser.val(),
                    t.tvalid.val()
                ),
                (s.tdata.val(), s.tdest.val(), s.tvalid.val()),
                b.s_axis_send.tready.val(),
            )
        )
    };
    for _ in 0..300 {
        bench.noise();
        bench.lockstep.settle().unwrap();
        let first = outputs(&bench);
        for _ in 0..3 {
            bench.noise();
            bench.lockstep.settle().unwrap();
            assert_eq!(outputs(&bench), first);
        }
        bench.lockstep.edge().unwrap();
    }
}

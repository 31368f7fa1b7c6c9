//! Peers that break the rules harm their own session, and cost no memory.

use crate::{
    End, Log, Seen, acknowledged, chunk, control, hex, output, placed, segment, send, sends, up,
};
use proptest::collection::vec;
use proptest::prelude::*;
use warpline_wire::sctp::{
    Cause, FULL_WINDOW_WORDS, MAX_CONTROL_LEN, Receipt, Received, Settings, Stream,
};

/// An end with an open session on stream 0, which the peer keeps to the rules on.
fn with_one_good_session(streams: u16) -> End {
    let mut end = up(Settings::default(), streams);
    assert_eq!(
        control(&mut end, 0, "0000 0001"),
        [Seen::Requested(0, vec![])]
    );
    end.accept(0, b"").unwrap();
    sends(&mut end, 0, "0000 0002");
    assert_eq!(acknowledged(&mut end, 0, 1), []);
    end
}

/// The good session goes on, in both directions.
#[track_caller]
fn goes_on(end: &mut End, ssn: u16) {
    let events = [placed(0, ssn), Seen::InOrder(0, ssn + 1)];
    assert_eq!(segment(end, 0, ssn), events);
    let [high, low] = ssn.to_be_bytes();
    assert_eq!(send(end, 0), Ok(vec![high, low, 0xD0]));
}

/// All that the end would send.
fn outputs(end: &mut End) -> Vec<(u16, Vec<u8>)> {
    std::iter::from_fn(|| output(end)).collect()
}

// req: SCTP-SES-14, SCTP-SES-15, SCTP-SES-24
#[test]
fn a_flood_of_initiates_is_bounded() {
    let mut end = with_one_good_session(1000);
    let mut requested = 0;
    for round in 0..5 {
        for stream in 1..1000 {
            for event in control(&mut end, stream, "0000 0001 AA BB") {
                match event {
                    Seen::Requested(..) => requested += 1,
                    Seen::Stray(_, Cause::Backlog { limit: 16 }) | Seen::Free(_) => {}
                    other => panic!("{other:?}"),
                }
            }
        }
        // Only the 16 that wait have no answer, and no stream has more than one.
        let sent = outputs(&mut end);
        assert_eq!(sent.len(), 999 - 16, "round {round}");
        assert!(sent.iter().all(|(_, octets)| octets[..] == [0, 0, 0, 4]));
        goes_on(&mut end, round + 1);
    }
    assert_eq!(requested, 16);
    // Without acknowledgements the answers of one stream have an end, too.
    let mut answers = 0;
    for _ in 0..40_000 {
        control(&mut end, 500, "0000 0001");
        answers += outputs(&mut end).len();
    }
    assert!(answers <= 32_767);
    goes_on(&mut end, 6);
}

// req: SCTP-SSN-10, SCTP-SSN-11, SCTP-SSN-12, AMB-34
#[test]
fn jumps_repeats_and_early_terminates_end_their_own_session() {
    let attacks: [&[(u32, &str)]; 6] = [
        &[(16, "8000 D0")],
        &[(16, "7FFF D0"), (16, "7FFE D0"), (16, "FFFF D0")],
        &[(17, "0005 0004"), (16, "0006 D0")],
        &[(16, "0006 D0"), (17, "0005 0004")],
        &[(17, "0001 0001")],
        &[(0, "0001 0001"), (0, "0001 0001")],
    ];
    for attack in attacks {
        let mut end = with_one_good_session(3);
        control(&mut end, 1, "0000 0001");
        end.accept(1, b"").unwrap();
        sends(&mut end, 1, "0000 0002");
        let mut failed = 0;
        for _ in 0..10_000 {
            for &(ppid, octets) in attack {
                let events = chunk(&mut end, 1, ppid, &hex(octets));
                failed += events
                    .iter()
                    .filter(|event| matches!(event, Seen::Failed(1, _)))
                    .count();
                assert!(events.len() <= 1);
            }
        }
        assert_eq!(failed, 1, "{attack:?}");
        goes_on(&mut end, 1);
        assert_eq!(outputs(&mut end), []);
        acknowledged(&mut end, 1, 1);
        assert_eq!(outputs(&mut end), [(1, hex("0001 0004"))]);
        goes_on(&mut end, 2);
    }
}

// req: SCTP-SSN-11
#[test]
fn a_stream_takes_as_much_memory_for_any_peer() {
    // The bitmap, one control message, and what fits a few words; nothing is allocated.
    let state = size_of::<Stream<FULL_WINDOW_WORDS>>() - 4 * FULL_WINDOW_WORDS - MAX_CONTROL_LEN;
    assert!(state <= 100, "{state}");
}

#[derive(Clone, Debug)]
enum Attack {
    Chunk(u16, u32, Vec<u8>),
    Sent,
    Acknowledged(u16, u16),
    Accept(u16),
    Reject(u16),
    Terminate(u16),
    Initiate(u16),
    Later(u64),
    Good,
}

fn attack() -> impl Strategy<Value = Attack> {
    let ssn = prop_oneof![5 => 0..4u16, 2 => 32_760..32_775u16, 1 => any::<u16>()];
    let control = (1..6u16, ssn, any::<u16>(), vec(any::<u8>(), 0..3)).prop_map(
        |(stream, ssn, function, data)| {
            let function = if function < 40_000 {
                function % 5
            } else {
                function
            };
            let header = [ssn.to_be_bytes(), function.to_be_bytes()].concat();
            Attack::Chunk(stream, 17, [header, data].concat())
        },
    );
    let segment = (1..6u16, prop_oneof![0..6u16, any::<u16>()]).prop_map(|(stream, ssn)| {
        let octets = [&ssn.to_be_bytes()[..], &[0xD0]].concat();
        Attack::Chunk(stream, 16, octets)
    });
    let junk = (
        1..9u16,
        prop_oneof![Just(16), Just(17), any::<u32>()],
        vec(any::<u8>(), 0..6),
    );
    let stream = 1..4u16;
    prop_oneof![
        6 => control,
        6 => segment,
        1 => junk.prop_map(|(stream, ppid, octets)| Attack::Chunk(stream, ppid, octets)),
        4 => Just(Attack::Sent),
        2 => (stream.clone(), 0..4u16).prop_map(|(stream, chunks)| Attack::Acknowledged(stream, chunks)),
        2 => stream.clone().prop_map(Attack::Accept),
        1 => stream.clone().prop_map(Attack::Reject),
        1 => stream.clone().prop_map(Attack::Terminate),
        1 => stream.prop_map(Attack::Initiate),
        1 => (0..9_000u64).prop_map(Attack::Later),
        3 => Just(Attack::Good),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // req: SCTP-SES-01, SCTP-SES-12, SCTP-LIM-12
    #[test]
    fn whatever_happens_on_other_streams_a_good_session_goes_on(
        attacks in vec(attack(), 1..300),
    ) {
        let mut end = with_one_good_session(4);
        let (mut good, mut now, mut rejects) = (0, 0, 0);
        for attack in attacks {
            let mut log = Log::default();
            match attack {
                Attack::Chunk(stream, ppid, user_data) => {
                    let received = Received { stream, ppid, user_data: &user_data };
                    let receipt = end.receive(&received, now, &mut log);
                    if receipt == Receipt::Early {
                        prop_assert_eq!(ppid, 16);
                    }
                }
                Attack::Sent => {
                    if let Some((stream, octets)) = output(&mut end) {
                        prop_assert!((1..4).contains(&stream));
                        // Reject comes from the ULP alone.
                        rejects -= i32::from(octets[3] == 3);
                        prop_assert!(rejects >= 0);
                    }
                }
                Attack::Acknowledged(stream, chunks) => end.acknowledged(stream, chunks, &mut log),
                Attack::Accept(stream) => drop(end.accept(stream, b"")),
                Attack::Reject(stream) => rejects += i32::from(end.reject(stream, b"").is_ok()),
                Attack::Terminate(stream) => drop(end.terminate(stream, now, &mut log)),
                Attack::Initiate(stream) => drop(end.initiate(stream, b"", now)),
                Attack::Later(later) => {
                    now += later;
                    end.poll(now, &mut log);
                }
                Attack::Good => {
                    good += 1;
                    goes_on(&mut end, good);
                }
            }
            for seen in log.take() {
                let of_stream_0 = matches!(
                    seen,
                    Seen::Segment(0, ..) | Seen::InOrder(0, _) | Seen::Failed(0, _) | Seen::Stray(0, _)
                        | Seen::Terminated(0) | Seen::Free(0) | Seen::Lost(0, _)
                );
                prop_assert!(!of_stream_0, "{:?}", seen);
            }
            prop_assert!(end.in_use() <= 4);
        }
        goes_on(&mut end, good + 1);
    }
}

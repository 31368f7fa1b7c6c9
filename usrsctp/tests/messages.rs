//! Messages between two ends of one process: sizes, PPIDs, streams, fragmentation, loss, order, copies, full buffers.

mod common;

use std::collections::BTreeMap;

use common::{Faults, Pair, alone, patient};
use warpline_usrsctp::{Ending, Event, Message, Options, SendError};

/// PPIDs of RFC 5043: DDP segments, and session control.
const PPIDS: [u32; 2] = [16, 17];

fn message(stream: u16, ppid: u32, octets: usize, number: u32) -> Message {
    let mut rng = fastrand::Rng::with_seed(number.into());
    let mut user_data: Vec<u8> = (0..octets).map(|_| rng.u8(..)).collect();
    let front = octets.min(4);
    user_data[..front].copy_from_slice(&number.to_be_bytes()[..front]);
    Message {
        stream,
        ppid,
        unordered: true,
        user_data,
    }
}

/// Sends messages from the active end as the buffer takes them, and returns what arrives.
fn exchange(pair: &mut Pair, messages: &[Message]) -> Vec<Message> {
    let (mut next, mut arrived) = (0, Vec::new());
    let (active, passive) = (&mut pair.active, &mut pair.passive);
    let mut dry = false;
    pair.network.run(600_000, |_| {
        while let Some(message) = messages.get(next) {
            let Message {
                stream,
                ppid,
                unordered,
                user_data,
            } = message;
            match active.send(*stream, *ppid, *unordered, user_data) {
                Ok(()) => (next, dry) = (next + 1, false),
                Err(SendError::WouldBlock) => break,
                Err(error) => panic!("{error}"),
            }
        }
        while let Some(event) = active.next_event() {
            assert_eq!(event, Event::Dry);
            dry = true;
        }
        while let Some(event) = passive.next_event() {
            match event {
                Event::Message(message) => arrived.push(message),
                Event::Dry => {}
                event => panic!("{event:?}"),
            }
        }
        // All acknowledged: only behind that can nothing more come.
        dry && next == messages.len() && arrived.len() >= messages.len()
    });
    for _ in 0..1000 {
        pair.network.step();
        while let Some(event) = pair.passive.next_event() {
            match event {
                Event::Message(message) => arrived.push(message),
                event => assert_eq!(event, Event::Dry),
            }
        }
    }
    arrived
}

/// How often each message is in a list: order does not count.
fn counted(messages: &[Message]) -> BTreeMap<(u16, u32, bool, &[u8]), usize> {
    let mut counts = BTreeMap::new();
    for message in messages {
        let key = (
            message.stream,
            message.ppid,
            message.unordered,
            &message.user_data[..],
        );
        *counts.entry(key).or_insert(0) += 1;
    }
    counts
}

// req: SCTP-FMT-04, SCTP-SSN-04
#[test]
fn messages_of_all_sizes_arrive_as_they_are() {
    let _alone = alone();
    let options = Options::default();
    let mut pair = Pair::new(1, Faults::default(), &options, &options);
    let status = pair.active.status().unwrap();
    assert_eq!(status.max_packet, 1472);
    assert_eq!(status.fragmentation_point, 1472 - 12 - 16);
    let sizes = (2..=1442).chain([1444, 1445, 5000, 65_536]);
    let messages: Vec<_> = sizes
        .zip(0..)
        .map(|(octets, number)| {
            let ppid = PPIDS[number as usize % 2];
            message(number as u16 % 16, ppid, octets, number)
        })
        .collect();
    let arrived = exchange(&mut pair, &messages);
    assert_eq!(counted(&arrived), counted(&messages));
}

#[test]
fn all_arrives_once_over_a_network_that_loses_reorders_and_repeats() {
    let _alone = alone();
    for seed in 0..4 {
        let options = patient();
        let faults = Faults {
            loss: 10,
            copies: 10,
            late: 20,
            damage: 5,
        };
        let mut pair = Pair::new(seed, faults, &options, &options);
        let messages: Vec<_> = (0..400)
            .map(|number| {
                let octets = pair.network.rng.usize(4..=2000);
                message(
                    number as u16 % 16,
                    PPIDS[number as usize % 2],
                    octets,
                    number,
                )
            })
            .collect();
        let arrived = exchange(&mut pair, &messages);
        assert_eq!(counted(&arrived), counted(&messages), "seed {seed}");
        assert!(pair.network.lost > 10, "{} lost", pair.network.lost);
        // Unordered messages behind a lost one have overtaken it: the test has seen what it is about.
        let numbers: Vec<_> = arrived
            .iter()
            .map(|message| &message.user_data[..4])
            .collect();
        assert!(!numbers.is_sorted(), "seed {seed}: nothing was overtaken");
    }
}

/// Ordered messages of a stream keep their order under the same faults.
#[test]
fn ordered_messages_keep_their_order() {
    let _alone = alone();
    let options = patient();
    let faults = Faults {
        loss: 10,
        late: 20,
        ..Faults::default()
    };
    let mut pair = Pair::new(9, faults, &options, &options);
    let messages: Vec<_> = (0..200)
        .map(|number| Message {
            unordered: false,
            ..message(2, 99, 700, number)
        })
        .collect();
    assert_eq!(exchange(&mut pair, &messages), messages);
}

#[test]
fn a_full_buffer_is_told_and_nothing_is_lost_of_it() {
    let _alone = alone();
    let options = Options {
        send_buffer: 20_000,
        receive_buffer: 20_000,
        ..Options::default()
    };
    let mut pair = Pair::new(2, Faults::default(), &options, &options);
    let mut taken = 0;
    let refused = loop {
        match pair.active.send(0, 16, true, &[7; 1000]) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 100, "a buffer of 20,000 octets took 100,000");
    };
    assert!(matches!(refused, SendError::WouldBlock), "{refused}");
    assert!(taken >= 10, "{taken} messages");
    let mut arrived = 0;
    let passive = &mut pair.passive;
    pair.network.run(10_000, |_| {
        while let Some(event) = passive.next_event() {
            arrived += usize::from(matches!(event, Event::Message(_)));
        }
        arrived == taken
    });
    pair.active
        .send(0, 16, true, &[7; 1000])
        .expect("there is room again");
    let large = pair.active.send(0, 16, true, &[7; 20_001]).unwrap_err();
    assert!(
        matches!(
            large,
            SendError::TooLarge {
                octets: 20_001,
                limit: 20_000
            }
        ),
        "{large}"
    );
    let stream = pair.active.send(16, 16, true, &[7]).unwrap_err();
    assert!(
        matches!(
            stream,
            SendError::Stream {
                stream: 16,
                streams: 16
            }
        ),
        "{stream}"
    );
    let empty = pair.active.send(0, 16, true, &[]).unwrap_err();
    assert!(matches!(empty, SendError::Empty), "{empty}");
}

#[test]
fn a_message_beyond_the_limit_ends_the_association() {
    let _alone = alone();
    let passive = Options {
        max_message: 3000,
        ..Options::default()
    };
    let mut pair = Pair::new(3, Faults::default(), &Options::default(), &passive);
    pair.active.send(0, 16, true, &[1; 3000]).unwrap();
    let event = pair.event(false, 1000);
    assert!(matches!(event, Event::Message(_)), "{event:?}");
    pair.active.send(0, 16, true, &[1; 3001]).unwrap();
    assert_eq!(pair.event(false, 1000), Event::Ended(Ending::TooLarge));
    assert_eq!(pair.event(true, 1000), Event::Ended(Ending::Aborted));
    let error = pair.active.send(0, 16, true, &[1]).unwrap_err();
    assert!(!matches!(error, SendError::WouldBlock), "{error}");
}

/// A smaller path: packets are smaller at once, and messages still whole.
#[test]
fn the_path_may_change() {
    let _alone = alone();
    let options = Options::default();
    let mut pair = Pair::new(4, Faults::default(), &options, &options);
    pair.active.set_max_packet(1000).unwrap();
    let status = pair.active.status().unwrap();
    assert_eq!((status.max_packet, status.fragmentation_point), (1000, 972));
    pair.active.send(0, 16, true, &[5; 1400]).unwrap();
    let mut largest = 0;
    while let Some(packet) = pair.network.links[0].output() {
        largest = largest.max(packet.len());
        pair.network.links[1].input(&packet).unwrap();
    }
    assert!((500..=1000).contains(&largest), "{largest}");
    match pair.event(false, 1000) {
        Event::Message(message) => assert_eq!(message.user_data, [5; 1400]),
        event => panic!("{event:?}"),
    }
}

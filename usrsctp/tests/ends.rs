//! How associations begin and end: indications, streams, abort, shutdown, restart, nobody there, floods, damage.

mod common;

use std::thread;
use std::time::Duration;

use common::{Faults, Network, PORT, Pair, alone};
use warpline_usrsctp::{Association, Ending, Error, Event, Link, Listener, Options, SendError};

fn adapted(adaptation: Option<u32>) -> Options {
    Options {
        adaptation,
        ..Options::default()
    }
}

fn up(adaptation: Option<u32>) -> Event {
    Event::Up {
        outbound: 16,
        inbound: 16,
        adaptation,
    }
}

/// Value of the adaptation parameter in a packet whose first chunk is of `kind`, read from the octets.
fn indication(packet: &[u8], kind: u8) -> Option<Vec<u8>> {
    if packet[12] != kind {
        return None;
    }
    let mut at = 12 + 20;
    while at + 4 <= packet.len() {
        let length = usize::from(packet[at + 2]) << 8 | usize::from(packet[at + 3]);
        if packet[at..at + 2] == [0xc0, 0x06] {
            return Some(packet[at..at + length].to_vec());
        }
        at += length.max(4).next_multiple_of(4);
    }
    None
}

// req: SCTP-FMT-02, SCTP-FMT-03, SCTP-INIT-01, SCTP-INIT-02
#[test]
fn each_end_learns_the_other_ones_indication() {
    let _alone = alone();
    for (active, passive) in [
        (Some(1), Some(1)),
        (None, Some(1)),
        (Some(1), None),
        (Some(0x0102_0304), Some(0)),
        (None, None),
    ] {
        let pair = Pair::new(1, Faults::default(), &adapted(active), &adapted(passive));
        assert_eq!(pair.up, [up(passive), up(active)]);
    }
}

/// A message that has come before the set-up was read is read behind it, whether the peer indicates anything or not.
// req: SCTP-INIT-02
#[test]
fn a_message_that_is_there_at_the_set_up_is_not_lost() {
    let _alone = alone();
    for indicated in [Some(1), None] {
        let mut network = Network::new(1, Faults::default());
        let listener = Listener::bind(&network.links[1], PORT, 8, &adapted(Some(1))).unwrap();
        let options = adapted(indicated);
        let mut active = Association::connect(&network.links[0], 0, PORT, &options).unwrap();
        network.run(1000, |_| {
            matches!(active.next_event(), Some(Event::Up { .. }))
        });
        active.send(3, 17, true, b"early").unwrap();
        // Nothing of the other end is read until all of it is acknowledged.
        network.run(1000, |_| active.next_event() == Some(Event::Dry));
        let mut passive = listener.accept().unwrap().unwrap();
        assert_eq!(passive.next_event(), Some(up(indicated)));
        let Some(Event::Message(message)) = passive.next_event() else {
            panic!("no message");
        };
        assert_eq!((message.stream, message.ppid), (3, 17));
        assert_eq!(message.user_data, b"early");
        assert_eq!(passive.next_event(), None);
    }
}

/// V-SCTP-1 of the requirements, in INIT and INIT-ACK.
// req: SCTP-FMT-02, SCTP-INIT-08
#[test]
fn the_indication_has_the_octets_of_rfc_5061() {
    let _alone = alone();
    let (here, there) = (Link::new(), Link::new());
    let listener = Listener::bind(&there, PORT, 1, &adapted(Some(1))).unwrap();
    let _active = Association::connect(&here, 0, PORT, &adapted(Some(1))).unwrap();
    let golden = Some(vec![0xc0, 0x06, 0, 8, 0, 0, 0, 1]);
    let init = here.output().unwrap();
    assert_eq!(indication(&init, 1), golden);
    there.input(&init).unwrap();
    assert_eq!(indication(&there.output().unwrap(), 2), golden);
    drop(listener);
}

// req: SCTP-INIT-17, SCTP-INIT-18
#[test]
fn streams_are_what_both_ends_have() {
    let _alone = alone();
    let active = Options {
        outbound: 100,
        inbound: 7,
        ..Options::default()
    };
    let passive = Options {
        outbound: 50,
        inbound: 30,
        ..Options::default()
    };
    let pair = Pair::new(1, Faults::default(), &active, &passive);
    let streams = |outbound, inbound| Event::Up {
        outbound,
        inbound,
        adaptation: None,
    };
    assert_eq!(pair.up, [streams(30, 7), streams(7, 30)]);
}

#[test]
fn an_abort_is_reported_to_the_peer() {
    let _alone = alone();
    let options = Options::default();
    let mut pair = Pair::new(1, Faults::default(), &options, &options);
    pair.passive.send(0, 16, true, b"lost").unwrap();
    let Pair {
        mut network,
        active,
        mut passive,
        ..
    } = pair;
    active.abort();
    let mut ended = None;
    network.run(1000, |_| {
        while let Some(event) = passive.next_event() {
            ended = Some(event);
        }
        ended == Some(Event::Ended(Ending::Aborted))
    });
    assert_eq!(passive.next_event(), None);
    assert!(passive.link().is_none(), "it is freed");
}

/// Packets are lost, but none comes late: a late one behind the end of the sender is answered with ABORT, as RFC 9260 §8.4 says.
#[test]
fn shutdown_brings_all_that_was_sent() {
    let _alone = alone();
    for seed in 0..5 {
        let options = Options::default();
        let faults = Faults {
            loss: 10,
            ..Faults::default()
        };
        let mut pair = Pair::new(seed, faults, &options, &options);
        for number in 0..50_u8 {
            pair.active.send(1, 16, true, &[number; 1000]).unwrap();
        }
        pair.active.shutdown().unwrap();
        let refused = pair.active.send(1, 16, true, b"late").unwrap_err();
        assert!(matches!(refused, SendError::ShuttingDown), "{refused}");
        let (mut arrived, mut ends) = (0, [None; 2]);
        let (active, passive) = (&mut pair.active, &mut pair.passive);
        pair.network.run(300_000, |_| {
            for (number, end) in [&mut *active, &mut *passive].into_iter().enumerate() {
                while let Some(event) = end.next_event() {
                    match event {
                        Event::Message(_) => arrived += 1,
                        Event::Ended(ending) => ends[number] = Some(ending),
                        Event::Dry | Event::PeerShutdown => {}
                        event => panic!("{event:?}"),
                    }
                }
            }
            ends.iter().all(Option::is_some)
        });
        let expected = (50, [Some(Ending::ShutDown); 2]);
        assert_eq!((arrived, ends), expected, "seed {seed}");
    }
}

/// The peer's machine starts anew and sets the association up again, from the same port: a restart at this end.
#[test]
fn a_restart_of_the_peer_is_reported() {
    let _alone = alone();
    let options = Options::default();
    let network = Network::new(1, Faults::default());
    let listener = Listener::bind(&network.links[1], PORT, 8, &options).unwrap();
    let connect = || Association::connect(&network.links[0], 4000, PORT, &options).unwrap();
    let carry = || {
        for _ in 0..10 {
            while let Some(packet) = network.links[0].output() {
                network.links[1].input(&packet).unwrap();
            }
            while let Some(packet) = network.links[1].output() {
                network.links[0].input(&packet).unwrap();
            }
        }
    };
    let first = connect();
    carry();
    let mut passive = listener.accept().unwrap().expect("an association");
    assert_eq!(passive.next_event(), Some(up(None)));
    drop(first);
    while network.links[0].output().is_some() {} // its ABORT is lost
    let mut second = connect();
    carry();
    assert_eq!(second.next_event(), Some(up(None)));
    let mut events = Vec::new();
    while let Some(event) = passive.next_event() {
        events.push(event);
    }
    let restarted = Event::Restarted {
        outbound: 16,
        inbound: 16,
    };
    assert!(events.contains(&restarted), "{events:?}");
    assert!(listener.accept().unwrap().is_none(), "it is the same one");
    second.send(3, 17, true, b"again").unwrap();
    carry();
    let message = passive.next_event();
    assert!(matches!(message, Some(Event::Message(_))), "{message:?}");
}

#[test]
fn nobody_listens_or_nobody_answers() {
    let _alone = alone();
    let mut network = Network::new(1, Faults::default());
    // Another end is there, but nothing listens: its SCTP answers with ABORT.
    let mut refused =
        Association::connect(&network.links[0], 0, PORT, &Options::default()).unwrap();
    let mut event = None;
    network.run(1000, |_| {
        event = event.take().or_else(|| refused.next_event());
        event.is_some()
    });
    assert_eq!(event, Some(Event::Ended(Ending::Refused)));

    network.faults.loss = 100;
    let mut options = Options::default();
    options.timers.attempts = 3;
    let mut unanswered = Association::connect(&network.links[0], 0, PORT, &options).unwrap();
    let mut event = None;
    network.run(60_000, |_| {
        event = event.take().or_else(|| unanswered.next_event());
        event.is_some()
    });
    assert_eq!(event, Some(Event::Ended(Ending::TimedOut)));
}

/// The path breaks: retransmissions run out.
#[test]
fn a_dead_path_ends_the_association() {
    let _alone = alone();
    let mut options = Options::default();
    options.timers.retransmissions = 3;
    let mut pair = Pair::new(1, Faults::default(), &options, &options);
    pair.network.faults.loss = 100;
    pair.active.send(0, 16, true, b"into nothing").unwrap();
    let ended = pair.event(true, 120_000);
    assert!(
        matches!(ended, Event::Ended(Ending::TimedOut | Ending::Violated)),
        "{ended:?}"
    );
}

/// Nothing is sent, and the peer has gone without a word: heartbeats find out. The library sends them by the system's clock.
#[test]
fn a_peer_that_is_gone_is_noticed() {
    let _alone = alone();
    let mut options = Options::default();
    options.timers.retransmissions = 3;
    options.timers.least = Duration::from_millis(50);
    options.timers.initial = Duration::from_millis(50);
    options.timers.most = Duration::from_millis(100);
    options.timers.heartbeat = Duration::from_millis(100);
    let mut pair = Pair::new(1, Faults::default(), &options, &options);
    pair.network.faults.loss = 100;
    let mut ended = None;
    for _ in 0..30_000 {
        pair.network.step();
        thread::sleep(Duration::from_millis(1));
        ended = pair
            .active
            .next_event()
            .filter(|event| *event != Event::Dry);
        if ended.is_some() {
            break;
        }
    }
    assert!(
        matches!(
            ended,
            Some(Event::Ended(Ending::TimedOut | Ending::Violated))
        ),
        "{ended:?}"
    );
}

/// An INIT without the other end's cookie costs nothing, and the queue of answers is bounded.
#[test]
fn a_flood_of_inits_costs_no_memory() {
    let _alone = alone();
    let options = Options::default();
    let there = Link::with_queue(64);
    let here = Link::new();
    let listener = Listener::bind(&there, PORT, 8, &options).unwrap();
    let example = Association::connect(&here, 0, PORT, &options).unwrap();
    let init = here.output().unwrap();
    drop(example);
    while here.output().is_some() {}
    let before = resident();
    let floods = 20_000_u32;
    for number in 0..floods {
        let mut init = init.clone();
        init[0..2].copy_from_slice(&(number as u16 | 1).to_be_bytes());
        init[16..20].copy_from_slice(&(number + 1).to_be_bytes());
        seal(&mut init);
        there.input(&init).unwrap();
    }
    let grown = resident().saturating_sub(before);
    assert!(listener.accept().unwrap().is_none());
    assert_eq!(
        there.dropped(),
        u64::from(floods) - 64,
        "each INIT is answered"
    );
    assert!(grown < 16 << 20, "{grown} octets more than before");
    while there.output().is_some() {}
    // And one that means it gets its association.
    let mut network = Network::new(1, Faults::default());
    network.links = [here, there];
    let mut real = Association::connect(&network.links[0], 0, PORT, &options).unwrap();
    let (mut accepted, mut event) = (None, None);
    network.run(5000, |_| {
        accepted = accepted.take().or_else(|| listener.accept().unwrap());
        event = event.take().or_else(|| real.next_event());
        accepted.is_some() && event.is_some()
    });
    assert_eq!(event, Some(up(None)));
}

/// Octets of memory that this process has.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// Puts the right CRC32c into a packet.
fn seal(packet: &mut [u8]) {
    packet[8..12].fill(0);
    let crc = crc32c::crc32c(packet);
    packet[8..12].copy_from_slice(&crc.to_le_bytes());
}

/// Too many associations wait: further ones are not answered until there is room, and are set up then.
#[test]
fn associations_that_nobody_accepts_are_bounded() {
    let _alone = alone();
    let options = Options::default();
    let mut network = Network::new(1, Faults::default());
    let listener = Listener::bind(&network.links[1], PORT, 4, &options).unwrap();
    let mut ends: Vec<_> = (0..14)
        .map(|_| Association::connect(&network.links[0], 0, PORT, &options).unwrap())
        .collect();
    for _ in 0..2000 {
        network.step();
    }
    let accept = || std::iter::from_fn(|| listener.accept().unwrap());
    let mut accepted: Vec<_> = accept().collect();
    assert!((4..=6).contains(&accepted.len()), "{}", accepted.len());
    network.run(60_000, |_| {
        accepted.extend(accept());
        accepted.len() == ends.len()
    });
    for _ in 0..10 {
        network.step();
    }
    for end in ends.iter_mut().chain(&mut accepted) {
        assert_eq!(end.next_event(), Some(up(None)));
    }
}

/// Packets that are no packets: none ends an association, and none makes one.
#[test]
fn any_octets_are_taken() {
    let _alone = alone();
    let options = Options::default();
    let mut pair = Pair::new(1, Faults::default(), &options, &options);
    let mut kept = Vec::new();
    for number in 0..20_u8 {
        pair.active.send(0, 16, true, &[number; 900]).unwrap();
        while let Some(packet) = pair.network.links[0].output() {
            pair.network.links[1].input(&packet).unwrap();
            kept.push(packet);
        }
        pair.network.step();
    }
    let mut rng = fastrand::Rng::with_seed(1);
    for round in 0..20_000 {
        let mut packet = kept[rng.usize(0..kept.len())].clone();
        packet.truncate(rng.usize(16..=packet.len()));
        for _ in 0..rng.usize(1..8) {
            let at = rng.usize(0..packet.len());
            packet[at] = rng.u8(..);
        }
        // Half of them pass the CRC; with another verification tag they are nobody's.
        if round % 2 == 0 {
            packet[4] ^= 0x80;
            seal(&mut packet);
        }
        pair.network.links[1].input(&packet).unwrap();
        while pair.network.links[1].output().is_some() {}
    }
    for length in [0, 1, 15, 65_536] {
        let error = pair.network.links[1].input(&vec![0; length]).unwrap_err();
        assert_eq!(error.octets, length);
    }
    let mut arrived = 0;
    while let Some(event) = pair.passive.next_event() {
        match event {
            Event::Message(message) => {
                assert_eq!(message.user_data, [arrived; 900]);
                arrived += 1;
            }
            event => assert_eq!(event, Event::Dry),
        }
    }
    assert_eq!(arrived, 20);
    pair.active.send(0, 16, true, b"alive").unwrap();
    let event = pair.event(false, 10_000);
    assert!(matches!(event, Event::Message(_)), "{event:?}");
}

#[test]
fn ends_are_freed() {
    let _alone = alone();
    let options = Options::default();
    let one = |seed| {
        let mut pair = Pair::new(seed, Faults::default(), &options, &options);
        pair.active.send(0, 16, true, &[1; 1000]).unwrap();
        for _ in 0..5 {
            pair.network.step();
        }
    };
    for seed in 0..50 {
        one(seed);
    }
    let before = resident();
    for seed in 0..300 {
        one(seed);
    }
    let grown = resident().saturating_sub(before);
    assert!(
        grown < 300 * 8192,
        "{grown} octets more behind 300 associations"
    );
}

#[test]
fn what_cannot_be_is_refused() {
    let _alone = alone();
    let link = Link::new();
    let bad = [
        (
            "outbound",
            Options {
                outbound: 0,
                ..Options::default()
            },
        ),
        (
            "inbound",
            Options {
                inbound: 0,
                ..Options::default()
            },
        ),
        (
            "max_packet",
            Options {
                max_packet: 511,
                ..Options::default()
            },
        ),
        (
            "send_buffer",
            Options {
                send_buffer: 4095,
                ..Options::default()
            },
        ),
        (
            "receive_buffer",
            Options {
                receive_buffer: (1 << 24) + 1,
                ..Options::default()
            },
        ),
        (
            "max_message",
            Options {
                max_message: 0,
                ..Options::default()
            },
        ),
    ];
    for (wrong, options) in bad {
        match Association::connect(&link, 0, PORT, &options) {
            Err(Error::Option { name, .. }) => assert_eq!(name, wrong),
            other => panic!("{wrong}: {other:?}"),
        }
    }
    let options = Options::default();
    let first = Listener::bind(&link, PORT, 1, &options).unwrap();
    let second = Listener::bind(&link, PORT, 1, &options).unwrap_err();
    assert!(
        matches!(second, Error::PortTaken { port: PORT }),
        "{second}"
    );
    let other_link = Listener::bind(&Link::new(), PORT, 1, &options);
    assert!(other_link.is_ok(), "ports are a link's");
    drop(first);
    Listener::bind(&link, PORT, 1, &options).expect("it is free again");
}

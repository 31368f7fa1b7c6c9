//! What a peer writes arrives, whatever the path does.

use std::net::TcpListener;

use fastrand::Rng;
use warpline_driver::Completion;
use warpline_sim::{Event, NetworkOptions, PathOptions};

use crate::bench::{Bench, fpdus, pattern, peer, rough, tagged, untagged, until, writes};

/// A peer's messages to a region and a receive ring: 1 MiB in tagged messages of up to 16 KiB, in any order, with untagged
/// ones between them.
struct Load {
    memory: Vec<u8>,
    writes: Vec<(usize, usize)>,
    sends: Vec<Vec<u8>>,
}

impl Load {
    fn new(rng: &mut Rng, octets: usize, sends: usize) -> Self {
        let mut writes = Vec::new();
        let mut at = 0;
        while at < octets {
            let length = rng.usize(1..=16 << 10).min(octets - at);
            writes.push((at, length));
            at += length;
        }
        rng.shuffle(&mut writes);
        let length = |rng: &mut Rng| rng.usize(0..=3000);
        Self {
            memory: pattern(rng, octets),
            writes,
            sends: (0..sends)
                .map(|_| {
                    let length = length(rng);
                    pattern(rng, length)
                })
                .collect(),
        }
    }
}

/// Sends a load through `path`; the peer listens if `outgoing`.
fn carry(path: PathOptions, address: &str, outgoing: bool, seed: u64) {
    let bench = Bench::open(NetworkOptions {
        path,
        ..NetworkOptions::default()
    });
    let mut rng = Rng::with_seed(seed);
    let load = Load::new(&mut rng, 1 << 20, 60);
    let region = bench.region(1 << 20);
    let (handle, socket) = match outgoing {
        true => {
            let listener = TcpListener::bind(address).unwrap();
            let handle = bench.connections.connect(listener.local_addr().unwrap());
            let handle = handle.unwrap();
            let socket = listener.accept().unwrap().0;
            bench.event(|which, event| (event == Event::Connected).then_some(which));
            (handle, socket)
        }
        false => {
            let (_, address) = bench.listen(address);
            let socket = peer(address);
            (bench.accepted(), socket)
        }
    };
    let (sequence, _) = bench.connections.sequences(handle).unwrap();
    let stream = bench.arm(5, sequence);
    for buffer in bench.context.buffers(60, 3000).unwrap() {
        stream.receive_queue(0).unwrap().post(buffer).unwrap();
    }
    bench.connections.attach(handle, 5, sequence, &[]).unwrap();

    let mut sends = (1..).zip(&load.sends);
    let mut messages = Vec::new();
    for (at, length) in &load.writes {
        messages.push((tagged(&region, *at), &load.memory[*at..][..*length]));
        if rng.bool() {
            messages.extend(
                sends
                    .next()
                    .map(|(msn, octets)| (untagged(msn), &octets[..])),
            );
        }
    }
    messages.extend(sends.map(|(msn, octets)| (untagged(msn), &octets[..])));
    let octets = fpdus(&messages);
    let count = octets.len();
    let writer = writes(socket, octets, seed);

    for (message, payload) in &messages {
        match (message, bench.completion()) {
            (warpline_wire::send::Message::Tagged { stag, to, .. }, Completion::Tagged(found)) => {
                assert_eq!(found.stag, *stag);
                let end = found.offset + u64::from(found.length);
                assert_eq!(end, to + payload.len() as u64);
            }
            (warpline_wire::send::Message::Untagged { msn, .. }, Completion::Untagged(found)) => {
                assert_eq!((found.msn, found.hole, found.anomaly), (*msn, false, false));
                assert!(found.buffer.to_vec()[..found.length as usize] == **payload);
            }
            (expected, found) => panic!("{expected:?}, not {found:?}"),
        }
    }
    bench.no_completion();
    assert!(region.to_vec().unwrap() == load.memory, "memory differs");
    assert_eq!(bench.card.bus_errors(), 0);
    let counters = bench.context.counters().unwrap();
    assert_eq!(counters.octets as usize, count, "octets in order");
    assert_eq!(counters.errors, 0);
    let (received, _) = bench.connections.sequences(handle).unwrap();
    assert_eq!(received.wrapping_sub(sequence) as usize, count);

    // The peer's FIN is the stream's end, and the card's is the peer's.
    drop(writer.join().unwrap());
    match bench.completion() {
        Completion::Closed(event) => assert_eq!(event.position as usize, count),
        other => panic!("{other:?}"),
    }
    bench.connections.close(handle);
    stream.close().unwrap();
}

// req: MPA-RCV-26, DDP-DEL-02, AMB-40, AMB-41
#[test]
fn a_mebibyte_arrives_over_a_smooth_path() {
    carry(PathOptions::default(), "127.0.0.1:0", false, 1);
}

// req: MPA-RCV-26, DDP-DEL-02, AMB-40, AMB-41
#[test]
fn a_mebibyte_arrives_over_a_rough_path() {
    carry(rough(7), "127.0.0.1:0", false, 2);
}

// req: MPA-RCV-26, AMB-40
#[test]
fn a_mebibyte_arrives_over_ipv6_at_a_connection_that_the_card_opens() {
    carry(PathOptions::rough(8), "[::1]:0", true, 3);
}

// req: MPA-RCV-26, AMB-40
#[test]
fn sixteen_peers_write_at_once() {
    const EACH: usize = 40_000;
    let bench = Bench::open(NetworkOptions {
        path: rough(9),
        ..NetworkOptions::default()
    });
    let mut rng = Rng::with_seed(9);
    let mut lanes = Vec::new();
    let addresses = [bench.listen("127.0.0.1:0").1, bench.listen("[::1]:0").1];
    for stream in 0..16 {
        let socket = peer(addresses[usize::from(stream % 2)]);
        let (handle, armed) = bench.attach(stream);
        let memory = pattern(&mut rng, EACH);
        lanes.push((socket, handle, armed, bench.region(EACH), memory));
    }
    assert_eq!(bench.connections.counts(), (16, 0));
    let writers: Vec<_> = lanes
        .iter()
        .map(|(socket, _, _, region, memory)| {
            let messages = memory.chunks(1000).enumerate();
            let messages: Vec<_> = messages
                .map(|(i, payload)| (tagged(region, 1000 * i), payload))
                .collect();
            let socket = socket.try_clone().unwrap();
            writes(socket, fpdus(&messages), u64::from(region.stag()))
        })
        .collect();
    let mut delivered = [0; 16];
    for _ in 0..16 * EACH / 1000 {
        match bench.completion() {
            Completion::Tagged(found) => {
                let (_, _, _, region, _) = &lanes[usize::from(found.stream)];
                let ended = found.offset + u64::from(found.length) - region.base();
                delivered[usize::from(found.stream)] += 1000;
                assert_eq!(ended, delivered[usize::from(found.stream)]);
            }
            other => panic!("{other:?}"),
        }
    }
    bench.no_completion();
    for writer in writers {
        writer.join().unwrap();
    }
    for (socket, handle, armed, region, memory) in lanes {
        assert!(region.to_vec().unwrap() == memory);
        bench.connections.close(handle);
        drop(socket);
        armed.close().unwrap();
    }
    assert_eq!(bench.connections.counts(), (0, 0));
}

/// With all octets in the path before time advances, a run is its seeds'.
#[test]
fn the_same_seeds_are_the_same_run() {
    let run = |seed| {
        let path = PathOptions {
            join: 1000,
            ..rough(seed)
        };
        let bench = Bench::stopped(
            NetworkOptions {
                path,
                ..NetworkOptions::default()
            },
            64,
        );
        let (_, address) = bench.listen("127.0.0.1:0");
        let region = bench.region(30_000);
        let socket = peer(address);
        let handle = bench.accepted();
        let _stream = bench.arm(3, 77);
        bench.card.step(1000).unwrap();
        let (before, _) = bench.connections.sequences(handle).unwrap();
        bench.connections.attach(handle, 3, 77, &[]).unwrap();
        let memory = pattern(&mut Rng::with_seed(1), 30_000);
        let octets = fpdus(&[(tagged(&region, 0), &memory)]);
        let count = octets.len();
        let _socket = writes(socket, octets, seed).join().unwrap();
        until("all is read", || {
            let (now, _) = bench.connections.sequences(handle).unwrap();
            now.wrapping_sub(before) as usize == count
        });
        bench.card.run_until_idle().unwrap();
        assert!(region.to_vec().unwrap() == memory);
        (bench.card.timing(), bench.context.counters().unwrap())
    };
    let first = run(1);
    assert_eq!(run(1), first);
    assert_ne!(run(2).0, first.0);
}

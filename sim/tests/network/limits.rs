//! What peers cannot do: fill memory, or stop other peers.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use std::{fs, thread};

use fastrand::Rng;
use warpline_driver::Completion;
use warpline_sim::{Event, NetworkError, NetworkOptions};

use crate::bench::{Bench, PATIENCE, fpdus, pattern, peer, rough, tagged, until, writes};

/// Time for which a socket that accepts nothing more counts as full.
const STILL: Duration = Duration::from_millis(300);
const BUFFER: usize = 32 << 10;

/// Small buffers everywhere.
fn small() -> NetworkOptions {
    NetworkOptions {
        receive_buffer: BUFFER,
        send_buffer: BUFFER,
        backlog: BUFFER,
        ..NetworkOptions::default()
    }
}

/// What the kernel holds of a connection with small buffers at both ends: it doubles what it is asked for, for its own needs.
const IN_KERNEL: usize = 4 * BUFFER;

fn small_peer(address: SocketAddr) -> TcpStream {
    let peer = peer(address);
    rustix::net::sockopt::set_socket_send_buffer_size(&peer, BUFFER).unwrap();
    peer
}

/// Writes until nothing more is accepted for a while; returns the number of octets.
fn fill(peer: &mut TcpStream, octets: &[u8]) -> usize {
    peer.set_nonblocking(true).unwrap();
    let (mut at, mut last) = (0, Instant::now());
    while last.elapsed() < STILL && at < octets.len() {
        match peer.write(&octets[at..]) {
            Ok(count) => (at, last) = (at + count, Instant::now()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => panic!("{error}"),
        }
    }
    peer.set_nonblocking(false).unwrap();
    at
}

/// Messages of 1000 octets that fill a region, as FPDUs.
fn messages(region: &warpline_driver::MemoryRegion, memory: &[u8]) -> Vec<u8> {
    let messages = memory.chunks(1000).enumerate();
    let messages: Vec<_> = messages
        .map(|(i, payload)| (tagged(region, 1000 * i), payload))
        .collect();
    fpdus(&messages)
}

fn expect(bench: &Bench, stream: u8, count: usize) {
    for _ in 0..count {
        let found = bench.completion();
        assert!(
            matches!(found, Completion::Tagged(found) if found.stream == stream),
            "{found:?}"
        );
    }
}

// req: AMB-40
#[test]
fn a_stream_without_window_stops_its_peer_and_no_other_one() {
    let bench = Bench::open(NetworkOptions {
        path: rough(21),
        ..small()
    });
    let (_, address) = bench.listen("127.0.0.1:0");
    let (mut stopped, other) = (small_peer(address), small_peer(address));
    let stopped_handle = bench.accepted();
    let (sequence, _) = bench.connections.sequences(stopped_handle).unwrap();
    let connections = &bench.connections;
    connections
        .attach(stopped_handle, 2, sequence, &[])
        .unwrap();
    let (_, _other_stream) = bench.attach(3);

    let mut rng = Rng::with_seed(21);
    let (regions, memory) = (
        [bench.region(900_000), bench.region(100_000)],
        pattern(&mut rng, 900_000),
    );
    let octets = messages(&regions[0], &memory);
    let count = fill(&mut stopped, &octets);
    let (received, _) = connections.sequences(stopped_handle).unwrap();
    assert_eq!(
        received.wrapping_sub(sequence) as usize,
        BUFFER,
        "the backlog"
    );
    assert!(count <= BUFFER + IN_KERNEL, "{count} octets were accepted");

    let other = writes(other, messages(&regions[1], &memory[..100_000]), 1);
    expect(&bench, 3, 100);
    assert!(regions[1].to_vec().unwrap() == memory[..100_000]);
    let _other = other.join().unwrap();
    assert_eq!(fill(&mut stopped, &octets[count..]), 0, "still stopped");

    let stream = bench.arm(2, sequence);
    let writer = writes(stopped, octets[count..].to_vec(), 2);
    expect(&bench, 2, 900);
    assert!(regions[0].to_vec().unwrap() == memory);
    writer.join().unwrap();
    stream.close().unwrap();
}

// req: DDP-DEL-01
#[test]
fn a_full_completion_queue_stops_the_peer_and_loses_nothing() {
    let mut bench = Bench::stopped(small(), 4);
    bench.start();
    let (_, address) = bench.listen("127.0.0.1:0");
    let mut socket = small_peer(address);
    let (handle, _stream) = bench.attach(0);
    let (start, _) = bench.connections.sequences(handle).unwrap();
    let memory = pattern(&mut Rng::with_seed(22), 600_000);
    let region = bench.region(600_000);
    let octets = messages(&region, &memory);
    let count = fill(&mut socket, &octets);
    // The device has placed what its queues of Deliveries hold, its rings are full, and then the backlog.
    let (received, _) = bench.connections.sequences(handle).unwrap();
    let received = received.wrapping_sub(start) as usize;
    assert!((BUFFER..200_000).contains(&received), "{received}");
    assert!(
        count <= received + IN_KERNEL,
        "{count} octets were accepted"
    );
    let writer = writes(socket, octets[count..].to_vec(), 2);
    expect(&bench, 0, 600);
    assert!(region.to_vec().unwrap() == memory);
    writer.join().unwrap();
}

/// A peer that reads nothing holds neither its stream nor what is queued for it for ever; others are not concerned.
#[test]
fn a_peer_that_accepts_nothing_is_given_up() {
    let bench = Bench::open(NetworkOptions {
        send_timeout: Duration::from_secs(1),
        ..small()
    });
    let (_, address) = bench.listen("127.0.0.1:0");
    let deaf = small_peer(address);
    let (handle, _stream) = bench.attach(0);
    let (mut reads, quiet) = (peer(address), bench.attach(1));
    let octets = [0x5A; 4096];
    let (mut sent, start) = (0, Instant::now());
    let kind = loop {
        match bench.connections.send(handle, &octets) {
            Ok(count) => sent += count,
            Err(NetworkError::Lost(kind)) => break kind,
            Err(error) => panic!("{error}"),
        }
        assert!(
            start.elapsed() < PATIENCE,
            "still there behind {sent} octets"
        );
        thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(kind, ErrorKind::TimedOut);
    let lost = Event::Lost(ErrorKind::TimedOut);
    bench.event(|of, event| (of == handle && event == lost).then_some(()));
    bench.connections.close(handle);
    assert_eq!(bench.connections.send(quiet.0, b"warp").unwrap(), 4);
    let mut found = [0; 4];
    reads.read_exact(&mut found).unwrap();
    assert_eq!(&found, b"warp");
    drop(deaf);
}

#[test]
fn half_open_connections_are_bounded_and_stop_no_other_listener() {
    let bench = Bench::open(NetworkOptions {
        connections: 12,
        listeners: 2,
        pending: 5,
        waiting: 4,
        ..small()
    });
    let (_, flooded) = bench.listen("127.0.0.1:0");
    let (quiet_listener, quiet) = bench.listen("127.0.0.1:0");
    let third = bench.connections.listen("127.0.0.1:0".parse().unwrap());
    assert!(matches!(third, Err(NetworkError::Full { most: 2, .. })));

    // Peers that say nothing, or talk without end: none of it is read.
    let flood: Vec<_> = (0..200)
        .map(|_| {
            thread::Builder::new().stack_size(128 << 10).spawn(move || {
                let peer = TcpStream::connect_timeout(&flooded, Duration::from_secs(2));
                peer.inspect(|peer| {
                    peer.set_nonblocking(true).unwrap();
                    let _ = (&*peer).write(&[0x55; 100]);
                })
            })
        })
        .map(|thread| thread.unwrap())
        .collect();
    let flood: Vec<_> = flood
        .into_iter()
        .filter_map(|thread| thread.join().unwrap().ok())
        .collect();
    assert!(flood.len() >= 5, "{} connected", flood.len());
    assert!(flood.len() < 50, "{} connected", flood.len());
    let mut handles = Vec::new();
    until("five are accepted", || {
        while let Some((handle, event)) = bench.connections.next_event() {
            if matches!(event, Event::Accepted(_)) {
                handles.push(handle);
            }
        }
        handles.len() == 5
    });
    thread::sleep(STILL);
    assert_eq!(bench.connections.counts(), (5, 5));

    // Others are served meanwhile.
    let region = bench.region(1000);
    let socket = peer(quiet);
    let handle =
        bench.event(|handle, event| (event == Event::Accepted(quiet_listener)).then_some(handle));
    let (sequence, _) = bench.connections.sequences(handle).unwrap();
    let _stream = bench.arm(0, sequence);
    bench.connections.attach(handle, 0, sequence, &[]).unwrap();
    assert_eq!(bench.connections.counts(), (6, 5));
    let _socket = writes(socket, messages(&region, &[1; 1000]), 1)
        .join()
        .unwrap();
    expect(&bench, 0, 1);

    // Each one that is closed makes room for one.
    for handle in handles {
        bench.connections.abort(handle);
        let next = bench.accepted();
        assert_eq!(bench.connections.counts(), (6, 5));
        bench.connections.ends(next).unwrap();
    }

    // Outgoing connections have what the table has left.
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let elsewhere = elsewhere.local_addr().unwrap();
    for _ in 0..6 {
        bench.connections.connect(elsewhere).unwrap();
    }
    let full = bench.connections.connect(elsewhere);
    assert!(matches!(full, Err(NetworkError::Full { most: 12, .. })));
}

/// Context switches of this process's threads that serve sockets.
fn switches() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let mut sum = 0;
    for task in tasks {
        let task = task.unwrap().path();
        let read = |file| fs::read_to_string(task.join(file)).unwrap_or_default();
        if read("comm").trim() == "card network" {
            let status = read("status");
            let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
            let counts =
                lines.filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok());
            sum += counts.sum::<u64>();
        }
    }
    sum
}

/// In a process of its own, so that other tests' threads do not count.
#[test]
fn connections_in_any_state_cost_nothing_while_nothing_happens() {
    let alone = "limits::idle_connections_alone";
    let program = std::env::current_exe().unwrap();
    let status = std::process::Command::new(program)
        .args([alone, "--exact", "--include-ignored"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&status.stdout);
    assert!(
        status.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

#[test]
#[ignore = "run by connections_in_any_state_cost_nothing_while_nothing_happens"]
fn idle_connections_alone() {
    let bench = Bench::open(small());
    let (_, address) = bench.listen("127.0.0.1:0");
    let mut peers = Vec::new();
    let mut accept = || {
        peers.push(small_peer(address));
        bench.accepted()
    };
    let silent = accept();
    let unread = accept();
    let [hung, lost, full, shut, dead] = [(); 5].map(|()| accept());
    let attach = |handle, stream| bench.connections.attach(handle, stream, 0, &[]).unwrap();
    for (handle, stream) in [(hung, 0), (full, 1), (shut, 2), (dead, 3)] {
        attach(handle, stream);
    }
    bench.connections.finish(hung).unwrap();
    bench.connections.finish(shut).unwrap();
    let mut peers = peers.into_iter().skip(1);
    let mut next = || peers.next().unwrap();
    let (mut unread_peer, hung_peer, lost_peer, mut full_peer, mut shut_peer, mut dead_peer) =
        (next(), next(), next(), next(), next(), next());
    let many = vec![7; 1 << 20];
    for peer in [
        &mut unread_peer,
        &mut full_peer,
        &mut shut_peer,
        &mut dead_peer,
    ] {
        assert!(fill(peer, &many) > BUFFER);
    }
    hung_peer.shutdown(std::net::Shutdown::Write).unwrap();
    shut_peer.shutdown(std::net::Shutdown::Write).unwrap();
    for peer in [&lost_peer, &dead_peer] {
        let linger = Some(Duration::ZERO);
        rustix::net::sockopt::set_socket_linger(peer, linger).unwrap();
    }
    drop((lost_peer, dead_peer));
    let mut seen = Vec::new();
    until("losses are seen", || {
        while let Some((handle, event)) = bench.connections.next_event() {
            seen.push((handle, event));
        }
        let lost = |(handle, event): &&(_, Event)| {
            [lost, dead].contains(handle) && matches!(event, Event::Lost(_))
        };
        seen.iter().filter(lost).count() == 2
    });
    thread::sleep(STILL);
    let before = switches();
    assert!(before > 0, "the thread is found");
    thread::sleep(4 * STILL);
    let during = switches() - before;
    assert!(during <= 2, "{during} context switches");
    assert_eq!(bench.connections.counts(), (7, 3));
    bench.connections.ends(silent).unwrap();
    bench.connections.ends(unread).unwrap();
}

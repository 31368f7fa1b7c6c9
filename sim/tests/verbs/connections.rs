//! Many connections: each is set up, used and closed, and nothing of it is left.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use serde::Serialize;
use warpline_driver::{
    CloseReason, ConnectOptions, ConnectRequest, ListenOptions, Listener, Local, MemoryRegion,
    PairEvent, QpOptions, Registration, Remote, Work, WorkOpcode, WorkQueue, WorkRequest,
    WorkStatus, connect,
};
use warpline_hdl::Config;

use crate::bench::{Engine, Machine, PATIENCE, anywhere, each, is_alone};

/// Connections of each test in every run of the tests.
const CONNECTIONS: usize = 16;
/// Connections of each way in the long test.
const MANY: usize = 1008;
/// Octets that are written and read back.
const OCTETS: usize = 3000;
/// Growth of the process that is no leak: allocators keep what was freed.
const GROWTH: usize = 16 << 20;

/// A device of 16 streams.
fn config(engine: Engine) -> Config {
    Config {
        transmit: engine == Engine::Rtl,
        streams: 16,
        ring_octets: 16 << 10,
        commit_octets: 16 << 10,
        stag_slots: 64,
        receive_slots: 16,
        ..Config::simulated(64)
    }
}

/// What is left of connections in both machines and in this process.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    parties: usize,
    tcp: usize,
    descriptors: usize,
}

impl Left {
    fn of(client: &Machine, server: &Machine) -> Self {
        client.empties();
        server.empties();
        Self {
            parties: client.context.connections() + server.context.connections(),
            tcp: client.network.counts().0 + server.network.counts().0,
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
        }
    }
}

/// Octets of this process in memory.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    1024 * line
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<usize>()
        .unwrap()
}

fn options(machine: &Machine) -> QpOptions {
    QpOptions {
        buffers: machine.buffers(2),
        timeout: PATIENCE,
        ..QpOptions::default()
    }
}

/// Accepts one connection, and closes it when its peer has.
fn serve(machine: &Machine, request: ConnectRequest) {
    let queue = WorkQueue::new(&machine.context, 64).unwrap();
    let options = options(machine);
    let pair = request
        .accept(&machine.domain, &queue, options, b"")
        .unwrap();
    let mut messages = 0;
    loop {
        match queue.wait(PATIENCE).unwrap().expect("an item in time") {
            Work::Completion(done) if done.status == WorkStatus::Success => {
                assert_eq!((done.opcode, done.length), (WorkOpcode::Receive, 4));
                messages += 1;
            }
            Work::Completion(_) => {} // flushed
            Work::Event { event, .. } => match event {
                PairEvent::HalfClosed => pair.disconnect().unwrap(),
                PairEvent::Closed(CloseReason::Finished) => break,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(messages, 1);
    pair.close().unwrap();
}

/// Connects, writes, sends, reads back and closes.
fn use_one(machine: &Machine, address: SocketAddr, target: &MemoryRegion, place: usize) {
    let queue = WorkQueue::new(&machine.context, 64).unwrap();
    let connecting = ConnectOptions {
        pair: options(machine),
        ..ConnectOptions::default()
    };
    let (pair, _) = connect(&machine.domain, &queue, address, connecting).unwrap();
    let data: Vec<u8> = (0..OCTETS).map(|i| (i * 13 + place) as u8).collect();
    let source = machine.region(&data, Registration::local());
    let sink = machine.region(&vec![0; OCTETS], Registration::default());
    let at = Remote {
        stag: target.stag(),
        offset: target.base() + (place * OCTETS) as u64,
    };
    pair.post_sends([
        WorkRequest::write(1, Local::all(&source).unwrap(), at),
        WorkRequest::send(2, &b"data"[..]),
        WorkRequest::read(3, Local::all(&sink).unwrap(), at),
    ])
    .unwrap();
    for id in 1..=3 {
        match queue.wait(PATIENCE).unwrap() {
            Some(Work::Completion(done)) => {
                assert_eq!((done.id, done.status), (id, WorkStatus::Success));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(sink.to_vec().unwrap() == data);
    pair.disconnect().unwrap();
    loop {
        match queue.wait(PATIENCE).unwrap().expect("an end in time") {
            Work::Event {
                event: PairEvent::Closed(reason),
                ..
            } => {
                assert_eq!(reason, CloseReason::Finished);
                break;
            }
            Work::Event { .. } | Work::Completion(_) => {}
            other => panic!("{other:?}"),
        }
    }
    pair.close().unwrap();
}

/// What a run measured.
#[derive(Serialize)]
struct Report {
    connections: usize,
    at_a_time: usize,
    milliseconds_each: f64,
    /// Octets that the process has more in memory than before.
    growth: usize,
}

/// `count` connections, `side_by_side` of them at a time.
fn run(engine: Engine, count: usize, side_by_side: usize) -> Report {
    let config = config(engine);
    let (client, server) = (Machine::with(&config, 1), Machine::with(&config, 2));
    let memory = vec![0; side_by_side * OCTETS];
    let registration = Registration {
        remote_read: true,
        ..Registration::default()
    };
    let target: Arc<MemoryRegion> = server.region(&memory, registration);
    let listening = ListenOptions::default();
    let listener = Listener::bind(&server.context, anywhere(), listening).unwrap();
    let address = listener.address();
    // The server has as many streams as there are connections at a time, so a round begins when it has closed the last.
    let round = || {
        thread::scope(|scope| {
            for place in 0..side_by_side {
                let (client, target) = (&client, &target);
                scope.spawn(move || use_one(client, address, target, place));
            }
            for _ in 0..side_by_side {
                let request = listener.accept(PATIENCE).unwrap().expect("a request");
                scope.spawn(|| serve(&server, request));
            }
        });
    };
    // The first ones fill what is kept for later ones.
    (0..2).for_each(|_| round());
    let (before, memory) = (Left::of(&client, &server), resident());
    assert_eq!((before.parties, before.tcp), (1, 0), "the listener alone");
    let start = Instant::now();
    (0..count / side_by_side).for_each(|_| round());
    let took = start.elapsed().as_secs_f64() * 1e3 / count as f64;
    assert_eq!(Left::of(&client, &server), before);
    let growth = resident().saturating_sub(memory);
    assert!(growth < GROWTH, "{growth} octets more than before");
    Report {
        connections: count,
        at_a_time: side_by_side,
        milliseconds_each: (took * 10.0).round() / 10.0,
        growth,
    }
}

// req: DDP-TEAR-10, LLP-10
#[test]
fn connections_one_after_the_other_leave_nothing() {
    if !is_alone("connections::connections_one_after_the_other_leave_nothing") {
        return;
    }
    each(|engine| {
        run(engine, CONNECTIONS, 1);
    });
}

// req: DDP-TEAR-10, LLP-10
#[test]
fn connections_sixteen_at_a_time_leave_nothing() {
    if !is_alone("connections::connections_sixteen_at_a_time_leave_nothing") {
        return;
    }
    each(|engine| {
        run(engine, CONNECTIONS, 16);
    });
}

#[test]
#[ignore = "minutes: make long-connections"]
fn a_thousand_connections_leave_nothing() {
    let reports = [1, 16].map(|at_a_time| run(Engine::Software, MANY, at_a_time));
    let text = serde_json::to_string_pretty(&reports).unwrap() + "\n";
    print!("{text}");
    if let Some(record) = std::env::var_os("RECORD") {
        fs::write(record, text).unwrap();
    }
}

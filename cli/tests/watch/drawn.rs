//! What is drawn of two snapshots: cells are compared with a picture that was made by hand, and rates with figures that
//! were worked out by hand.

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Color;
use warpline::watch::controls::{Controls, Sort};
use warpline::watch::report::{Report, Watcher};
use warpline::watch::snapshot::Snapshot;
use warpline::watch::view::View;
use warpline_sim::{
    ConnectionState, Observation, OpenConnection, QueueFill, StreamObservation, StreamState,
};

const TITLE: &str = "simulated, 64 bits at /tmp/card";

/// Ten seconds in: the counter of octets is about to wrap.
fn before() -> Snapshot {
    let mut streams = vec![StreamObservation::default(); 4];
    streams[0].arms = 1;
    streams[0].received = 5_000;
    // It was closed and armed again since: its octets are new ones.
    streams[1].arms = 1;
    streams[1].received = 99_999;
    streams[2].arms = 7;
    streams[2].received = 77;
    Snapshot {
        at: Duration::from_secs(10),
        card: Observation {
            cycles: 1_000_000,
            resets: 3,
            octets: 4_294_967_000,
            sent: 1_500,
            streams,
            ..Observation::default()
        },
        ..Snapshot::default()
    }
}

/// Half a second and 2000 cycles later: 8000 octets in, 500 out.
fn now() -> Snapshot {
    let fill = |used, entries| QueueFill { used, entries };
    let mut words = [0; 12];
    words[0] = 1 << 31 | 0x2 << 8 | 0x02;
    words[1] = 1 << 9; // NOBUF
    words[3] = 3_976;
    let streams = vec![
        StreamObservation {
            state: StreamState::Open,
            arms: 1,
            received: 13_000,
            window: 131_072 - 1_310,
            ring: 1_310,
            buffers: 12,
            sends: fill(3, 64),
            transmit: 0b0011,
            ..StreamObservation::default()
        },
        StreamObservation {
            state: StreamState::Frozen,
            arms: 2,
            received: 4_096,
            window: 65_536,
            ring: 65_536,
            transmit: 0b1001,
            error: Some(words),
            ..StreamObservation::default()
        },
        StreamObservation {
            state: StreamState::Closing,
            arms: 7,
            received: 77,
            window: 0,
            ring: 131_072,
            buffers: 65_535,
            sends: fill(4096, 4096),
            transmit: 0b0001,
            ..StreamObservation::default()
        },
        StreamObservation::default(),
    ];
    let connection = |peer: &str, state| OpenConnection {
        card: "127.0.0.1:7471".parse().unwrap(),
        peer: peer.parse().unwrap(),
        state,
    };
    Snapshot {
        at: Duration::from_millis(10_500),
        host: true,
        card: Observation {
            cycles: 1_002_000,
            resets: 3,
            ring_octets: 131_072,
            segments: 150,
            octets: 7_704, // 4,294,967,000 + 8,000 - 2^32
            segments_dropped: 2,
            fpdus: 130,
            fpdus_discarded: 7,
            payload_octets: 6_000,
            errors: 1,
            sent: 2_000,
            bus_errors: 0,
            completions: fill(12, 64),
            streams,
        },
        connections: vec![
            connection("127.0.0.1:40312", ConnectionState::Attached { stream: 0 }),
            connection("[fe80::1]:9", ConnectionState::StartUp),
        ],
        listeners: vec!["127.0.0.1:7471".parse().unwrap()],
    }
}

const PICTURE: [&str; 24] = [
    "simulated, 64 bits at /tmp/card  a host is connected",
    "cycles         1 002 000               4 000 cycles/s  resets 3",
    "received           7 704 octets       16 000 octets/s    4.000 octets/cycle",
    "sent               2 000 octets        1 000 octets/s    0.250 octets/cycle",
    "segments 150  dropped 2  FPDUs 130  discarded 7  errors 1  bus errors 0",
    "completions ████················ 12 of 64",
    " # STATE        RECEIVED   OCTETS/S  WINDOW RING      BUFFERS     SENDS TX",
    " 0 open           13 000     16 000 129 762 █···  1 %      12      3/64 busy",
    " 1 frozen          4 096      8 192  65 536 ██·· 50 %       0         - ended",
    " 2 closing            77          0       0 ████100 %  65 535 4096/4096 gate",
    " 3 free",
    "",
    "listens at 127.0.0.1:7471",
    "PEER                                           STATE      STREAM",
    "127.0.0.1:40312                                attached   0",
    "[fe80::1]:9                                    start-up   -",
    "",
    "",
    "",
    "",
    "",
    "error: stream 1, at 3 976: invalid MSN, no buffer available (0x2/0x02)",
    "INFO a host has connected",
    "q end the card  p pause  s sort: number  ↑ ↓ scroll",
];

fn report() -> Report {
    let mut watcher = Watcher::default();
    watcher.see(before());
    watcher.see(now())
}

fn drawn(report: &Report, controls: Controls, (width, height): (u16, u16)) -> Buffer {
    let log = ["INFO a host has connected".to_owned()];
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let view = View {
        title: TITLE,
        report,
        log: &log,
        controls,
    };
    terminal
        .draw(|frame| frame.render_widget(view, frame.area()))
        .unwrap();
    terminal.backend().buffer().clone()
}

/// The lines, without blanks at their ends.
fn lines(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width);
    let rows = buffer.content.chunks(width);
    let text = |row: &[ratatui::buffer::Cell]| -> String {
        row.iter().map(|cell| cell.symbol()).collect()
    };
    rows.map(|row| text(row).trim_end().to_owned()).collect()
}

#[test]
fn eighty_columns_by_twenty_four_lines_show_all_of_it() {
    let buffer = drawn(&report(), Controls::default(), (80, 24));
    let found = lines(&buffer);
    for (number, (found, expected)) in found.iter().zip(PICTURE).enumerate() {
        assert_eq!(found, expected, "line {number}");
    }
    // A frozen stream and the error are red.
    assert_eq!(buffer[(3, 8)].fg, Color::Red);
    assert_eq!(buffer[(0, 21)].fg, Color::Red);
    assert_eq!(buffer[(3, 7)].fg, Color::Green);
}

#[test]
fn the_first_look_has_no_rates() {
    let report = Watcher::default().see(now());
    let found = lines(&drawn(&report, Controls::default(), (80, 24)));
    assert_eq!(
        found[1],
        "cycles         1 002 000                               resets 3"
    );
    assert_eq!(found[2], "received           7 704 octets");
    assert!(
        found[7].starts_with(" 0 open           13 000          - 129 762"),
        "{}",
        found[7]
    );
    assert_eq!(report.received.octets_per_second, None);
}

/// A reset sets the counters of the device to zero: what comes behind it is new.
#[test]
fn a_reset_begins_the_counts_anew() {
    let mut watcher = Watcher::default();
    watcher.see(before());
    let mut after = now();
    after.card.resets += 1;
    after.card.octets = 600;
    after.card.streams[0].received = 300;
    let report = watcher.see(after);
    assert_eq!(report.received.octets_per_second, Some(1_200.0));
    assert_eq!(report.received.octets_per_cycle, Some(0.3));
    assert_eq!(report.streams[0].received_per_second, Some(600.0));
    // What TCP has accepted is counted beside the device.
    assert_eq!(report.sent.octets_per_second, Some(1_000.0));
}

/// An error stays on the screen when its stream is in use again, until there is another one.
#[test]
fn the_last_error_stays() {
    let mut watcher = Watcher::default();
    assert!(watcher.see(before()).last_error.is_none());
    let error = watcher.see(now()).last_error.unwrap();
    assert_eq!(error.stream, 1);
    let mut later = now();
    later.card.streams[1].error = None;
    assert_eq!(watcher.see(later.clone()).last_error, Some(error));
    let mut words = [0; 12];
    words[0] = 1 << 31 | 0x3 << 8 | 0x01 | 5 << 12; // lost
    later.card.streams[3].error = Some(words);
    let report = watcher.see(later);
    let error = report.last_error.unwrap();
    let lost = "at 0: TCP connection closed, terminated or lost (0x3/0x01)";
    assert_eq!((error.stream, error.text.as_str()), (3, lost));
    assert_eq!(report.streams[3].error.as_deref(), Some(lost));
    // A record that no device can write is reported as such.
    let mut later = now();
    later.card.streams[0].error = Some([u32::MAX; 12]);
    let text = watcher.see(later).streams[0].error.clone().unwrap();
    assert!(
        text.starts_with("an error record that cannot be: "),
        "{text}"
    );
}

#[test]
fn keys_change_what_is_drawn() {
    let mut report = report();
    report.streams[2].received_per_second = Some(20_000.0);
    let order = |sort| {
        let controls = Controls {
            sort,
            ..Controls::default()
        };
        let found = lines(&drawn(&report, controls, (80, 24)));
        [7, 8, 9, 10].map(|line| found[line][1..2].parse::<u8>().unwrap())
    };
    assert_eq!(order(Sort::Number), [0, 1, 2, 3]);
    assert_eq!(order(Sort::Rate), [2, 0, 1, 3]);
    assert_eq!(order(Sort::Ring), [2, 1, 0, 3]);
    let controls = Controls {
        paused: true,
        scroll: 2,
        ..Controls::default()
    };
    let found = lines(&drawn(&report, controls, (80, 24)));
    assert_eq!(
        found[0],
        "simulated, 64 bits at /tmp/card  a host is connected  PAUSED"
    );
    assert_eq!(found[8], PICTURE[10]);
    assert!(found[23].contains("p go on"));
}

#[test]
fn any_size_is_drawn() {
    let report = report();
    let controls = Controls {
        scroll: 99,
        ..Controls::default()
    };
    for width in [0, 1, 2, 10, 79, 300] {
        for height in [0, 1, 2, 5, 7, 8, 12, 13, 100] {
            drawn(&report, controls, (width, height));
        }
    }
    // A small terminal shows the figures first.
    let found = lines(&drawn(&report, Controls::default(), (80, 8)));
    for (found, expected) in found.iter().zip(PICTURE) {
        assert_eq!(found, expected);
    }
    let wild = Snapshot {
        at: Duration::MAX,
        card: Observation {
            cycles: u64::MAX,
            resets: u64::MAX,
            octets: u32::MAX,
            sent: u64::MAX,
            bus_errors: u64::MAX,
            completions: QueueFill {
                used: u32::MAX,
                entries: 1,
            },
            streams: vec![
                StreamObservation {
                    state: StreamState::Open,
                    received: u64::MAX,
                    window: u32::MAX,
                    ring: u32::MAX,
                    buffers: u32::MAX,
                    sends: QueueFill {
                        used: u32::MAX,
                        entries: 1,
                    },
                    ..StreamObservation::default()
                };
                200
            ],
            ..Observation::default()
        },
        ..Snapshot::default()
    };
    let mut watcher = Watcher::default();
    watcher.see(wild.clone());
    // The same moment again, and one before it: no rate is infinite.
    for next in [wild.clone(), before(), wild] {
        let report = watcher.see(next);
        drawn(&report, controls, (80, 24));
        let rate = report.received.octets_per_second;
        assert!(rate.is_none_or(f64::is_finite), "{rate:?}");
    }
}

#[test]
fn a_line_of_json_has_the_same_figures() {
    let json = serde_json::to_value(report()).unwrap();
    assert_eq!(json["cycles_per_second"], 4_000.0);
    assert_eq!(json["received"]["octets_per_cycle"], 4.0);
    assert_eq!(json["sent"]["octets_per_second"], 1_000.0);
    assert_eq!(json["streams"][1]["state"], "frozen");
    assert_eq!(json["streams"][2]["sends"]["entries"], 4096);
    assert_eq!(json["connections"][0]["peer"], "127.0.0.1:40312");
    assert_eq!(json["connections"][0]["stream"], 0);
    assert_eq!(json["last_error"]["stream"], 1);
    assert!(!serde_json::to_string(&json).unwrap().contains('\n'));
}

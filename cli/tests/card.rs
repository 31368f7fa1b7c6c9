//! `warpline card` as a shell and hosts see it: traffic into each armed stream, a clean end, errors of one line.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use warpline_capture::Capture;
use warpline_capture::replay::{BUFFER_FILL, REGION_FILL, Replay};
use warpline_driver::{
    Completion, Context, DmaMemory, Error, Options, Registration, StreamOptions, VfioUser,
};

const TIMEOUT: Duration = Duration::from_secs(60);
/// Longest time to build a model on a busy machine.
const BUILT: Duration = Duration::from_secs(1200);
const CAPTURE: &str = "crc1-rev2-mixed";
/// Messages of the capture: 30 tagged ones, 10 and 8 on queues 0 and 1.
const MESSAGES: usize = 48;

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testbenches/captures")
        .join(name)
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// A card in a separate process, and its log.
struct Card {
    process: Child,
    lines: Receiver<String>,
}

impl Card {
    fn start(arguments: &[&str]) -> Self {
        let mut command = command(arguments);
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(process.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            stderr
                .lines()
                .try_for_each(|line| sender.send(line.unwrap()))
        });
        Self { process, lines }
    }

    /// Waits for the next line, which must contain `text`; what is not played is said before.
    fn says(&self, text: &str) {
        let line = loop {
            let line = self.lines.recv_timeout(BUILT);
            let line = line.unwrap_or_else(|_| panic!("no line with {text:?}"));
            if !line.contains("not replayed") {
                break line;
            }
        };
        assert!(line.contains(text), "{line:?} instead of {text:?}");
    }

    /// Waits for a line with `text`; a line with `other` may precede it.
    fn says_at_last(&self, text: &str, other: &str) {
        let line = self.lines.recv_timeout(BUILT).unwrap();
        if line.contains(other) {
            self.says(text);
        } else {
            assert!(line.contains(text), "{line:?} instead of {text:?}");
        }
    }

    fn signal(&mut self, signal: Signal) -> Option<i32> {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, signal).unwrap();
        self.process.wait().unwrap().code()
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it has ended, unless the test failed
        let _ = self.process.wait();
    }
}

/// The card behind a socket, opened as a program would.
fn open(socket: &Path) -> Context {
    let device = VfioUser::connect(socket, TIMEOUT).unwrap();
    Context::open(Box::new(device), Options::default()).unwrap()
}

/// Receives the capture as an independent program would, without access to the card's network side.
fn receive(context: &Context, replay: &Replay) {
    let domain = context.protection_domain().unwrap();
    let regions = replay.plan.regions.iter().map(|region| {
        let mut memory = DmaMemory::new(region.length as usize).unwrap();
        memory.fill(REGION_FILL);
        let registration = Registration {
            base: Some(region.base),
            remote_write: region.remote_write,
            ..Registration::default()
        };
        domain
            .register_as(region.stag, memory, registration)
            .unwrap()
    });
    let regions: Vec<_> = regions.collect();
    let options = StreamOptions {
        // Not that of the capture: this is another connection.
        sequence_start: 0xFFFF_F000,
        markers: replay.flow.markers,
        crc: replay.flow.crc,
        queues: 0b111,
        ..StreamOptions::default()
    };
    let stream = domain.arm(0, options).unwrap();
    for (number, queue) in (0..).zip(&replay.plan.queues) {
        for mut buffer in match queue.count {
            0 => Vec::new(),
            count => context.buffers(count as usize, queue.length).unwrap(),
        } {
            let fill = vec![BUFFER_FILL; queue.length as usize];
            buffer.write_at(0, &fill).unwrap();
            stream.receive_queue(number).unwrap().post(buffer).unwrap();
        }
    }
    let mut sends = Vec::new();
    for message in 0..MESSAGES {
        match context.completion_queue().wait(TIMEOUT).unwrap() {
            Some(Completion::Tagged(_)) => {}
            Some(Completion::Untagged(message)) if message.queue == 0 => sends.push(message),
            Some(Completion::Untagged(_)) => {}
            other => panic!("message {message}: {other:?}"),
        }
    }
    stream.close().unwrap();
    let length = replay.flow.octets().unwrap().len();
    while let Some(completion) = context.completion_queue().poll().unwrap() {
        match completion {
            Completion::Flushed(_) => {}
            // The peer's FIN, which the stream's close may overtake.
            Completion::Closed(end) if end.position as usize == length => {}
            other => panic!("{other:?}"),
        }
    }
    for (region, (name, octets)) in regions.into_iter().zip(&replay.expected.memory) {
        assert!(region.revoke().unwrap()[..] == octets[..], "{name}");
    }
    let buffers = replay
        .expected
        .receive
        .1
        .chunks(replay.plan.queues[0].length as usize);
    for (message, octets) in sends.iter().zip(buffers) {
        assert!(message.buffer.to_vec() == octets, "{message:?}");
    }
    assert_eq!(sends.len(), 10);
}

// req: DDP-TAG-11, AMB-16
#[test]
fn hosts_that_arm_a_stream_get_the_traffic_again_and_again() {
    let capture = recorded(CAPTURE);
    let replay = Replay::new(&Capture::open(&capture).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("card");
    let path = socket.to_str().unwrap();
    let traffic = capture.to_str().unwrap();
    let mut card = Card::start(&["card", "--socket", path, "--serve-traffic", traffic]);
    card.says("ready");
    for _ in 0..2 {
        let context = open(&socket);
        card.says("a host has connected");
        for _ in 0..2 {
            receive(&context, &replay);
            card.says("armed");
            card.says("traffic starts");
            // The host may close before the player sees that its traffic is accepted.
            card.says_at_last("closed", "all traffic taken");
        }
        // Another program must wait.
        let output = command(&["stat", path]).output().unwrap();
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{complaint}");
        assert!(
            complaint.contains("another program uses the card"),
            "{complaint}"
        );
        drop(context);
        card.says("the host has disconnected");
        card.says("a host has connected"); // the one that timed out
        card.says("the host has disconnected");
    }
    let output = command(&["stat", path]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains("8 octets wide, 4 streams"), "{shown}");
    assert!(shown.contains("interrupt_state"), "{shown}");
    let output = command(&["doctor", path]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains("8 octets wide, 4 streams"), "{shown}");
    assert_eq!(card.signal(Signal::TERM), Some(0));
    assert!(!socket.exists());
}

#[test]
fn a_card_with_a_host_is_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("card");
    let mut card = Card::start(&["card", "--socket", socket.to_str().unwrap()]);
    card.says("ready");
    let context = open(&socket);
    card.says("a host has connected");
    assert_eq!(card.signal(Signal::INT), Some(0));
    assert!(!socket.exists());
    assert!(context.counters().is_err());
}

#[test]
fn a_sleeping_host_gets_an_error_when_the_card_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("card");
    let mut card = Card::start(&["card", "--socket", socket.to_str().unwrap()]);
    card.says("ready");
    let context = open(&socket);
    let start = Instant::now();
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| context.completion_queue().wait(TIMEOUT));
        thread::sleep(Duration::from_millis(50));
        assert_eq!(card.signal(Signal::KILL), None);
        let woken = sleeper.join().unwrap();
        assert!(matches!(woken, Err(Error::Gone)), "{woken:?}");
    });
    assert!(start.elapsed() < TIMEOUT / 2);
    // Its socket file remains; the next card replaces it.
    assert!(socket.exists());
    let mut card = Card::start(&["card", "--socket", socket.to_str().unwrap()]);
    card.says("ready");
    assert_eq!(card.signal(Signal::TERM), Some(0));
}

#[test]
fn a_card_keeps_serving_when_its_log_has_no_reader() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("card");
    let path = socket.to_str().unwrap();
    let mut process = command(&["card", "--socket", path])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(process.stderr.take().unwrap());
    let ready = said.lines().any(|line| line.unwrap().contains("ready")); // after the model is built
    assert!(ready, "it ended");
    for _ in 0..3 {
        open(&socket);
    }
    kill_process(Pid::from_child(&process), Signal::TERM).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(0));
    assert!(!socket.exists());
}

/// Building the model of a card takes minutes; a signal ends the program at once.
#[test]
fn a_card_that_is_being_built_is_interrupted() {
    for signal in [Signal::TERM, Signal::INT] {
        // A Verilator that is also the compiler, and does not end during this test.
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (program, asked) = (at("bin/verilator_bin"), at("asked"));
        fs::create_dir(at("bin")).unwrap();
        fs::create_dir(at("include")).unwrap();
        fs::write(at("include/verilated.h"), "").unwrap();
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo 1 && exit\ntouch {}\nexec sleep 20\n",
            asked.display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut process = command(&["card", "--socket", at("card").to_str().unwrap()])
            .env("VERILATOR_ROOT", folder.path())
            .env("WARPLINE_CXX", &program)
            .env("WARPLINE_CACHE", at("cache"))
            .spawn()
            .unwrap();
        let start = Instant::now();
        while !asked.exists() && start.elapsed() < TIMEOUT {
            thread::sleep(Duration::from_millis(20));
        }
        assert!(asked.exists(), "a compiler was started");
        let interrupted = Instant::now();
        kill_process(Pid::from_child(&process), signal).unwrap();
        assert_eq!(process.wait().unwrap().code(), Some(0));
        assert!(interrupted.elapsed() < Duration::from_secs(15));
        assert!(!at("card").exists());
    }
}

#[track_caller]
fn complains(arguments: &[&str], code: i32, reason: &str) {
    let Output { status, stderr, .. } = command(arguments).output().unwrap();
    let complaint = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(code), "{arguments:?}: {complaint}");
    assert_eq!(complaint.lines().count(), 1, "{arguments:?}: {complaint}");
    assert!(complaint.starts_with("warpline: "), "{complaint}");
    assert!(complaint.contains(reason), "{arguments:?}: {complaint}");
}

#[test]
fn unusable_options_are_reported_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (socket, file) = (at("card"), at("file"));
    std::fs::write(&file, "not a socket").unwrap();
    complains(&["card"], 2, "--socket");
    complains(
        &["card", "--socket", &socket, "--width", "65"],
        2,
        "choose 64",
    );
    complains(&["card", "--socket", &file], 2, "is not a socket");
    complains(&["card", "--socket", &at("none/card")], 2, "cannot listen");
    let nothing = ["card", "--socket", &socket, "--serve-traffic", &file];
    complains(&nothing, 2, "file");
    let trace = at("file/run.fst"); // a folder that is missing would be made
    complains(
        &["card", "--socket", &socket, "--trace", &trace],
        2,
        "cannot write",
    );
    complains(&["stat", &socket], 2, "connecting to the card failed");
    complains(&["stat", "nonsense"], 2, "neither a PCI address");
    let long = at(&"x".repeat(108));
    complains(&["card", "--socket", &long], 2, "107 octets at most");
    complains(&["stat", &long], 2, "107 octets at most");
    let closed = at("closed");
    drop(UnixListener::bind(&closed).unwrap());
    complains(&["stat", &closed], 2, "no server listens there");
    complains(&["doctor", &closed], 2, "no server listens there");
    // A path need not be Unicode.
    let odd = folder.path().join(OsStr::from_bytes(b"\xFF"));
    for asked in ["stat", "doctor"] {
        let output = command(&[asked]).arg(&odd).output().unwrap();
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert!(complaint.contains("start the device first"), "{complaint}");
    }
    complains(&["stat", &file], 2, "connecting to the card failed");
    assert_eq!(std::fs::read(&file).unwrap(), b"not a socket");
}

//! `warpline card --watch` on a pseudo-terminal, with traffic; and where there is no terminal.
//!
//! ```text
//!  warpline put ─► TCP ─► the watched card ◄─ vfio-user ─ this test, which listens
//!                              └─► pseudo-terminal ─► a terminal in memory, which the test reads
//! ```

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::num::NonZeroU16;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use serde_json::Value;
use warpline::transfer::Offer;
use warpline_driver::{
    Context, DmaMemory, ListenOptions, Listener, Options, PairEvent, QpOptions, Registration,
    VfioUser, Work, WorkQueue,
};

use super::process::Killed;

const TIMEOUT: Duration = Duration::from_secs(60);
/// Longest time to build a model on a busy machine.
const BUILT: Duration = Duration::from_secs(1200);
/// Octets that are put: some seconds of a simulated card.
const OCTETS: usize = 1_500_000;

/// A program on a terminal of 80 by 24.
struct OnTerminal {
    process: Child,
    master: File,
    screen: Arc<Mutex<vt100::Parser>>,
    reader: Option<JoinHandle<()>>,
    /// Local flags of the terminal before the program began.
    flags: String,
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

impl OnTerminal {
    fn start(program: &Path, arguments: &[&str]) -> Self {
        let open = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(open).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = File::options()
            .read(true)
            .write(true)
            .custom_flags(OFlags::NOCTTY.bits() as i32)
            .open(OsStr::from_bytes(name.as_bytes()))
            .unwrap();
        tcsetwinsize(&master, size(24, 80)).unwrap();
        let flags = flags(&master);
        // `setsid --ctty`: the terminal is that of the program's session, so that it gets the signal of a new size.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program).args(arguments);
        command.env("TERM", "xterm-256color");
        command.env("RUST_BACKTRACE", "0"); // a message of a panic has to fit the screen
        command.stdin(slave.try_clone().unwrap());
        command.stdout(slave.try_clone().unwrap()).stderr(slave);
        let process = command.spawn().unwrap();
        drop(command); // and with it this process's handles of the program's end
        let master = File::from(master);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(cells(24), cells(80), 0)));
        let mut output = master.try_clone().unwrap();
        let reader = thread::spawn({
            let screen = Arc::clone(&screen);
            move || {
                let mut room = [0; 4096];
                // a read fails once every handle of the other end is closed
                while let Ok(length @ 1..) = output.read(&mut room) {
                    screen.lock().unwrap().process(&room[..length]);
                }
            }
        });
        Self {
            process,
            master,
            screen,
            reader: Some(reader),
            flags,
        }
    }

    fn rows(&self) -> Vec<String> {
        let screen = self.screen.lock().unwrap();
        screen.screen().rows(0, 80).collect()
    }

    /// Waits for something on the screen.
    #[track_caller]
    fn until<T>(&self, what: &str, patience: Duration, see: impl Fn(&[String]) -> Option<T>) -> T {
        let end = Instant::now() + patience;
        loop {
            let rows = self.rows();
            if let Some(seen) = see(&rows) {
                return seen;
            }
            assert!(Instant::now() < end, "no {what}:\n{}", rows.join("\n"));
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    fn is_other_screen(&self) -> bool {
        self.screen.lock().unwrap().screen().alternate_screen()
    }

    /// Waits for its end: the exit code, and what is on the screen then. The terminal must be as it was.
    fn ends(&mut self) -> (Option<i32>, Vec<String>) {
        let end = Instant::now() + TIMEOUT;
        let status = loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < end, "it does not end");
            thread::sleep(Duration::from_millis(20));
        };
        let after = flags(&self.master);
        // Its output is complete once its end of the terminal is closed.
        self.reader.take().unwrap().join().unwrap();
        let screen = self.screen.lock().unwrap();
        assert!(
            !screen.screen().alternate_screen(),
            "the other screen stays"
        );
        assert!(!screen.screen().hide_cursor(), "the cursor stays away");
        assert_eq!(after, self.flags, "echo, lines and signals of the terminal");
        (status.code(), screen.screen().rows(0, 80).collect())
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it has ended, unless the test failed
        let _ = self.process.wait();
    }
}

/// Local flags of a terminal: echo, lines, signals by keys.
fn flags(terminal: impl AsFd) -> String {
    format!("{:?}", tcgetattr(terminal).unwrap().local_modes)
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_warpline"))
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).stdin(Stdio::null());
    command
}

/// A number whose groups of three digits are parted, at the start of a text or of its end.
fn number(text: &str) -> Option<u64> {
    text.replace(' ', "").parse().ok()
}

/// `RECEIVED` of stream 0, while it is in use.
fn received(rows: &[String]) -> Option<u64> {
    let row = rows.iter().find(|row| row.starts_with(" 0 open"))?;
    number(row.get(11..24)?)
}

/// Offers memory to one peer at the card, as `warpline serve` does, and returns the memory when the peer has left.
fn serve(context: &Context, listener: &Listener, octets: usize) -> Vec<u8> {
    let domain = context.protection_domain().unwrap();
    let memory = DmaMemory::new(octets).unwrap();
    // A peer that has written reads an octet: then all is in memory.
    let registration = Registration {
        remote_read: true,
        ..Registration::default()
    };
    let region = domain.register(memory, registration).unwrap();
    let offer = Offer {
        stag: region.stag(),
        base: region.base(),
        length: octets as u64,
    };
    let queue = WorkQueue::new(context, 16).unwrap();
    let request = listener.accept(TIMEOUT).unwrap().expect("a peer connects");
    let pair = request
        .accept(&domain, &queue, QpOptions::default(), &offer.emit())
        .unwrap();
    let end = Instant::now() + TIMEOUT;
    loop {
        assert!(Instant::now() < end, "the peer does not leave");
        if let Some(Work::Event { event, .. }) = queue.wait(Duration::from_millis(100)).unwrap() {
            match event {
                PairEvent::HalfClosed => pair.disconnect().unwrap(),
                PairEvent::Closed(_) => break,
                other => panic!("{other:?}"),
            }
        }
    }
    pair.close().unwrap();
    region.revoke().unwrap().to_vec()
}

// req: DDP-TAG-11
#[test]
fn octets_of_a_stream_appear_and_rise_and_q_ends_the_card() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, file) = (folder.path().join("card"), folder.path().join("file"));
    let mut rng = fastrand::Rng::with_seed(1);
    let octets: Vec<u8> = (0..OCTETS).map(|_| rng.u8(..)).collect();
    std::fs::write(&file, &octets).unwrap();
    let path = socket.to_str().unwrap();
    let arguments = [
        "card",
        "--socket",
        path,
        "--network",
        "--watch",
        "--interval",
        "0.1",
    ];
    let mut card = OnTerminal::start(program(), &arguments);
    let idle = |rows: &[String]| rows[0].contains("no host").then_some(());
    card.until("view", BUILT, idle);
    assert!(card.is_other_screen());
    let rows = card.rows();
    assert!(rows[0].starts_with("simulated, 64 bits at "), "{rows:?}");
    assert!(
        (7..11).all(|row| rows[row].trim_end().ends_with(" free")),
        "{rows:?}"
    );
    assert!(rows[23].starts_with("q end the card"), "{rows:?}");

    let device = VfioUser::connect(&socket, TIMEOUT).unwrap();
    let context = Context::open(Box::new(device), Options::default()).unwrap();
    let address: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(&context, address, ListenOptions::default()).unwrap();
    let listens = format!("listens at {}", listener.address());
    card.until("host", TIMEOUT, |rows| {
        let host = rows[0].contains("a host is connected");
        let listening = rows.iter().any(|row| row.trim_end() == listens);
        let told = rows
            .iter()
            .any(|row| row.contains("INFO a host has connected"));
        (host && listening && told).then_some(())
    });

    let address = listener.address().to_string();
    let put = ["put", file.to_str().unwrap(), &address, "--json"];
    let mut put = command(&put).stdout(Stdio::null()).spawn().unwrap();
    let mut seen = Vec::new();
    let written = thread::scope(|scope| {
        let host = scope.spawn(|| serve(&context, &listener, OCTETS));
        let end = Instant::now() + 2 * TIMEOUT;
        while !host.is_finished() {
            assert!(Instant::now() < end, "the transfer does not end");
            let rows = card.rows();
            if let Some(received) = received(&rows)
                && seen.last() != Some(&received)
            {
                let attached = |row: &String| row.contains(" attached   0");
                assert!(rows.iter().any(attached), "{}", rows.join("\n"));
                seen.push(received);
            }
            thread::sleep(Duration::from_millis(10));
        }
        host.join().unwrap()
    });
    assert!(put.wait().unwrap().success());
    assert!(written == octets, "the watched card has placed the file");
    let rising: Vec<_> = seen.iter().filter(|received| **received > 0).collect();
    assert!(rising.len() >= 3 && rising.is_sorted(), "{seen:?}");
    // Headers, CRCs and start-up add a little.
    let most = OCTETS as u64 * 11 / 10;
    assert!(rising.iter().all(|received| **received <= most), "{seen:?}");
    let total = card.until("end of the stream", TIMEOUT, |rows| {
        let free = rows.iter().any(|row| row.trim_end() == " 0 free");
        number(rows[2].get(9..24)?).filter(|_| free)
    });
    assert!((OCTETS as u64..most).contains(&total), "{total}");

    card.press("p");
    card.until("pause", TIMEOUT, |rows| {
        rows[0].contains("PAUSED").then_some(())
    });
    let cycles = card.rows()[1].clone();
    thread::sleep(Duration::from_millis(500));
    assert_eq!(card.rows()[1], cycles, "the view stands still");
    card.press("p");
    card.until("motion", TIMEOUT, |rows| (rows[1] != cycles).then_some(()));
    card.press("s");
    card.until("order", TIMEOUT, |rows| {
        rows[23].contains("sort: octets/s").then_some(())
    });
    card.press("q");
    let (code, rows) = card.ends();
    assert_eq!(code, Some(0), "{}", rows.join("\n"));
    assert!(!socket.exists());
    assert!(context.counters().is_err(), "the host's card is gone");
    // What the log would have said is there when the view is gone.
    let said = rows.iter().any(|row| row.contains("a host has connected"));
    assert!(said, "{}", rows.join("\n"));
}

#[test]
fn every_way_out_gives_the_terminal_back() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("card");
    let path = socket.to_str().unwrap();
    let start = || {
        let arguments = ["card", "--socket", path, "--network", "--watch"];
        let card = OnTerminal::start(program(), &arguments);
        card.until("view", BUILT, |rows| {
            rows[0].contains("no host").then_some(())
        });
        assert!(card.is_other_screen());
        assert_ne!(flags(&card.master), card.flags, "keys come one by one");
        card
    };
    for keys in ["\x1b", "\x03"] {
        let mut card = start();
        card.press(keys);
        assert_eq!(card.ends().0, Some(0), "{keys:?}");
        assert!(!socket.exists());
    }
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let card = start();
        kill_process(Pid::from_child(&card.process), signal).unwrap();
        let mut card = card;
        assert_eq!(card.ends().0, Some(0), "{signal:?}");
    }
    // Another size is drawn at once.
    let mut card = start();
    card.screen
        .lock()
        .unwrap()
        .screen_mut()
        .set_size(cells(6), cells(20));
    tcsetwinsize(&card.master, size(6, 20)).unwrap();
    card.until("smaller view", TIMEOUT, |rows| {
        let fits = rows.len() == 6 && rows[0].trim_end() == "simulated, 64 bits a";
        fits.then_some(())
    });
    card.press("q");
    assert_eq!(card.ends().0, Some(0));
}

/// Runs in a process of its own, on a terminal: [`a_panic_gives_the_terminal_back`] starts it.
#[test]
#[ignore = "panics; another test starts it on a terminal"]
fn panics_with_the_screen() {
    let _screen = warpline::watch::screen::Screen::enter().unwrap();
    panic!("planted in a test");
}

/// As above, in another thread than the one that has the screen.
#[test]
#[ignore = "panics; another test starts it on a terminal"]
fn panics_beside_the_screen() {
    let screen = warpline::watch::screen::Screen::enter().unwrap();
    thread::spawn(|| panic!("planted in a test"))
        .join()
        .unwrap_err();
    assert!(screen.is_lost());
    std::process::exit(7); // no destructor runs
}

#[test]
fn a_panic_gives_the_terminal_back() {
    for (name, expected) in [
        ("live::panics_with_the_screen", 101),
        ("live::panics_beside_the_screen", 7),
    ] {
        let arguments = ["--ignored", "--exact", name, "--nocapture"];
        let mut test = OnTerminal::start(&std::env::current_exe().unwrap(), &arguments);
        let (code, rows) = test.ends();
        let text = rows.join("\n");
        assert_eq!(code, Some(expected), "{text}");
        assert!(
            text.contains("planted in a test"),
            "the message is readable: {text}"
        );
    }
}

#[test]
fn a_program_gets_a_line_of_json_for_each_look() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("card");
    let path = socket.to_str().unwrap();
    let arguments = ["card", "--socket", path, "--network", "--watch", "--json"];
    let mut command = command(&arguments);
    command.args(["--interval", "0.2"]);
    let mut card = Killed(
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let stdout = BufReader::new(card.0.stdout.take().unwrap());
    let lines = stdout.lines().map(|line| {
        let line = line.unwrap();
        serde_json::from_str::<Value>(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    });
    let lines: Vec<_> = lines.take(4).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["cycles_per_second"], Value::Null);
    assert_eq!(lines[0]["streams"].as_array().unwrap().len(), 4);
    for pair in lines.windows(2) {
        let number = |line: &Value, name: &str| line[name].as_f64().unwrap();
        let seconds = number(&pair[1], "seconds") - number(&pair[0], "seconds");
        let cycles = number(&pair[1], "cycles") - number(&pair[0], "cycles");
        assert!(seconds > 0.15 && cycles > 0.0, "{seconds} {cycles}");
        let rate = number(&pair[1], "cycles_per_second");
        let difference = (rate - cycles / seconds).abs() / rate;
        assert!(difference < 1e-6, "{rate}: {cycles} in {seconds}");
        assert_eq!(pair[1]["host"], false);
    }
    kill_process(Pid::from_child(&card.0), Signal::TERM).unwrap();
    assert_eq!(card.0.wait().unwrap().code(), Some(0));
    assert!(!socket.exists());
}

#[test]
fn what_cannot_be_watched_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("card");
    let path = socket.to_str().unwrap();
    for (options, reason) in [
        (
            &["--watch"][..],
            "standard input is no terminal: add --json",
        ),
        (&["--watch", "--interval", "0"], "from 0.1 to 3600"),
        (&["--watch", "--interval", "-1"], "'-1'"),
        (&["--watch", "--interval", "NaN"], "from 0.1 to 3600"),
        (&["--interval", "2"], "--watch"),
        (&["--json"], "--watch"),
    ] {
        let all = [&["card", "--socket", path], options].concat();
        let Output { status, stderr, .. } = command(&all).output().unwrap();
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(2), "{options:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{options:?}: {said}");
        assert!(said.contains(reason), "{options:?}: {said}");
        assert!(!socket.exists());
    }
}

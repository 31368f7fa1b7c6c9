//! A machine with a card that listens and connects, over the send queues in software or over the RTL's transmit path.

use std::env;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use warpline_driver::{
    Buffer, Context, DmaMemory, MemoryRegion, Options, PairEvent, PairOptions, ProtectionDomain,
    QpOptions, Registration, VfioUser, Work, WorkCompletion, WorkQueue,
};
use warpline_hdl::Config;
use warpline_sim::{
    BackPressure, Card, CardOptions, Clock, Connections, ControlOptions, ControlProgram,
    NetworkOptions,
};

/// Longest wait for anything, on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the test `name` in a process of its own, where descriptors and threads of other tests do not count; true there.
pub fn is_alone(name: &str) -> bool {
    const ALONE: &str = "WARPLINE_TEST_ALONE";
    if env::var_os(ALONE).is_some() {
        return true;
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([name, "--exact"]).env(ALONE, "1");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && text.contains("1 passed");
    assert!(passed, "{text}{}", String::from_utf8_lossy(&output.stderr));
    false
}

/// Who makes FPDUs of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The card.
    Software,
    /// The device.
    Rtl,
}

/// Runs a test over both engines.
pub fn each(test: impl Fn(Engine)) {
    for engine in [Engine::Software, Engine::Rtl] {
        eprintln!("engine: {engine:?}"); // shown if the test fails
        test(engine);
    }
}

/// A machine with a card. Fields are dropped in this order.
pub struct Machine {
    pub queue: WorkQueue,
    pub domain: ProtectionDomain,
    pub context: Context,
    /// Its device answers Reads, if it can.
    pub device_reads: bool,
    _program: ControlProgram,
    pub network: Arc<Connections>,
    _clock: Clock,
    _card: Card,
}

impl Machine {
    pub fn new(engine: Engine, seed: u64) -> Self {
        let config = Config {
            transmit: engine == Engine::Rtl,
            ..Config::simulated(64)
        };
        Self::with(&config, seed)
    }

    pub fn with(config: &Config, seed: u64) -> Self {
        Self::controlled(config, seed, ControlOptions::default())
    }

    pub fn controlled(config: &Config, seed: u64, control: ControlOptions) -> Self {
        // The RTL's ports stall as well.
        let back_pressure = match config.transmit {
            true => BackPressure::RANDOM,
            false => BackPressure::NONE,
        };
        let options = CardOptions {
            seed,
            back_pressure,
            transmit: true,
            resend: 10,
            ..CardOptions::default()
        };
        let card = Card::open(config, options).unwrap();
        let clock = card.run_freely().unwrap();
        let network = Connections::open(&card, NetworkOptions::default()).unwrap();
        let network = Arc::new(network);
        let program = ControlProgram::start(&card, Arc::clone(&network), control).unwrap();
        let device = VfioUser::over(card.connect().unwrap(), PATIENCE).unwrap();
        let options = Options {
            command_timeout: PATIENCE,
            ..Options::default()
        };
        let context = Context::open(Box::new(device), options).unwrap();
        Self {
            queue: WorkQueue::new(&context, 64).unwrap(),
            domain: context.protection_domain().unwrap(),
            context,
            device_reads: true,
            _program: program,
            network,
            _clock: clock,
            _card: card,
        }
    }

    pub fn region(&self, octets: &[u8], registration: Registration) -> Arc<MemoryRegion> {
        let mut memory = DmaMemory::new(octets.len()).unwrap();
        memory.copy_from_slice(octets);
        Arc::new(self.domain.register(memory, registration).unwrap())
    }

    /// The control program closes connections a moment after the host has released them.
    pub fn empties(&self) {
        let end = Instant::now() + PATIENCE;
        while self.network.counts().0 > 0 {
            assert!(Instant::now() < end, "a connection is left");
            thread::yield_now();
        }
    }

    pub fn buffers(&self, count: usize) -> Vec<Buffer> {
        self.context.buffers(count, 4096).unwrap()
    }

    pub fn options(&self) -> QpOptions {
        QpOptions {
            buffers: self.buffers(4),
            timeout: PATIENCE,
            sizes: PairOptions {
                ird: 2,
                ord: 2,
                device_reads: self.device_reads,
                ..PairOptions::default()
            },
            ..QpOptions::default()
        }
    }

    #[track_caller]
    pub fn next(&self) -> Work {
        let work = self.queue.wait(PATIENCE).unwrap();
        work.expect("a completion in time")
    }

    /// The next work; meanwhile the peer's queue is polled, which makes it go on.
    #[track_caller]
    pub fn next_while_polled(&self, peer: &Self) -> Work {
        let end = Instant::now() + PATIENCE;
        loop {
            peer.queue.poll().unwrap();
            if let Some(work) = self.queue.wait(Duration::from_millis(10)).unwrap() {
                return work;
            }
            assert!(Instant::now() < end, "a completion in time");
        }
    }

    #[track_caller]
    pub fn done(&self) -> WorkCompletion {
        match self.next() {
            Work::Completion(completion) => completion,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub fn event(&self) -> PairEvent {
        match self.next() {
            Work::Event { event, .. } => event,
            other => panic!("{other:?}"),
        }
    }
}

pub fn anywhere() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

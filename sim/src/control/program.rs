//! The thread that runs the control program. It sleeps until the mailbox or the network has something, or time has passed.

use std::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use warpline_firmware::{Bus, Firmware};
use warpline_firmware_image::IMAGE;

use super::alarm::Alarm;
use super::calls::Calls;
use super::processor::{Processor, Progress};
use super::sessions::Sessions;
use crate::card::Card;
use crate::control::sockets::Sockets;
use crate::error::Error;
use crate::network::connections::Connections;

/// Connections and listeners of the control program.
const CONNECTIONS: usize = 64;
const LISTENERS: usize = 8;

/// How a control program works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlOptions {
    /// Largest EMSS, at least 128: octets of payload in a TCP segment. A connection whose peer has a smaller MSS sends smaller
    /// ones.
    pub emss: u16,
    /// The program runs as its RISC-V image on a soft processor, picorv32 in Verilator, instead of natively.
    pub soft_processor: bool,
}

impl Default for ControlOptions {
    /// 1460 octets: a frame of Ethernet with IPv4 and without TCP options. Natively.
    fn default() -> Self {
        Self {
            emss: 1460,
            soft_processor: false,
        }
    }
}

/// A card's control program: it listens and connects for the host, runs MPA start-up and arms streams, by the
/// messages of `warpline_regmap::mailbox`. Dropping it ends all its connections and listeners, as if its processor had stopped: the
/// streams of connections report that these are lost, and nothing else of the card changes. Another one can be started then.
#[must_use = "dropping it ends the control program"]
pub struct ControlProgram {
    alarm: Arc<Alarm>,
    thread: Option<JoinHandle<()>>,
}

impl ControlProgram {
    /// Starts it over the control port of `card`, which was opened with [`CardOptions::transmit`](crate::CardOptions), and the
    /// card's `connections`, whose events it takes alone. A reset of the card ends all its connections and listeners.
    ///
    /// # Errors
    /// [`Error::NoControlPort`], [`Error::Thread`]; with a soft processor also [`Error::NoProcessor`] and [`Error::Model`].
    pub fn start(
        card: &Card,
        connections: Arc<Connections>,
        options: ControlOptions,
    ) -> Result<Self, Error> {
        let alarm = Arc::new(Alarm::default());
        let watcher = Arc::clone(&alarm);
        card.watch_control(Box::new(move || watcher.call(|_| {})))?;
        let watcher = Arc::clone(&alarm);
        connections.watch(Box::new(move || watcher.call(|_| {})));
        let watcher = Arc::clone(&alarm);
        let wake = Arc::new(move || watcher.call(|_| {}));
        let sessions = Sessions::new(card, connections.frames(), wake);
        let mut port = card.control_port();
        let mut network = Sockets {
            connections,
            sessions,
            segment: options.emss,
        };
        let builder = thread::Builder::new().name("card control".into());
        let watched = Arc::clone(&alarm);
        let thread = if options.soft_processor {
            let processor = Processor::new(IMAGE, port, Calls::over(network))?;
            builder.spawn(move || run_image(processor, &watched))
        } else {
            builder.spawn(move || run(&mut port, &mut network, &watched))
        };
        Ok(Self {
            alarm,
            thread: Some(thread.map_err(Error::Thread)?),
        })
    }
}

impl fmt::Debug for ControlProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlProgram").finish_non_exhaustive()
    }
}

fn run(port: &mut impl Bus, network: &mut Sockets, alarm: &Alarm) {
    let mut firmware = Box::new(Firmware::<Sockets, CONNECTIONS, LISTENERS>::new());
    let start = Instant::now();
    let clock = || start.elapsed().as_millis() as u64;
    loop {
        let next = firmware.poll(port, network, clock());
        // A millisecond that has begun counts as passed only when it is over.
        let pause = next.map(|next| Duration::from_millis(next).saturating_sub(start.elapsed()));
        let wake = alarm.wait(pause);
        if wake.end {
            return network.end_all();
        }
    }
}

/// Cycles between two looks at whether the program is to end.
const CYCLES: u32 = 10_000;

fn run_image(mut processor: Processor, alarm: &Alarm) {
    let start = Instant::now();
    let now = || start.elapsed().as_millis() as u64;
    // What woke the thread while the program ran may have come behind the program's last look.
    let mut awake = false;
    loop {
        let pause = match processor.run(CYCLES, now) {
            Ok(Progress::Paused(until)) if !std::mem::take(&mut awake) => {
                until.map(|until| Duration::from_millis(until).saturating_sub(start.elapsed()))
            }
            Ok(_) => Some(Duration::ZERO),
            Err(error) => {
                tracing::error!(%error, "the card's control program has stopped");
                return processor.end();
            }
        };
        let wake = alarm.wait(pause);
        if wake.end {
            return processor.end();
        }
        awake |= wake.called && pause == Some(Duration::ZERO);
    }
}

impl Drop for ControlProgram {
    fn drop(&mut self) {
        self.alarm.call(|wake| wake.end = true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic has been printed to standard error
        }
    }
}

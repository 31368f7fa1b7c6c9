//! The thread that runs the control program. It sleeps until the mailbox or the network has something, or time has passed.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use warpline_firmware::{Bus, Firmware};

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
    /// EMSS of all connections: octets of payload in a TCP segment, at least 128.
    pub emss: u16,
}

impl Default for ControlOptions {
    /// 1460 octets: a frame of Ethernet with IPv4 and without TCP options.
    fn default() -> Self {
        Self { emss: 1460 }
    }
}

/// What wakes the thread. The lock is held for moments only, so that a card's callbacks may wake it.
#[derive(Default)]
struct Alarm {
    calls: Mutex<Calls>,
    called: Condvar,
}

#[derive(Clone, Copy, Default)]
struct Calls {
    wake: bool,
    end: bool,
}

impl Alarm {
    fn call(&self, change: impl FnOnce(&mut Calls)) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.wake = true;
        change(&mut calls);
        drop(calls);
        self.called.notify_all();
    }

    /// Sleeps until a call, at most for `timeout`, and takes the calls.
    fn wait(&self, timeout: Option<Duration>) -> Calls {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let asleep = |calls: &mut Calls| !calls.wake;
        let mut calls = match timeout {
            None => self.called.wait_while(calls, asleep),
            Some(timeout) => {
                let waited = self.called.wait_timeout_while(calls, timeout, asleep);
                waited
                    .map(|(calls, _)| calls)
                    .map_err(|error| PoisonError::new(error.into_inner().0))
            }
        }
        .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut calls)
    }
}

/// A card's control program, running natively: it listens and connects for the host, runs MPA start-up and arms streams, by the
/// messages of `warpline_regmap::mailbox`. Dropping it ends all its connections and listeners.
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
    /// [`Error::NoControlPort`], [`Error::Thread`].
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
        let mut port = card.control_port();
        let mut network = Sockets {
            connections,
            segment: options.emss,
        };
        let thread = thread::Builder::new().name("card control".into()).spawn({
            let alarm = Arc::clone(&alarm);
            move || run(&mut port, &mut network, &alarm)
        });
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
        let calls = alarm.wait(pause);
        if calls.end {
            firmware.reset(network);
            return;
        }
    }
}

impl Drop for ControlProgram {
    fn drop(&mut self) {
        self.alarm.call(|calls| calls.end = true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic has been printed to standard error
        }
    }
}

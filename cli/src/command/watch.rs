//! `warpline card --watch`: a view of the card on the terminal, or a JSON object a line.

use std::io::{IsTerminal, stdin, stdout};
use std::thread;
use std::time::{Duration, Instant};

use super::serving::{LOOK, Served};
use super::terminal::{remark, show};
use crate::Error;
use crate::options::Card as Options;
use crate::watch::controls::Controls;
use crate::watch::log;
use crate::watch::report::{Report, Watcher};
use crate::watch::screen::{Input, Screen};
use crate::watch::snapshot::Snapshot;
use crate::watch::view::View;

/// Lines of the log that a view may show.
const LOG: usize = 8;

/// Checks that a view has a terminal.
pub(super) fn check(options: &Options) -> Result<(), Error> {
    if !options.watch || options.json {
        return Ok(());
    }
    let no = |stream| Err(Error::NoTerminal { stream });
    match () {
        () if !stdin().is_terminal() => no("standard input"),
        () if !stdout().is_terminal() => no("standard output"),
        () => Ok(()),
    }
}

/// Shows the card until it is to end.
pub(super) fn run(served: &mut Served<'_>, options: &Options) -> Result<(), Error> {
    let watch = Watch {
        start: Instant::now(),
        interval: options.interval,
        next: Instant::now(),
        watcher: Watcher::default(),
    };
    match options.json {
        true => watch.print(served),
        false => {
            let title = format!("{} at {}", served.card.name(), options.socket.display());
            let shown = watch.draw(served, &title);
            // The terminal is the usual one again, and the log goes where it would have gone.
            log::take().iter().for_each(|line| remark(line));
            shown
        }
    }
}

/// When the card is looked at, and what was seen.
struct Watch {
    start: Instant,
    interval: Duration,
    next: Instant,
    watcher: Watcher,
}

impl Watch {
    /// The next report, if it is due.
    fn report(&mut self, served: &Served<'_>) -> Result<Option<Report>, Error> {
        let now = Instant::now();
        if now < self.next {
            return Ok(None);
        }
        // An interval that was missed is left out.
        self.next = (self.next + self.interval).max(now);
        let card = served.card.observe()?;
        let at = self.start.elapsed();
        let network = served.network.map(warpline_sim::Connections::view);
        let (connections, listeners) = network.unwrap_or_default();
        Ok(Some(self.watcher.see(Snapshot {
            at,
            host: served.service.has_host(),
            card,
            connections,
            listeners,
        })))
    }

    /// Time until there is something to do.
    fn pause(&self) -> Duration {
        self.next
            .saturating_duration_since(Instant::now())
            .min(LOOK)
    }

    fn print(mut self, served: &mut Served<'_>) -> Result<(), Error> {
        while !served.is_over() {
            if let Some(report) = self.report(served)? {
                show(&format!("{}\n", serde_json::to_string(&report)?))?;
            }
            thread::sleep(self.pause());
        }
        Ok(())
    }

    fn draw(mut self, served: &mut Served<'_>, title: &str) -> Result<(), Error> {
        let mut screen = Screen::enter().map_err(Error::View)?;
        let mut controls = Controls::default();
        let mut shown: Option<Report> = None;
        let mut log = Vec::new();
        let mut stale = false;
        while !served.is_over() {
            let report = self.report(served)?;
            if !controls.paused
                && let Some(report) = report
            {
                shown = Some(report);
                stale = true;
            }
            let lines = log::last(LOG);
            stale |= lines != log;
            log = lines;
            if screen.is_lost() {
                let panicked = std::io::Error::other("a thread of the card has panicked");
                return Err(Error::View(panicked));
            }
            let Some(report) = &shown else {
                continue;
            };
            let view = View {
                title,
                report,
                log: &log,
                controls,
            };
            if std::mem::take(&mut stale) {
                screen.draw(view).map_err(Error::View)?;
            }
            match screen.input(self.pause()).map_err(Error::View)? {
                Some(Input::Key(key)) => controls.press(key, view.lines()),
                Some(Input::Other) => {}
                None => continue,
            }
            if controls.quit {
                return Ok(());
            }
            stale = true;
        }
        Ok(())
    }
}

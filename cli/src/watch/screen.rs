//! The terminal, while a view has it: raw mode, the other screen, no cursor. It is given back on every way out.
//!
//! ```text
//!  enter ─► draw, key … ─┬─ dropped ───────────────────────────► given back
//!                        └─ a thread panics ─► hook: given back ─► the panic's message, on the usual screen
//! ```
//!
//! A process that is killed by a signal that it does not catch, such as SIGKILL, leaves the terminal as it is; `reset` mends it.

use std::io::{self, Stdout, stdout};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event, KeyEvent};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use crate::watch::view::View;

/// The terminal is in use.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// A thread has panicked, and the terminal was given back.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// The terminal of this process.
#[derive(Debug)]
#[must_use = "dropping it gives the terminal back"]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

/// What the terminal has reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A key.
    Key(KeyEvent),
    /// Something else, for instance another size: draw again.
    Other,
}

/// Restores the terminal, once. Write errors are ignored: there is no place left to report them.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(stdout(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// A message of a panic must be readable, and the shell behind it usable.
fn hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if TAKEN.load(Ordering::SeqCst) {
                PANICKED.store(true, Ordering::SeqCst);
            }
            give_back();
            before(info);
        }));
    });
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Standard output is no terminal, or the system refuses.
    pub fn enter() -> io::Result<Self> {
        hook();
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        // From here on, an error gives it back. `Terminal::clear` would ask where the cursor is, which not every terminal answers.
        let entered = execute!(stdout(), EnterAlternateScreen, Clear(ClearType::All), Hide)
            .and_then(|()| Terminal::new(CrosstermBackend::new(stdout())))
            .map(|terminal| Self { terminal });
        entered.inspect_err(|_| give_back())
    }

    /// Whether a thread has panicked since. The terminal was given back then: nothing is to be drawn.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        PANICKED.load(Ordering::SeqCst)
    }

    /// Draws a view.
    ///
    /// # Errors
    /// Those of the terminal.
    pub fn draw(&mut self, view: View<'_>) -> io::Result<()> {
        let drawn = self
            .terminal
            .draw(|frame| frame.render_widget(view, frame.area()));
        drawn.map(drop)
    }

    /// Waits for something from the terminal, at most for `timeout`.
    ///
    /// # Errors
    /// Those of the terminal.
    pub fn input(&self, timeout: Duration) -> io::Result<Option<Input>> {
        if !event::poll(timeout)? {
            return Ok(None);
        }
        Ok(Some(match event::read()? {
            Event::Key(key) => Input::Key(key),
            _ => Input::Other,
        }))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

//! The last lines of the log, while the terminal shows a view instead.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// Lines that are kept.
const LINES: usize = 100;

static LOG: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

fn with<T>(act: impl FnOnce(&mut VecDeque<String>) -> T) -> T {
    act(&mut LOG.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Takes an event of the log in each write.
#[derive(Debug, Default)]
pub struct Lines;

impl Write for Lines {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(octets);
        with(|log| {
            for line in text.lines().filter(|line| !line.trim().is_empty()) {
                // what comes from a file or a peer must not move the cursor
                let line = line.chars().filter(|c| !c.is_control());
                log.push_back(line.collect::<String>().trim().to_owned());
            }
            let old = log.len().saturating_sub(LINES);
            log.drain(..old);
        });
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The last `count` lines, the newest one last.
#[must_use]
pub fn last(count: usize) -> Vec<String> {
    with(|log| {
        let from = log.len().saturating_sub(count);
        log.iter().skip(from).cloned().collect()
    })
}

/// Takes all lines.
#[must_use]
pub fn take() -> Vec<String> {
    with(|log| log.drain(..).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_are_kept() {
        for number in 0..LINES + 5 {
            let event = format!("  INFO line \x1b[2J{number}\n\n");
            Lines.write_all(event.as_bytes()).unwrap();
        }
        assert_eq!(last(2), ["INFO line [2J103", "INFO line [2J104"]);
        assert_eq!(take().len(), LINES);
        assert!(last(2).is_empty());
    }
}

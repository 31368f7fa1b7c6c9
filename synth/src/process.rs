//! Runs a tool, with its output in a log.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, quoted};
use crate::folder_lock::share;

/// Interval at which a running tool is polled.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Runs a tool in `folder`, with its output in the file `log` there. File names are relative, so the same run writes the same text
/// in any folder.
pub(crate) fn call(
    program: &'static str,
    command: &mut Command,
    folder: &Path,
    log: &str,
) -> Result<(), Error> {
    call_within(program, command, folder, log, None)
}

/// As [`call`], and kills the tool after `patience`.
pub(crate) fn call_within(
    program: &'static str,
    command: &mut Command,
    folder: &Path,
    log: &str,
    patience: Option<Duration>,
) -> Result<(), Error> {
    let log = folder.join(log);
    let out = File::create(&log).map_err(Error::at(&log))?;
    let err = out.try_clone().map_err(Error::at(&log))?;
    command
        .current_dir(folder)
        .stdin(share(folder)?)
        .stdout(out)
        .stderr(err);
    let child = command.spawn();
    let mut child = child.map_err(Error::start(command.get_program()))?;
    let end = patience.map(|patience| Instant::now() + patience);
    let status = loop {
        let ended = match end {
            None => child.wait().map(Some),
            Some(_) => child.try_wait(),
        };
        match ended.map_err(Error::at(&log))? {
            Some(status) => break status,
            None if end.is_some_and(|end| Instant::now() >= end) => {
                // fails when it has just ended
                let _ = child.kill();
                child.wait().map_err(Error::at(&log))?;
                let seconds = patience.unwrap_or_default().as_secs();
                return Err(Error::Slow {
                    program,
                    seconds,
                    log,
                });
            }
            None => thread::sleep(LOOK_AGAIN),
        }
    };
    if status.success() {
        return Ok(());
    }
    let text = fs::read(&log).map_err(Error::at(&log))?;
    let text = String::from_utf8_lossy(&text);
    let error = text.lines().find(|line| line.contains("ERROR"));
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    let reason = match (error, last) {
        (Some(error), _) => quoted(error),
        // the status tells more than a last line that may be a warning
        (None, Some(last)) => format!("{status}, said last: {}", quoted(last)),
        (None, None) => status.to_string(),
    };
    Err(Error::Tool {
        program,
        reason,
        log,
    })
}

//! One process at a time works in a folder: it locks a file there, and so does every tool that it starts.
//!
//! The file is the tool's standard input, so a tool that outlives a killed `warpline` still holds the lock.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::error::Error;

/// Name of the file.
pub(crate) const FILE: &str = "in-use";

fn open(folder: &Path) -> Result<File, Error> {
    let path = folder.join(FILE);
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path);
    file.map_err(Error::at(path))
}

/// Locks `folder` until the file is closed.
///
/// # Errors
/// [`Error::InUse`] when another process holds the lock, [`Error::File`].
pub(crate) fn acquire(folder: &Path) -> Result<File, Error> {
    let file = open(folder)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Error::InUse {
                folder: folder.into(),
            });
        }
        Err(TryLockError::Error(error)) => return Err(Error::at(folder)(error)),
    }
    // shared with the tools that this process starts
    file.lock_shared().map_err(Error::at(folder))?;
    Ok(file)
}

/// The lock for a tool, as its standard input; the file is empty.
///
/// # Errors
/// [`Error::File`].
pub(crate) fn share(folder: &Path) -> Result<File, Error> {
    let file = open(folder)?;
    file.lock_shared().map_err(Error::at(folder))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn a_folder_is_locked_until_its_last_tool_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let first = acquire(folder).unwrap();
        assert!(matches!(acquire(folder), Err(Error::InUse { .. })));
        let mut orphan = Command::new("sleep")
            .arg("600")
            .stdin(share(folder).unwrap())
            .spawn()
            .unwrap();
        drop(first);
        assert!(matches!(acquire(folder), Err(Error::InUse { .. })));
        orphan.kill().unwrap();
        orphan.wait().unwrap();
        // a process that another test is starting holds copies of this one's files until it executes its program
        let end = Instant::now() + Duration::from_secs(60);
        while let Err(error) = acquire(folder) {
            assert!(Instant::now() < end, "{error}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

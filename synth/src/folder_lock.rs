//! One at a time in a folder: a lock on a file in it, which every tool that is started there holds as well.
//!
//! A tool has the file as its standard input, so what a killed `warpline` has left running still holds the folder.

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

/// Takes a folder for as long as the file is open.
///
/// # Errors
/// [`Error::InUse`] when somebody else has it, [`Error::File`].
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
    // with the tools that are started here
    file.lock_shared().map_err(Error::at(folder))?;
    Ok(file)
}

/// The same for a tool, as its standard input: nothing is in it.
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

    #[test]
    fn a_folder_is_taken_until_its_last_tool_has_ended() {
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
        acquire(folder).unwrap();
    }
}

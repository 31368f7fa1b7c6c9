//! Files that a command writes behind minutes or hours of work: asked for first, replaced as a whole.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf, absolute};

use tempfile::NamedTempFile;

use crate::Error;

/// Checks that there can be a file at `path`, and makes its folder. What it holds stays, and where there was none there is
/// none: a command that fails leaves no empty file behind.
pub(super) fn writable(path: &Path) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::write(folder))?;
    }
    // opening a pipe waits for who reads it
    if fs::metadata(path).is_ok_and(|there| there.file_type().is_fifo()) {
        let pipe = io::Error::new(io::ErrorKind::InvalidInput, "a pipe, give a file");
        return Err(Error::write(path)(pipe));
    }
    let new = fs::symlink_metadata(path).is_err();
    let file = File::options().append(true).create(true).open(path);
    file.map_err(Error::write(path))?;
    match new {
        true => fs::remove_file(path).map_err(Error::write(path)),
        false => Ok(()),
    }
}

/// What a command reads or makes elsewhere is not written over.
pub(super) fn apart(path: &Path, others: &[PathBuf]) -> Result<(), Error> {
    let at = |path: &Path| fs::canonicalize(path).or_else(|_| absolute(path)).ok();
    match others.iter().any(|other| at(other) == at(path)) {
        true => Err(Error::Taken { path: path.into() }),
        false => Ok(()),
    }
}

/// Writes to a path that is [`writable`]; if that fails, what it held is still there.
pub(super) fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    let replaced = match fs::symlink_metadata(path) {
        Ok(file) if file.is_file() => replace(path, &file, text),
        Ok(_) => fs::write(path, text), // a terminal, a link: stays what it is
        // with the rights that new files have; half of it is no report
        Err(_) => fs::write(path, text).inspect_err(|_| drop(fs::remove_file(path))),
    };
    replaced.map_err(Error::write(path))
}

/// Puts a whole new file in the place of the old one.
fn replace(path: &Path, old: &Metadata, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let mut new = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(old.permissions())?;
    new.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_holds_stays_until_all_of_the_new_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        writable(&path).unwrap();
        assert!(!path.exists());
        write_text(&path, "first").unwrap();
        writable(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        // Who has the old file open sees no half of a new one.
        let old = File::open(&path).unwrap();
        write_text(&path, "second").unwrap();
        assert_eq!(io::read_to_string(old).unwrap(), "first");
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let full = write_text(Path::new("/dev/full"), "third").unwrap_err();
        assert!(full.to_string().starts_with("/dev/full: cannot write"));
        assert!(writable(folder.path()).is_err());
    }
}

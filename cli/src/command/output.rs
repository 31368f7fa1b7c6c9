//! Files that a command writes behind minutes or hours of work: asked for first, replaced as a whole.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf, absolute};

use tempfile::{Builder, TempPath};

use crate::Error;

/// Checks that there can be a file at `path`, and makes its folder. What it holds stays, and where there was none there is
/// none: a command that fails leaves no empty file behind, here or where a link leads.
pub(super) fn writable(path: &Path) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::write(folder))?;
    }
    let refused = |what| Error::write(path)(io::Error::new(io::ErrorKind::InvalidInput, what));
    let new = match fs::metadata(path) {
        // opening it waits for who reads it
        Ok(there) if there.file_type().is_fifo() => return Err(refused("a pipe, give a file")),
        Ok(_) => false,
        Err(_) if path.is_symlink() => {
            return Err(refused("a link to what is not there, give a file"));
        }
        Err(_) => true,
    };
    let file = File::options().append(true).create(true).open(path);
    file.map_err(Error::write(path))?;
    match new {
        true => fs::remove_file(path).map_err(Error::write(path)),
        false => Ok(()),
    }
}

/// Where a path leads: links are followed as far as there is something.
pub(super) fn real(path: &Path) -> PathBuf {
    let whole = absolute(path).unwrap_or_else(|_| path.into());
    let mut rest = Vec::new();
    for there in whole.ancestors() {
        if let Ok(real) = fs::canonicalize(there) {
            return rest.iter().rev().fold(real, |real, name| real.join(name));
        }
        rest.extend(there.file_name());
    }
    whole
}

/// What a command reads or makes elsewhere is not written over.
pub(super) fn apart(path: &Path, others: &[PathBuf]) -> Result<(), Error> {
    match others.iter().any(|other| real(other) == real(path)) {
        true => Err(Error::Taken { path: path.into() }),
        false => Ok(()),
    }
}

/// Writes to a path that is [`writable`]; if that fails, what it held is still there.
pub(super) fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    write_texts(&[(path.into(), text)])
}

/// Writes all of them, to paths that are [`writable`]; if one has no room, each holds what it held.
pub(super) fn write_texts<T: AsRef<str>>(files: &[(PathBuf, T)]) -> Result<(), Error> {
    let mut whole = Vec::new();
    for (path, text) in files {
        let new = New::beside(path, text.as_ref()).map_err(Error::write(path))?;
        whole.push((path, new));
    }
    for (path, new) in whole {
        new.put().map_err(Error::write(path))?;
    }
    Ok(())
}

/// What is to be written.
enum New<'t> {
    /// A whole file beside the one whose place it takes.
    File(TempPath, PathBuf),
    /// Straight to what is no file, a terminal or a device, or has none beside it.
    Text(&'t str, &'t Path),
}

impl<'t> New<'t> {
    fn beside(path: &'t Path, text: &'t str) -> io::Result<Self> {
        let old = fs::metadata(path);
        if old.as_ref().is_ok_and(|there| !there.is_file()) {
            return Ok(Self::Text(text, path));
        }
        let to = real(path); // a link stays one
        let folder = to.parent().unwrap_or(&to);
        // the rights that new files have, where there was none
        let rights = Permissions::from_mode(0o666);
        let mut new = match Builder::new().permissions(rights).tempfile_in(folder) {
            // the old file can be written, its folder cannot
            Err(error) if old.is_ok() && error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(Self::Text(text, path));
            }
            made => made?,
        };
        new.write_all(text.as_bytes())?;
        if let Ok(old) = old {
            new.as_file().set_permissions(old.permissions())?;
        }
        Ok(Self::File(new.into_temp_path(), to))
    }

    fn put(self) -> io::Result<()> {
        match self {
            Self::File(new, to) => Ok(new.persist(to)?),
            Self::Text(text, path) => fs::write(path, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

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
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        writable(&link).unwrap();
        let old = File::open(&path).unwrap();
        write_text(&link, "fourth").unwrap();
        assert_eq!(io::read_to_string(old).unwrap(), "second");
        assert_eq!(fs::read_to_string(&path).unwrap(), "fourth");
        assert!(link.is_symlink());
        fs::remove_file(&path).unwrap();
        let nowhere = writable(&link).unwrap_err().to_string();
        assert!(nowhere.ends_with("a link to what is not there, give a file"));
        assert!(!path.exists());
        assert!(writable(folder.path()).is_err());
    }
}

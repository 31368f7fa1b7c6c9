//! Files that a command writes after minutes or hours of work: checked first, replaced as a whole.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf, absolute};

use tempfile::{Builder, TempPath};

use crate::Error;

/// Checks that a file at `path` can be written, and creates its folder. An existing file is unchanged, and no file is
/// created: a command that fails later leaves no empty file, here or at the target of a link.
pub(super) fn writable(path: &Path) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::write(folder))?;
    }
    let refused = |what| Error::write(path)(io::Error::new(io::ErrorKind::InvalidInput, what));
    let new = match fs::metadata(path) {
        // opening a pipe blocks until it has a reader
        Ok(found) if found.file_type().is_fifo() => return Err(refused("a pipe, give a file")),
        Ok(_) => false,
        Err(_) if path.is_symlink() => {
            return Err(refused("a link without a target, give a file"));
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

/// The absolute path without links, as far as it exists.
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

/// Checks that `path` is none of `others`, which the command reads or writes for another purpose.
pub(super) fn apart(path: &Path, others: &[PathBuf]) -> Result<(), Error> {
    // One file may have several names: hard links.
    let file = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let own = file(path);
    let same = |other: &PathBuf| real(other) == real(path) || own.is_some() && file(other) == own;
    match others.iter().any(same) {
        true => Err(Error::Taken { path: path.into() }),
        false => Ok(()),
    }
}

/// Writes to a path that is [`writable`]; if that fails, the old content is kept.
pub(super) fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    write_texts(&[(path.into(), text)])
}

/// The same for octets.
pub(super) fn write_octets(path: &Path, octets: &[u8]) -> Result<(), Error> {
    write_texts(&[(path.into(), octets)])
}

/// Writes all files, to paths that are [`writable`]; if there is no room for one, all keep their old content.
pub(super) fn write_texts<T: AsRef<[u8]>>(files: &[(PathBuf, T)]) -> Result<(), Error> {
    let mut whole = Vec::new();
    for (path, octets) in files {
        let new = New::beside(path, octets.as_ref()).map_err(Error::write(path))?;
        whole.push((path, new));
    }
    for (path, new) in whole {
        new.put().map_err(Error::write(path))?;
    }
    Ok(())
}

/// New content, not yet at its path.
enum New<'o> {
    /// A complete file in the folder of the one that it will replace.
    File(TempPath, PathBuf),
    /// Octets to write directly: the path is a terminal or a device, or its folder cannot be written.
    Octets(&'o [u8], &'o Path),
}

impl<'o> New<'o> {
    fn beside(path: &'o Path, octets: &'o [u8]) -> io::Result<Self> {
        let old = fs::metadata(path);
        if old.as_ref().is_ok_and(|there| !there.is_file()) {
            return Ok(Self::Octets(octets, path));
        }
        let to = real(path); // a link stays one
        let folder = to.parent().unwrap_or(&to);
        // the permissions of a new file, unless it replaces one
        let rights = Permissions::from_mode(0o666);
        let mut new = match Builder::new().permissions(rights).tempfile_in(folder) {
            // the old file is writable, but its folder is not
            Err(error) if old.is_ok() && error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(Self::Octets(octets, path));
            }
            made => made?,
        };
        new.write_all(octets)?;
        if let Ok(old) = old {
            new.as_file().set_permissions(old.permissions())?;
        }
        Ok(Self::File(new.into_temp_path(), to))
    }

    fn put(self) -> io::Result<()> {
        match self {
            Self::File(new, to) => Ok(new.persist(to)?),
            Self::Octets(octets, path) => fs::write(path, octets),
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
        // A reader that has the old file open sees all of it.
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
        assert!(nowhere.ends_with("a link without a target, give a file"));
        assert!(!path.exists());
        assert!(writable(folder.path()).is_err());
    }
}

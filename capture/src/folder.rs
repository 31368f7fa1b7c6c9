//! Files of a capture directory: each one may be absent, and none may be larger than this crate holds in memory.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crate::error::Error;

/// Octets of the largest file that is held in memory; memory images count unpacked.
pub(crate) const MAX_FILE: u64 = 1 << 30;

/// Opens a file, but no pipe: opening one blocks until a writer comes.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.file_type().is_fifo() {
        let pipe = "a pipe, give a file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, pipe));
    }
    File::open(path)
}

/// Opens a file that may be absent and reads it with `read`.
pub(crate) fn optional<T>(
    path: &Path,
    read: impl FnOnce(&Path, File) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    match open(path) {
        Ok(file) => read(path, file).map(Some),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::read(path, source)),
    }
}

/// Reads a file of at most [`MAX_FILE`] octets.
pub(crate) fn read_all(path: &Path, file: impl Read) -> Result<Vec<u8>, Error> {
    read_at_most(MAX_FILE, path, file)
}

/// Reads a file of at most `limit` octets: a device like /dev/zero has no end.
fn read_at_most(limit: u64, path: &Path, file: impl Read) -> Result<Vec<u8>, Error> {
    let mut octets = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut octets)
        .map_err(|source| Error::read(path, source))?;
    if octets.len() as u64 > limit {
        let path = path.into();
        return Err(Error::FileTooLarge { path, limit });
    }
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_end_are_refused() {
        let path = Path::new("zero");
        let read = |octets| read_at_most(100, path, io::repeat(0).take(octets));
        assert_eq!(read(100).unwrap().len(), 100);
        for octets in [101, u64::MAX] {
            let error = read(octets).unwrap_err();
            let text =
                "zero: more than 100 octets, which is more than this program holds in memory";
            assert_eq!(error.to_string(), text);
        }
    }
}

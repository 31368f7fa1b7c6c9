//! What a tool has made is not made again: a mark beside it says of what it was made.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::Error;

/// The file at `path` holds `text` and nothing else.
pub(crate) fn holds(path: &Path, text: &str) -> bool {
    fs::read(path).is_ok_and(|had| had == text.as_bytes())
}

/// Calls `make`, unless the file at `mark` holds `of` and what it marks is `there`. The mark is removed first and written last:
/// what is made while a call is interrupted is marked by none.
///
/// # Errors
/// [`Error::File`] of the mark, or what `make` says.
pub(crate) fn once(
    mark: &Path,
    of: &str,
    there: bool,
    make: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    if there && holds(mark, of) {
        return Ok(());
    }
    match fs::remove_file(mark) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::at(mark)(error)),
        _ => {}
    }
    make()?;
    fs::write(mark, of).map_err(Error::at(mark))
}

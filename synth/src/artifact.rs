//! What a tool has made is not made again: a mark beside it says of what it was made.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::Error;

/// The file at `path` holds `text` and nothing else.
pub(crate) fn holds(path: &Path, text: &str) -> bool {
    fs::read(path).is_ok_and(|had| had == text.as_bytes())
}

/// Gives what `read` finds, and calls `make` before, unless the file at `mark` holds `of` and what it marks is `there`. The mark
/// is removed first and written last: what is made while a call is interrupted is marked by none. What cannot be read is made anew.
///
/// # Errors
/// [`Error::File`] of the mark, or what `make` and `read` say.
pub(crate) fn make_once<T>(
    mark: &Path,
    of: &str,
    there: bool,
    make: impl FnOnce() -> Result<(), Error>,
    read: impl Fn() -> Result<T, Error>,
) -> Result<T, Error> {
    if there
        && holds(mark, of)
        && let Ok(made) = read()
    {
        return Ok(made);
    }
    match fs::remove_file(mark) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::at(mark)(error)),
        _ => {}
    }
    make()?;
    let made = read()?;
    fs::write(mark, of).map_err(Error::at(mark))?;
    Ok(made)
}

//! Artifacts are not made twice: a mark beside each one records its inputs.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::Error;

/// Returns what `read` finds. Calls `make` first, unless the artifact is `there` and its `mark` holds `inputs`. The mark is removed
/// before `make` and written after `read`, so an interrupted call leaves no mark. An artifact that cannot be read is made again.
///
/// # Errors
/// [`Error::File`] of the mark, or an error of `make` or `read`.
pub(crate) fn make_once<T>(
    mark: &Path,
    inputs: &str,
    there: bool,
    make: impl FnOnce() -> Result<(), Error>,
    read: impl Fn() -> Result<T, Error>,
) -> Result<T, Error> {
    if there
        && fs::read(mark).is_ok_and(|had| had == inputs.as_bytes())
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
    fs::write(mark, inputs).map_err(Error::at(mark))?;
    Ok(made)
}

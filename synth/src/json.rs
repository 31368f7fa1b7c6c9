//! JSON that a tool wrote.

use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::Error;

/// Reads the file at `path`.
///
/// # Errors
/// [`Error::Output`] when it cannot be read, or holds something else.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string());
    let text = text.map_err(Error::output(path))?;
    // yosys begins with a comment line
    let start = text.find('{').unwrap_or_default();
    serde_json::from_str(&text[start..])
        .map_err(|error| error.to_string())
        .map_err(Error::output(path))
}

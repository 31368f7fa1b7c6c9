//! The content-addressed cache: a directory per key, which exists complete or not at all.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use crate::{
    error::{Error, at},
    tools::search_folders,
};

/// `WARPLINE_CACHE`, else `verilate-cache` in Cargo's target directory, else in the user's cache folder.
pub(crate) fn folder() -> Result<PathBuf, Error> {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let in_target = || {
        set("CARGO_TARGET_DIR")
            .or_else(|| {
                search_folders()
                    .find(|f| f.join("Cargo.lock").is_file())
                    .map(|f| f.join("target"))
            })
            .map(|target| target.join("verilate-cache"))
    };
    let of_user = || {
        set("XDG_CACHE_HOME")
            .or_else(|| set("HOME").map(|home| home.join(".cache")))
            .unwrap_or_else(env::temp_dir)
            .join("warpline-verilate")
    };
    let folder = set("WARPLINE_CACHE")
        .or_else(in_target)
        .unwrap_or_else(of_user);
    std::path::absolute(&folder).map_err(at(folder))
}

/// Digest of a list of strings; the lengths are included, so that ("ab","c") and ("a","bc") differ.
pub(crate) fn key<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize()
        .iter()
        .take(16)
        .map(|octet| format!("{octet:02x}"))
        .collect()
}

/// Makes `folder` by `make`, once among all threads and processes; returns whether this call made it.
///
/// `make` works in a temporary directory, which gets the final name only after success: no incomplete build is ever visible,
/// and a failed or killed one leaves nothing valid.
pub(crate) fn once(
    folder: &Path,
    make: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<bool, Error> {
    if folder.is_dir() {
        return Ok(false);
    }
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(at(parent))?;
    }
    let lock_path = folder.with_extension("lock");
    let lock = fs::File::create(&lock_path).map_err(at(&lock_path))?;
    lock.lock().map_err(at(&lock_path))?; // until `lock` is closed, or this process ends
    if folder.is_dir() {
        return Ok(false);
    }
    let unfinished = folder.with_extension("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(at(&unfinished))?; // left by a process that was killed
    }
    fs::create_dir(&unfinished).map_err(at(&unfinished))?;
    let result =
        make(&unfinished).and_then(|()| fs::rename(&unfinished, folder).map_err(at(folder)));
    if result.is_err() {
        let _ = fs::remove_dir_all(&unfinished); // report the failure, not this error
    }
    result.map(|()| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_depends_on_where_parts_end() {
        assert_ne!(key(["ab", "c"]), key(["a", "bc"]));
        assert_eq!(key(["ab", "c"]), key(["ab", "c"]));
    }

    #[test]
    fn failure_leaves_nothing_and_success_happens_once() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("thing");
        let fail = once(&folder, |f| {
            fs::write(f.join("half"), "").unwrap();
            Err(Error::NotTraced)
        });
        assert!(matches!(fail, Err(Error::NotTraced)));
        assert!(!folder.exists() && !folder.with_extension("unfinished").exists());

        fs::create_dir(folder.with_extension("unfinished")).unwrap(); // as a killed process leaves it
        fs::write(folder.with_extension("unfinished").join("old"), "").unwrap();
        let good = || once(&folder, |f| fs::write(f.join("whole"), "").map_err(at(f)));
        assert!(good().unwrap());
        assert!(!good().unwrap());
        assert!(folder.join("whole").is_file() && !folder.join("old").exists());
    }
}

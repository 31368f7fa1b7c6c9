//! The function table of a compiled model: the Rust side of `shim.cpp`.

use std::{
    collections::HashMap,
    ffi::{c_char, c_void},
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use crate::error::Error;

/// One simulation, owned by C++.
#[repr(C)]
pub(crate) struct Sim {
    _opaque: [u8; 0],
}

/// Mirrors `Port` in `shim.cpp`.
#[repr(C)]
pub(crate) struct RawPort {
    pub(crate) name: *const c_char,
    pub(crate) direction: u32,
    pub(crate) width: u32,
    pub(crate) data: *mut c_void,
}

/// Mirrors `StopView` in `shim.cpp`.
#[repr(C)]
pub(crate) struct StopView {
    pub(crate) file: *const c_char,
    pub(crate) scope: *const c_char,
    pub(crate) message: *const c_char,
    pub(crate) line: u32,
    pub(crate) kind: u32,
}

/// `StopView::kind` of an error that Verilator's runtime found.
pub(crate) const STOP_RUNTIME: u32 = 2;

/// Results of `Api::eval`; any other is "stopped".
pub(crate) const RUNNING: u32 = 0;
pub(crate) const FINISHED: u32 = 1;

/// Mirrors `Api` in `shim.cpp`, which says what each function does.
#[repr(C)]
pub(crate) struct Api {
    pub(crate) create: unsafe extern "C" fn(i32) -> *mut Sim,
    pub(crate) destroy: unsafe extern "C" fn(*mut Sim),
    pub(crate) ports: unsafe extern "C" fn(*mut Sim, *mut *const RawPort) -> usize,
    pub(crate) eval: unsafe extern "C" fn(*mut Sim) -> u32,
    pub(crate) stop_reason: unsafe extern "C" fn(*mut Sim, *mut StopView),
    pub(crate) output: unsafe extern "C" fn(*mut Sim, *mut *const c_char) -> usize,
    pub(crate) clear_output: unsafe extern "C" fn(*mut Sim),
    pub(crate) write_error: unsafe extern "C" fn(*mut Sim) -> *const c_char,
    pub(crate) time: unsafe extern "C" fn(*mut Sim) -> u64,
    pub(crate) advance: unsafe extern "C" fn(*mut Sim, u64),
    pub(crate) trace_open: unsafe extern "C" fn(*mut Sim, *const c_char) -> u32,
    pub(crate) trace_close: unsafe extern "C" fn(*mut Sim),
    pub(crate) coverage_write: unsafe extern "C" fn(*mut Sim, *const c_char) -> u32,
}

/// Mirrors `StateApi` in `state.cpp`.
#[repr(C)]
pub(crate) struct StateApi {
    pub(crate) size: unsafe extern "C" fn(*mut Sim) -> usize,
    pub(crate) keep: unsafe extern "C" fn(*mut Sim, *mut u8),
    pub(crate) same: unsafe extern "C" fn(*mut Sim, *const u8) -> u32,
}

/// The tables of a shared object.
#[derive(Clone, Copy)]
pub(crate) struct Loaded {
    pub(crate) api: &'static Api,
    /// In objects whose state can be compared.
    pub(crate) state: Option<&'static StateApi>,
}

/// Checks that a shared object is complete. Using a truncated one, after a full disk or an interrupted copy, would end the
/// process with SIGBUS. The linker writes the section table last; the header has its offset (ELF-64 §4).
fn whole(path: &Path) -> Result<(), String> {
    let (mut header, mut file) = ([0_u8; 64], File::open(path).map_err(|e| e.to_string())?);
    file.read_exact(&mut header).map_err(|e| e.to_string())?;
    let number = |at: usize, octets: usize| {
        let octets = header[at..at + octets].iter().rev();
        octets.fold(0_u64, |number, &octet| number << 8 | u64::from(octet))
    };
    let (table, size, count) = (number(40, 8), number(58, 2), number(60, 2));
    let end = table.saturating_add(size * count);
    let found = file.metadata().map_err(|e| e.to_string())?.len();
    match found < end {
        true => Err(format!("{found} octets of {end}")),
        false => Ok(()),
    }
}

/// Loads a shared object that this crate built, once per process, and never unloads it: thread-local and static C++ objects
/// live in it, and threads may end after the last model is gone.
pub(crate) fn load(path: &Path, state: bool) -> Result<Loaded, Error> {
    static LOADED: Mutex<Option<HashMap<PathBuf, Loaded>>> = Mutex::new(None);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let loaded = loaded.get_or_insert_default();
    if let Some(known) = loaded.get(path) {
        return Ok(*known);
    }
    let failed = |e: libloading::Error| Error::Load {
        path: path.into(),
        reason: e.to_string(),
    };
    if let Err(reason) = whole(path) {
        return Err(Error::Load {
            path: path.into(),
            reason,
        });
    }
    // SAFETY: this crate built the file, and it is complete; its static initialisers are Verilator's, which touch only their
    // own data.
    let library = unsafe { libloading::Library::new(path) }.map_err(failed)?;
    let library: &'static libloading::Library = Box::leak(Box::new(library));
    // SAFETY: shim.cpp defines this symbol as a constant of the type that `Api` mirrors, and the cache key contains the text
    // of shim.cpp, so this path never holds an object of another version.
    let api: libloading::Symbol<'static, *const Api> =
        unsafe { library.get(b"warpline_verilate_api") }.map_err(failed)?;
    // SAFETY: a constant in a library that is never unloaded.
    let api: &'static Api = unsafe { &**api };
    let state = match state {
        false => None,
        true => {
            // SAFETY: as above, for state.cpp and `StateApi`.
            let state: libloading::Symbol<'static, *const StateApi> =
                unsafe { library.get(b"warpline_verilate_state") }.map_err(failed)?;
            // SAFETY: as above.
            Some(unsafe { &**state })
        }
    };
    let known = Loaded { api, state };
    loaded.insert(path.into(), known);
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_was_cut_is_told_from_a_whole_one() {
        let program = std::fs::read("/proc/self/exe").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.so");
        let of = |octets: &[u8]| {
            std::fs::write(&path, octets).unwrap();
            whole(&path)
        };
        assert_eq!(of(&program), Ok(()));
        for cut in [0, 63, 64, program.len() / 2, program.len() - 1] {
            assert!(of(&program[..cut]).is_err(), "{cut}");
            let loaded = load(&path, false).map(|_| ());
            assert!(matches!(loaded, Err(Error::Load { .. })), "{cut}");
        }
    }
}

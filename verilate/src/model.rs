//! An opened model: ports, evaluation, output, waveforms, coverage.
//!
//! ```text
//!   set(port, …) ─► eval() ─► get(port) ─► advance(time)          one half of a clock cycle
//!                     │                       └─► waveform
//!                     └─► Status, or why the model stopped
//! ```

use std::{
    cmp::Ordering,
    ffi::{CStr, CString, c_char, c_void},
    fmt,
    fs::File,
    io::Read,
    os::unix::{ffi::OsStrExt, fs::FileTypeExt},
    path::{Path, PathBuf},
    ptr::{self, NonNull},
    slice,
    sync::atomic::{self, AtomicU64},
};

use crate::{
    error::{Error, at},
    ffi::{self, Api, Loaded, Sim, StateApi, StopView},
    stopped::Stopped,
    trace::Trace,
};

/// Direction of a port, seen from the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Driven by the caller.
    Input = 0,
    /// Driven by the model.
    Output = 1,
    /// Both; the model's value overwrites the caller's when it drives.
    InOut = 2,
}

/// Description of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// Name in SystemVerilog.
    pub name: String,
    /// Direction.
    pub direction: Direction,
    /// Width in bits, at least 1.
    pub width: u32,
}

/// A port of one [`Model`], looked up once by name and then used in every cycle. Using it with another model panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    model: u64,
    index: usize,
}

/// Result of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The model runs.
    Running,
    /// The model has called `$finish`, in this evaluation or earlier.
    Finished,
}

/// A running simulation with its own context: time, random state, open files, coverage.
///
/// Widths and ownership are checked in every build. Misuse of a [`Port`] (another model's, an output driven, a value too wide)
/// is a programming error and panics, as an index out of bounds does.
///
/// A model may move between threads, and models on different threads run in parallel. Initial values depend only on the seed;
/// `$random` does not repeat when several models share a thread or process.
///
/// `final` blocks run when the model is dropped; their output is lost.
pub struct Model {
    id: u64,
    api: &'static Api,
    sim: NonNull<Sim>,
    slots: Box<[Slot]>,
    infos: Box<[PortInfo]>,
    tails: Box<[Tail]>,
    trace: Trace,
    /// File of the open trace.
    tracing: Option<PathBuf>,
    coverage: bool,
    state: Option<&'static StateApi>,
    /// The state that was stored last.
    kept: Vec<u8>,
    stopped: Option<Stopped>,
}

/// Storage of a port's value, by Verilator's classes.
#[derive(Clone, Copy)]
enum Storage {
    Bits8(NonNull<u8>),
    Bits16(NonNull<u16>),
    Bits32(NonNull<u32>),
    Bits64(NonNull<u64>),
    /// 32-bit words, least significant first.
    Words(NonNull<u32>, usize),
}

struct Slot {
    storage: Storage,
    /// Largest value of a narrow port; all ones for a wide one.
    max: u64,
    writable: bool,
}

/// Last word of a wide input whose width is not a multiple of 32.
struct Tail {
    word: NonNull<u32>,
    mask: u32,
}

// SAFETY: the pointers point to memory that this model alone owns. The C++ side is bound to no thread: the shim sets Verilator's
// thread-local context on every entry, and `&mut self` keeps entries from overlapping.
unsafe impl Send for Model {}

impl Model {
    pub(crate) fn load(
        object: &Path,
        seed: u32,
        trace: Trace,
        coverage: bool,
        state: bool,
    ) -> Result<Self, Error> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        let Loaded { api, state } = ffi::load(object, state)?;
        // Verilator accepts 1 to 2³¹-1; 0 means "a new seed each time".
        let seed = (seed % i32::MAX as u32 + 1) as i32;
        // SAFETY: `create` may be called at any time on any thread.
        let sim = unsafe { (api.create)(seed) };
        let failed = |reason: &str| Error::Load {
            path: object.into(),
            reason: reason.into(),
        };
        let sim = NonNull::new(sim).ok_or_else(|| failed("the model's constructor failed"))?;
        let mut model = Self {
            id: NEXT_ID.fetch_add(1, atomic::Ordering::Relaxed),
            api,
            sim,
            slots: Box::default(),
            infos: Box::default(),
            tails: Box::default(),
            trace,
            tracing: None,
            coverage,
            state,
            kept: Vec::new(),
            stopped: None,
        };
        model
            .read_ports()
            .ok_or_else(|| failed("its port list is not understood"))?;
        Ok(model)
    }

    fn read_ports(&mut self) -> Option<()> {
        let mut list = ptr::null();
        // SAFETY: `sim` is alive; `list` receives a pointer into it.
        let count = unsafe { (self.api.ports)(self.sim.as_ptr(), &mut list) };
        if count == 0 {
            return Some(());
        }
        // SAFETY: the shim returns `count` entries, which stay in place as long as the Sim.
        let list = unsafe { slice::from_raw_parts(list, count) };
        let (mut slots, mut infos, mut tails) = (Vec::new(), Vec::new(), Vec::new());
        for raw in list {
            let direction = match raw.direction {
                0 => Direction::Input,
                1 => Direction::Output,
                2 => Direction::InOut,
                _ => return None,
            };
            let (width, writable) = (raw.width, direction != Direction::Output);
            let storage = storage(raw.data, width)?;
            if let Storage::Words(first, count) = storage
                && width % 32 != 0
                && writable
            {
                // SAFETY: `count` words lie at `first`, and count is at least 1.
                let word = unsafe { first.add(count - 1) };
                tails.push(Tail {
                    word,
                    mask: (1 << (width % 32)) - 1,
                });
            }
            slots.push(Slot {
                storage,
                max: max(width),
                writable,
            });
            infos.push(PortInfo {
                name: text(raw.name),
                direction,
                width,
            });
        }
        (self.slots, self.infos, self.tails) = (slots.into(), infos.into(), tails.into());
        Some(())
    }

    /// The port of that name.
    ///
    /// # Errors
    /// [`Error::UnknownPort`], which lists all ports.
    pub fn port(&self, name: &str) -> Result<Port, Error> {
        let index = self.infos.iter().position(|info| info.name == name);
        index
            .map(|index| Port {
                model: self.id,
                index,
            })
            .ok_or_else(|| Error::UnknownPort {
                name: name.into(),
                known: self.infos.iter().map(|info| info.name.clone()).collect(),
            })
    }

    /// All ports with their descriptions.
    pub fn ports(&self) -> impl Iterator<Item = (Port, &PortInfo)> {
        self.infos.iter().enumerate().map(|(index, info)| {
            (
                Port {
                    model: self.id,
                    index,
                },
                info,
            )
        })
    }

    /// Name, direction and width of a port.
    ///
    /// # Panics
    /// When the port belongs to another model.
    #[track_caller]
    pub fn info(&self, port: Port) -> &PortInfo {
        self.slot(port);
        &self.infos[port.index]
    }

    /// Drives an input of up to 64 bits.
    ///
    /// # Panics
    /// When the port is wider than 64 bits, is an output, belongs to another model, or `value` does not fit its width.
    #[track_caller]
    #[inline]
    pub fn set(&mut self, port: Port, value: u64) {
        let slot = self.input(port);
        if value > slot.max {
            self.too_wide(port);
        }
        // SAFETY: the storage is this model's memory of exactly this type, which nothing else accesses during `&mut self`.
        // The casts lose nothing: value <= max.
        unsafe {
            match slot.storage {
                Storage::Bits8(at) => at.write(value as u8),
                Storage::Bits16(at) => at.write(value as u16),
                Storage::Bits32(at) => at.write(value as u32),
                Storage::Bits64(at) => at.write(value),
                Storage::Words(..) => self.not_narrow(port),
            }
        }
    }

    /// Value of a port of up to 64 bits; bits above its width are zero.
    ///
    /// # Panics
    /// When the port is wider than 64 bits or belongs to another model.
    #[track_caller]
    #[inline]
    pub fn get(&self, port: Port) -> u64 {
        // SAFETY: the storage is this model's memory of exactly this type; the model writes it only during `&mut self`.
        unsafe {
            match self.slot(port).storage {
                Storage::Bits8(at) => at.read().into(),
                Storage::Bits16(at) => at.read().into(),
                Storage::Bits32(at) => at.read().into(),
                Storage::Bits64(at) => at.read(),
                Storage::Words(..) => self.not_narrow(port),
            }
        }
    }

    /// Value of a port wider than 64 bits: `width.div_ceil(32)` words, least significant first.
    ///
    /// # Panics
    /// When the port has 64 bits or fewer, or belongs to another model.
    #[track_caller]
    #[inline]
    pub fn words(&self, port: Port) -> &[u32] {
        match self.slot(port).storage {
            // SAFETY: that number of initialised words lies there as long as the model lives; they change only during `&mut self`,
            // which the borrow in the result excludes.
            Storage::Words(first, count) => unsafe { slice::from_raw_parts(first.as_ptr(), count) },
            _ => self.not_wide(port),
        }
    }

    /// The words of an input wider than 64 bits, to be written in place: `width.div_ceil(32)`, least significant first. Bits
    /// above the width are cleared by the next [`eval`](Model::eval).
    ///
    /// # Panics
    /// When the port has 64 bits or fewer, is an output, or belongs to another model.
    #[track_caller]
    #[inline]
    pub fn words_mut(&mut self, port: Port) -> &mut [u32] {
        match self.input(port).storage {
            // SAFETY: as in `words`, and exclusive through `&mut self`.
            Storage::Words(first, count) => unsafe {
                slice::from_raw_parts_mut(first.as_ptr(), count)
            },
            _ => self.not_wide(port),
        }
    }

    /// Drives an input of any width from words, least significant first; missing words count as zero. For code that does not
    /// know the width.
    ///
    /// # Panics
    /// When the value does not fit the width, or the port is an output or another model's.
    #[track_caller]
    pub fn set_words(&mut self, port: Port, value: &[u32]) {
        let Storage::Words(_, count) = self.input(port).storage else {
            if value.iter().skip(2).any(|&word| word != 0) {
                self.too_wide(port);
            }
            let word = |i| u64::from(value.get(i).copied().unwrap_or(0));
            return self.set(port, word(1) << 32 | word(0));
        };
        let last = match self.infos[port.index].width % 32 {
            0 => u32::MAX,
            bits => (1 << bits) - 1,
        };
        let excess = |(i, &word): (usize, &u32)| match i.cmp(&(count - 1)) {
            Ordering::Less => false,
            Ordering::Equal => word > last,
            Ordering::Greater => word != 0,
        };
        if value.iter().enumerate().any(excess) {
            self.too_wide(port);
        }
        let to = self.words_mut(port);
        let given = value.len().min(to.len());
        to[..given].copy_from_slice(&value[..given]);
        to[given..].fill(0);
    }

    /// Value of a port of any width in words, least significant first. For code that does not know the width.
    ///
    /// # Panics
    /// When the port belongs to another model.
    #[track_caller]
    pub fn to_words(&self, port: Port) -> Vec<u32> {
        match self.slot(port).storage {
            Storage::Words(..) => self.words(port).to_vec(),
            Storage::Bits64(_) => vec![self.get(port) as u32, (self.get(port) >> 32) as u32],
            _ => vec![self.get(port) as u32],
        }
    }

    /// Lets the model settle after inputs have changed: combinational logic, and registers for each clock that changed.
    ///
    /// # Errors
    /// [`Error::Stopped`] when the design called `$stop`, `$fatal` or `$error`, an assertion failed, or the run-time library
    /// failed. The model stays stopped: its ports can be read, and trace and coverage written, but it cannot be evaluated.
    #[inline]
    pub fn eval(&mut self) -> Result<Status, Error> {
        if let Some(stopped) = &self.stopped {
            return Err(stopped.clone().into());
        }
        for tail in &self.tails {
            // SAFETY: this model's memory, exclusive through `&mut self`. Verilator requires inputs without bits above their
            // width; `words_mut` lets the caller write some.
            unsafe { *tail.word.as_ptr() &= tail.mask }
        }
        // SAFETY: `sim` is alive, every input is within its width, no other entry runs.
        match unsafe { (self.api.eval)(self.sim.as_ptr()) } {
            ffi::RUNNING => Ok(Status::Running),
            ffi::FINISHED => Ok(Status::Finished),
            _ => Err(self.note_stop()),
        }
    }

    #[cold]
    fn note_stop(&mut self) -> Error {
        let mut view = StopView {
            file: ptr::null(),
            scope: ptr::null(),
            message: ptr::null(),
            line: 0,
            kind: 0,
        };
        // SAFETY: `sim` is alive; the strings are copied before the next call.
        unsafe { (self.api.stop_reason)(self.sim.as_ptr(), &mut view) };
        let stopped = Stopped {
            file: text(view.file),
            line: view.line,
            scope: text(view.scope),
            message: text(view.message),
            runtime: view.kind == ffi::STOP_RUNTIME,
        };
        self.stopped.insert(stopped).clone().into()
    }

    /// Returns what `$display` and similar tasks have printed since the last call. It accumulates until then.
    pub fn take_output(&mut self) -> String {
        let mut data = ptr::null();
        // SAFETY: `sim` is alive; `data` receives a pointer that is valid until `clear_output`.
        let length = unsafe { (self.api.output)(self.sim.as_ptr(), &mut data) };
        if length == 0 {
            return String::new();
        }
        // SAFETY: the shim returns `length` octets.
        let octets = unsafe { slice::from_raw_parts(data.cast::<u8>(), length) };
        let text = String::from_utf8_lossy(octets).into_owned();
        // SAFETY: `sim` is alive; `octets` is not used again.
        unsafe { (self.api.clear_output)(self.sim.as_ptr()) };
        text
    }

    /// Stores the model's state: ports, registers and memories.
    ///
    /// # Panics
    /// When the model was built without [`comparable`](crate::Build::comparable).
    pub fn keep_state(&mut self) {
        let state = self.state.expect("the model was built as `comparable`");
        // SAFETY: `sim` is alive; `kept` has room for `size` octets.
        unsafe {
            self.kept.resize((state.size)(self.sim.as_ptr()), 0);
            (state.keep)(self.sim.as_ptr(), self.kept.as_mut_ptr());
        }
    }

    /// Whether the state equals the one that was stored last. If it does, and the inputs since then repeat, the model repeats
    /// too. Strings, queues, `$random` and `$time` are not compared.
    #[must_use]
    pub fn is_as_kept(&self) -> bool {
        // SAFETY: `sim` is alive; `kept` came from `keep`, or is empty and not read.
        self.state.is_some_and(|state| unsafe {
            !self.kept.is_empty() && (state.same)(self.sim.as_ptr(), self.kept.as_ptr()) != 0
        })
    }

    /// Present time, in the model's time precision (`` `timescale ``; 1 ps when the text has none).
    pub fn time(&self) -> u64 {
        // SAFETY: `sim` is alive; reading the time changes nothing.
        unsafe { (self.api.time)(self.sim.as_ptr()) }
    }

    /// Records the present values in an open trace, then advances the time by `by` units of precision; 0 does neither.
    #[inline]
    pub fn advance(&mut self, by: u64) {
        if by > 0 {
            // SAFETY: `sim` is alive, no other entry runs.
            unsafe { (self.api.advance)(self.sim.as_ptr(), by) }
        }
    }

    /// Starts to record all signals to the file at `path`, in the format given to [`Build::trace`](crate::Build::trace).
    ///
    /// # Errors
    /// [`Error::NotTraced`], [`Error::TraceOpen`]; [`Error::Io`] when the file cannot be created.
    pub fn trace_open(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        if self.trace == Trace::Off {
            return Err(Error::NotTraced);
        }
        if self.tracing.is_some() {
            return Err(Error::TraceOpen);
        }
        let file = path.as_ref();
        let path = creatable(file)?;
        // SAFETY: `sim` is alive and has no trace open; `path` ends with NUL.
        let open = unsafe { (self.api.trace_open)(self.sim.as_ptr(), path.as_ptr()) } != 0;
        self.tracing = open.then(|| file.to_owned());
        self.written()?;
        if open {
            Ok(())
        } else {
            Err(Error::Write("the file could not be opened".into()))
        }
    }

    /// Ends the recording and completes the file; does nothing without an open trace. Dropping the model does the same, but
    /// cannot report errors.
    ///
    /// # Errors
    /// [`Error::Write`] when anything since [`trace_open`](Model::trace_open) could not be written.
    pub fn trace_close(&mut self) -> Result<(), Error> {
        let Some(path) = self.tracing.take() else {
            return Ok(());
        };
        // SAFETY: `sim` is alive.
        unsafe { (self.api.trace_close)(self.sim.as_ptr()) };
        self.written()?;
        match self.trace {
            Trace::Fst if !is_complete(&path) => Err(Error::Write(format!(
                "{}: is the disk full?",
                path.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Writes the coverage counts so far to the file at `path`, in Verilator's format; [`coverage`](crate::coverage) reads it.
    ///
    /// # Errors
    /// [`Error::NoCoverage`]; [`Error::Io`] when the file cannot be created.
    pub fn coverage_write(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        if !self.coverage {
            return Err(Error::NoCoverage);
        }
        let path = creatable(path.as_ref())?;
        // SAFETY: `sim` is alive; `path` ends with NUL.
        unsafe { (self.api.coverage_write)(self.sim.as_ptr(), path.as_ptr()) };
        self.written()
    }

    fn written(&self) -> Result<(), Error> {
        // SAFETY: `sim` is alive; the string is copied at once.
        let error = unsafe { (self.api.write_error)(self.sim.as_ptr()) };
        if error.is_null() {
            Ok(())
        } else {
            Err(Error::Write(text(error)))
        }
    }

    #[track_caller]
    #[inline]
    fn slot(&self, port: Port) -> &Slot {
        match self.slots.get(port.index) {
            Some(slot) if port.model == self.id => slot,
            _ => panic!("{port:?} belongs to another model"),
        }
    }

    #[track_caller]
    #[inline]
    fn input(&self, port: Port) -> &Slot {
        let slot = self.slot(port);
        if !slot.writable {
            self.misuse(port, "is an output and cannot be driven");
        }
        slot
    }

    #[track_caller]
    #[cold]
    fn too_wide(&self, port: Port) -> ! {
        self.misuse(port, "cannot hold the value")
    }

    #[track_caller]
    #[cold]
    fn not_narrow(&self, port: Port) -> ! {
        self.misuse(
            port,
            "is wider than 64 bits: use words, words_mut or set_words",
        )
    }

    #[track_caller]
    #[cold]
    fn not_wide(&self, port: Port) -> ! {
        self.misuse(
            port,
            "has 64 bits or fewer: use get, set, to_words or set_words",
        )
    }

    #[track_caller]
    #[cold]
    fn misuse(&self, port: Port, why: &str) -> ! {
        let PortInfo { name, width, .. } = &self.infos[port.index];
        panic!("port {name} of {width} bits {why}")
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: `sim` came from `create` and is not used again.
        unsafe { (self.api.destroy)(self.sim.as_ptr()) }
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("ports", &self.infos)
            .field("stopped", &self.stopped)
            .finish_non_exhaustive()
    }
}

/// Verilator's storage class for a packed vector; `None` for no width or a null pointer.
fn storage(data: *mut c_void, width: u32) -> Option<Storage> {
    let data = NonNull::new(data)?;
    Some(match width {
        0 => return None,
        1..=8 => Storage::Bits8(data.cast()),
        9..=16 => Storage::Bits16(data.cast()),
        17..=32 => Storage::Bits32(data.cast()),
        33..=64 => Storage::Bits64(data.cast()),
        _ => Storage::Words(data.cast(), width.div_ceil(32) as usize),
    })
}

/// Largest value of `width` bits.
fn max(width: u32) -> u64 {
    u64::MAX >> 64u32.saturating_sub(width)
}

/// A C string from the shim as text; empty for null.
fn text(string: *const c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: the shim's strings end with NUL and are not changed during this call.
    unsafe { CStr::from_ptr(string) }
        .to_string_lossy()
        .into_owned()
}

/// Creates the file, which reports the reason of a failure, and returns its path for C.
fn creatable(path: &Path) -> Result<CString, Error> {
    File::create(path).map_err(at(path))?;
    let refused =
        |e: std::ffi::NulError| at(path)(std::io::Error::new(std::io::ErrorKind::InvalidInput, e));
    CString::new(path.as_os_str().as_bytes()).map_err(refused)
}

/// Whether an FST file is complete. The writer reports no error, but it writes the block at the beginning last, and nothing
/// after a failure.
fn is_complete(path: &Path) -> bool {
    /// Octets of that block after its type.
    const HEADER: u64 = 329;
    let mut start = [0; 9];
    let is_pipe = path.metadata().is_ok_and(|m| m.file_type().is_fifo()); // reading a pipe would block
    let read = |mut file: File| file.read_exact(&mut start);
    !is_pipe && File::open(path).and_then(read).is_ok() && start[1..] == HEADER.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_values() {
        assert_eq!(
            [1, 8, 63, 64, 65].map(max),
            [1, 255, u64::MAX >> 1, u64::MAX, u64::MAX]
        );
    }

    #[test]
    fn no_width_and_no_memory_are_refused() {
        let mut memory = 0u64;
        let data = ptr::from_mut(&mut memory).cast();
        assert!(storage(data, 0).is_none());
        assert!(storage(ptr::null_mut(), 1).is_none());
        assert!(matches!(storage(data, 64), Some(Storage::Bits64(_))));
        assert!(matches!(storage(data, 65), Some(Storage::Words(_, 3))));
    }
}

//! A waveform file.

use std::fs;
use std::io::Cursor;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::{Path, PathBuf};

use wellen::SignalRef;
use wellen::simple::{Waveform, read_from_reader};

use crate::error::Error;
use crate::samples::Samples;

/// Names of clocks.
const CLOCKS: [&str; 3] = ["aclk", "clock", "clk"];
/// Names that an error lists.
const LISTED: usize = 3;
/// Most bits of a signal that is drawn: its digits in one cycle are wider than any screen long before that.
const MOST_BITS: u32 = 1 << 16;

/// A signal of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Its name, with those of all scopes in front of it and dots between them.
    pub name: String,
    /// Bits; `None` for text and floating-point numbers.
    pub width: Option<u32>,
    reference: SignalRef,
}

/// A waveform, by cycles of one clock.
pub struct Trace {
    path: PathBuf,
    wave: Waveform,
    signals: Vec<Signal>,
    /// For each cycle, how many points of time come before the edge that ends it.
    ends: Vec<u32>,
}

impl Trace {
    /// Reads a file, by cycles of the signal `clock`, or of the first one called aclk, clock or clk.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Format`]; [`Error::NoClock`], [`Error::NoCycle`]; as [`signal`](Self::signal) for `clock`.
    pub fn open(path: impl AsRef<Path>, clock: Option<&str>) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let wave = read(&path)?;
        let hierarchy = wave.hierarchy();
        let signals = hierarchy.all_vars().map(|variable| {
            let variable = &hierarchy[variable];
            let bits = variable.is_bit_vector(hierarchy);
            Signal {
                name: variable.full_name(hierarchy),
                width: variable.length(hierarchy).filter(|_| bits),
                reference: variable.signal_ref(),
            }
        });
        let mut trace = Self {
            signals: signals.collect(),
            path,
            wave,
            ends: Vec::new(),
        };
        let clock = match clock {
            Some(name) => trace.signal(name)?,
            None => trace.clock()?,
        };
        trace.ends = trace.rises(&clock)?;
        match trace.ends.is_empty() {
            true => Err(Error::NoCycle {
                path: trace.path,
                clock: clock.name,
            }),
            false => Ok(trace),
        }
    }

    fn clock(&self) -> Result<Signal, Error> {
        let found = CLOCKS.iter().find_map(|name| {
            let called = self.called(name);
            called.into_iter().next().cloned()
        });
        found.ok_or_else(|| Error::NoClock {
            path: self.path.clone(),
            names: CLOCKS.to_vec(),
        })
    }

    /// Points of time in front of each rising edge.
    fn rises(&mut self, clock: &Signal) -> Result<Vec<u32>, Error> {
        self.load(&[clock.reference])?;
        let changes = self.wave.get_signal(clock.reference);
        let changes = changes.into_iter().flat_map(|signal| signal.iter_changes());
        let mut low = false;
        let mut rises = Vec::new();
        for (time, value) in changes {
            let bits = value.to_bit_string();
            if low && time > 0 && bits.as_deref() == Some("1") {
                rises.push(time);
            }
            low = bits.as_deref() == Some("0");
        }
        Ok(rises)
    }

    fn load(&mut self, references: &[SignalRef]) -> Result<(), Error> {
        let wave = &mut self.wave;
        expecting(|| wave.load_signals(references)).ok_or_else(|| Error::Format {
            path: self.path.clone(),
            reason: CONTRADICTION.into(),
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Cycles: rising edges of the clock.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.ends.len() as u64
    }

    /// All signals, in the order of the file. One that passes through ports is there under each of its names.
    #[must_use]
    pub fn signals(&self) -> &[Signal] {
        &self.signals
    }

    /// The cycles `from` to `to`, both included.
    ///
    /// # Errors
    /// [`Error::Cycles`] if one of them is not there.
    pub fn window(&self, from: u64, to: u64) -> Result<Range<u64>, Error> {
        let cycles = self.cycles();
        match from <= to && to < cycles {
            true => Ok(from..to + 1),
            false => Err(Error::Cycles {
                asked: from..=to,
                cycles,
            }),
        }
    }

    /// The signal of a name: the whole one, or its end behind a dot. Of several the one in the fewest scopes.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::Ambiguous`], [`Error::NotBits`], [`Error::Width`].
    pub fn signal(&self, name: &str) -> Result<Signal, Error> {
        let called = self.called(name);
        let Some(&first) = called.first() else {
            return Err(Error::Unknown {
                name: name.into(),
                near: self.near(name),
            });
        };
        if called
            .iter()
            .any(|signal| signal.reference != first.reference)
        {
            let some = called.iter().take(LISTED);
            return Err(Error::Ambiguous {
                name: name.into(),
                count: called.len(),
                some: some.map(|signal| signal.name.clone()).collect(),
            });
        }
        match first.width {
            Some(width) if width > MOST_BITS => Err(Error::Width {
                name: name.into(),
                width,
                most: MOST_BITS,
            }),
            Some(_) => Ok(first.clone()),
            None => Err(Error::NotBits { name: name.into() }),
        }
    }

    /// Signals of a name, in the fewest scopes.
    fn called(&self, name: &str) -> Vec<&Signal> {
        let is = |signal: &&Signal| match signal.name.strip_suffix(name) {
            Some(scopes) => scopes.is_empty() || scopes.ends_with('.'),
            None => false,
        };
        let all = self.signals.iter().filter(is);
        let fewest = all.clone().map(|signal| scopes(&signal.name)).min();
        all.filter(|signal| Some(scopes(&signal.name)) == fewest)
            .collect()
    }

    /// Ends of names, with as many scopes as `name`, that are most like it.
    fn near(&self, name: &str) -> Vec<String> {
        let mut near: Vec<_> = self
            .signals
            .iter()
            .map(|signal| {
                let end = end(&signal.name, scopes(name));
                (strsim::damerau_levenshtein(end, name), end)
            })
            .collect();
        near.sort_unstable();
        near.dedup();
        let near = near.into_iter().take(LISTED);
        near.map(|(_, end)| end.to_owned()).collect()
    }

    /// The values of signals.
    ///
    /// # Errors
    /// [`Error::Format`] when the file contradicts itself there.
    pub fn read(&mut self, signals: &[Signal]) -> Result<Vec<Samples>, Error> {
        let references: Vec<_> = signals.iter().map(|signal| signal.reference).collect();
        self.load(&references)?;
        Ok(signals.iter().map(|signal| self.samples(signal)).collect())
    }

    fn samples(&self, signal: &Signal) -> Samples {
        let mut samples = Samples::unknown(signal.width.unwrap_or(1));
        let changes = self.wave.get_signal(signal.reference);
        let mut cycle = 0;
        for (time, value) in changes.into_iter().flat_map(|signal| signal.iter_changes()) {
            // seen by the first edge behind it
            while cycle < self.ends.len() && self.ends[cycle] <= time {
                cycle += 1;
            }
            if cycle == self.ends.len() {
                break;
            }
            samples.push(cycle as u64, &value.to_bit_string().unwrap_or_default());
        }
        samples
    }
}

fn scopes(name: &str) -> usize {
    name.matches('.').count()
}

/// The end of a name, with at most so many scopes.
fn end(name: &str, scopes: usize) -> &str {
    match name.rmatch_indices('.').nth(scopes) {
        Some((at, _)) => &name[at + 1..],
        None => name,
    }
}

/// Reads a file. Its outer structure is checked before wellen reads it, which loops on some of what is no waveform.
fn read(path: &Path) -> Result<Waveform, Error> {
    // A device may be endless, and opening a pipe may block.
    let regular = fs::metadata(path).and_then(|found| match found.is_file() {
        true => Ok(()),
        false => {
            let what = "a folder, pipe or device, give a regular file";
            Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, what))
        }
    });
    let octets = regular.and_then(|()| fs::read(path));
    let octets = octets.map_err(|source| Error::Read {
        path: path.into(),
        source,
    })?;
    let malformed = |reason: &str| Error::Format {
        path: path.into(),
        reason: reason.into(),
    };
    match is_fst(&octets) {
        true => check_blocks(&octets).map_err(malformed)?,
        false => check_text(&octets).map_err(|reason| malformed(&reason))?,
    }
    match expecting(|| read_from_reader(Cursor::new(octets))) {
        Some(Ok(wave)) => Ok(wave),
        Some(Err(error)) => {
            let reason = error.to_string();
            let words: Vec<_> = reason.split_whitespace().collect();
            Err(malformed(&words.join(" "))) // it has several lines
        }
        None => Err(malformed(CONTRADICTION)),
    }
}

const CONTRADICTION: &str = "its content contradicts itself";

/// Runs what asserts, in wellen and its readers, what it expects of a file; `None`: an assertion has failed. Nothing is printed of
/// that, nor of other threads' panics meanwhile.
fn expecting<T>(act: impl FnOnce() -> T) -> Option<T> {
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(act));
    set_hook(hook);
    result.ok()
}

/// An FST file begins with a block of type 0 and 329 octets, its header.
fn is_fst(octets: &[u8]) -> bool {
    octets.starts_with(&[0, 0, 0, 0, 0, 0, 0, 1, 73])
}

/// The blocks of an FST file: a type, then the length of the rest in 8 octets, which counts itself.
fn check_blocks(octets: &[u8]) -> Result<(), &'static str> {
    let mut rest = octets;
    let mut kinds = Vec::new();
    while let Some((kind, behind)) = rest.split_first() {
        let length = behind
            .first_chunk()
            .map(|octets| u64::from_be_bytes(*octets));
        let length = length.and_then(|length| usize::try_from(length).ok());
        let content = length.and_then(|length| behind.get(8..length)).ok_or(CUT)?;
        if !can_hold(*kind, content) {
            return Err("a block states more than it can hold");
        }
        rest = &behind[8 + content.len()..];
        kinds.push(*kind);
    }
    // values, their geometry, and the hierarchy in any of its packings
    let has = |some: &[u8]| kinds.iter().any(|kind| some.contains(kind));
    match has(&[1, 5, 8]) && has(&[3]) && has(&[4, 6, 7]) {
        true => Ok(()),
        false => Err(CUT),
    }
}

/// Whether the sizes that a block states can be: the reader reserves memory for them before it looks further.
fn can_hold(kind: u8, content: &[u8]) -> bool {
    // Deflate packs 1032 octets into one; a hierarchy of type 7 is packed twice, by LZ4.
    let most = if kind == 7 { 255 * 255 } else { 1032 };
    let packs = |whole: u64, octets: u64| whole <= octets.saturating_mul(most).saturating_add(64);
    let length = content.len() as u64;
    let word = |octets: Option<&[u8; 8]>| octets.map(|octets| u64::from_be_bytes(*octets));
    match kind {
        // Values end with the table of times: its octets, those when packed, and its entries of an octet or more each.
        1 | 5 | 8 => {
            let tail = content.last_chunk::<24>();
            let tail = tail.and_then(|tail| tail.as_chunks::<8>().0.try_into().ok());
            tail.is_some_and(|[whole, packed, entries]: [[u8; 8]; 3]| {
                let [whole, packed, entries] = [whole, packed, entries].map(u64::from_be_bytes);
                packed <= length && packs(whole, packed) && entries <= whole
            })
        }
        // Octets of the geometry, and its entries of an octet or more each.
        3 => {
            let (whole, entries) = (
                word(content.first_chunk()),
                word(content.get(8..).and_then(<[u8]>::first_chunk)),
            );
            whole
                .zip(entries)
                .is_some_and(|(whole, entries)| packs(whole, length) && entries <= whole)
        }
        // Octets of the hierarchy.
        4 | 6 | 7 => word(content.first_chunk()).is_some_and(|whole| packs(whole, length)),
        _ => true,
    }
}

const CUT: &str = "an FST file that ends before its end; the simulation may still run";

/// A VCD file is text of commands that begin with $.
/// A VCD file: definitions, then times that never decrease, with changes behind each of them.
fn check_text(octets: &[u8]) -> Result<(), String> {
    let text = str::from_utf8(octets).map_err(|_| "neither text nor the head of an FST file")?;
    let changes = match text.trim_start().starts_with('$') {
        true => text.split_once("$enddefinitions"),
        false => None,
    };
    let (_, changes) = changes.ok_or("text without $enddefinitions")?;
    let mut now = 0;
    let mut words = changes.split_whitespace();
    while let Some(word) = words.next() {
        if word == "$comment" {
            words.find(|word| *word == "$end");
        } else if word.starts_with(['b', 'B', 'r', 'R', 's', 'S']) {
            words.next(); // the name of a vector may begin as a time does
        } else if let Some(time) = word.strip_prefix('#') {
            let time: u64 = time
                .parse()
                .map_err(|_| format!("{word} is no time of 64 bits"))?;
            if time < now {
                return Err(format!("time {time} behind {now}"));
            }
            now = time;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(kind: u8, content: &[&[u8]]) -> Vec<u8> {
        let content = content.concat();
        [
            &[kind][..],
            &(content.len() as u64 + 8).to_be_bytes(),
            &content,
        ]
        .concat()
    }

    fn word(value: u64) -> [u8; 8] {
        value.to_be_bytes()
    }

    /// Blocks that state these sizes: of the table of times, its entries; of the geometry, its entries; of the hierarchy.
    fn file([times, entries, geometry, handles, hierarchy]: [u64; 5]) -> Vec<u8> {
        let values = [0; 100];
        [
            block(0, &[&[0; 321]]),
            block(8, &[&values, &word(times), &word(12), &word(entries)]),
            block(3, &[&word(geometry), &word(handles), &[1; 24]]),
            block(6, &[&word(hierarchy), &[1; 400]]),
        ]
        .concat()
    }

    #[test]
    fn a_block_states_what_it_can_hold() {
        let good = [84, 84, 26, 26, 1000];
        assert!(is_fst(&file(good)));
        assert_eq!(check_blocks(&file(good)), Ok(()));
        for (which, size) in [
            (0, 1 << 20),
            (1, 85),
            (1, 0xca_0000_0054),
            (2, 1 << 20),
            (3, 27),
            (4, 1 << 40),
        ] {
            let mut sizes = good;
            sizes[which] = size;
            assert!(check_blocks(&file(sizes)).is_err(), "{sizes:?}");
        }
        for cut in 0..file(good).len() {
            assert!(check_blocks(&file(good)[..cut]).is_err(), "{cut} octets");
        }
    }

    #[test]
    fn what_asserts_says_nothing_and_has_no_result() {
        assert_eq!(expecting(|| 1), Some(1));
        assert_eq!(expecting(|| -> u8 { panic!("printed") }), None);
    }
}

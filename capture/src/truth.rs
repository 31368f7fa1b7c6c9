//! Ground truth of a run: where the buffers were, what they held afterwards, and what the target reported.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Deserializer};

use crate::error::Error;
use crate::folder::{MAX_FILE, read_all};

/// `regions.json`: the target's buffers, as it advertised them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Regions {
    /// Virtual address of the region that the peer writes to; its Tagged Offsets are addresses.
    #[serde(deserialize_with = "number")]
    pub addr: u64,
    /// STag of that region.
    #[serde(deserialize_with = "number")]
    pub rkey: u32,
    /// Length of that region in octets.
    #[serde(deserialize_with = "number")]
    pub len: u64,
    /// Virtual address of a region that the peer may only read.
    #[serde(deserialize_with = "number")]
    pub ro_addr: u64,
    /// STag of the read-only region.
    #[serde(deserialize_with = "number")]
    pub ro_rkey: u32,
    /// Length of the read-only region in octets.
    #[serde(deserialize_with = "number")]
    pub ro_len: u64,
    /// Virtual address of the first receive buffer; the others follow without a gap.
    #[serde(deserialize_with = "number")]
    pub msg_addr: u64,
    /// Receive buffers posted.
    #[serde(deserialize_with = "number")]
    pub recv_count: u32,
    /// Length of each receive buffer in octets.
    #[serde(deserialize_with = "number")]
    pub recv_len: u32,
}

impl Regions {
    /// Octets of all receive buffers together.
    pub fn receive_buffers_len(&self) -> u64 {
        u64::from(self.recv_count) * u64::from(self.recv_len)
    }
}

/// One line of `completions.jsonl`: a work completion in the terms of libibverbs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Completion {
    /// Status text: "success", or the error.
    #[serde(rename = "wc")]
    pub status: String,
    /// `ibv_wc_opcode`; 128 is a receive. Meaningful on success only.
    #[serde(deserialize_with = "number")]
    pub opcode: u32,
    /// The consumer's identifier; buffer `i` of the receive buffers has 1000 + `i`.
    #[serde(deserialize_with = "number")]
    pub wr_id: u64,
    /// Octets received. Meaningful on success only.
    #[serde(deserialize_with = "number")]
    pub byte_len: u32,
    /// `ibv_wc_flags`.
    #[serde(deserialize_with = "number")]
    pub flags: u32,
    /// STag that a Send with Invalidate carried; 0 if none.
    #[serde(deserialize_with = "number")]
    pub inv: u32,
}

impl Completion {
    /// Whether the work request succeeded.
    pub fn is_success(&self) -> bool {
        self.status == "success"
    }

    /// Whether the work request was returned unused when the connection ended.
    pub fn is_flushed(&self) -> bool {
        self.status == "Work Request Flushed Error"
    }
}

/// The content of an RDMAP Terminate message as the peer's kernel logged it (RFC 5040 §4.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminate {
    /// Layer: 0 RDMAP, 1 DDP, 2 MPA.
    pub layer: u8,
    /// Error type within the layer.
    pub etype: u8,
    /// Error code within the type.
    pub code: u8,
}

/// The kernel's log message for a received Terminate.
const TERMINATE: &str = "got TERMINATE";

pub(crate) fn regions(path: &Path, file: File) -> Result<Regions, Error> {
    let text = read_all(path, file)?;
    serde_json::from_slice(&text).map_err(|source| Error::json(path, source))
}

pub(crate) fn completions(path: &Path, file: File) -> Result<Vec<Completion>, Error> {
    let text = read_all(path, file)?;
    serde_json::Deserializer::from_slice(&text)
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(|source| Error::json(path, source))
}

/// Unpacks a memory image, which must have `expected` octets if that is known.
pub(crate) fn image(path: &Path, file: File, expected: Option<u64>) -> Result<Vec<u8>, Error> {
    let too_large = |octets| Error::ImageTooLarge {
        path: path.into(),
        octets,
        limit: MAX_FILE,
    };
    if let Some(expected) = expected.filter(|&e| e > MAX_FILE) {
        return Err(too_large(expected));
    }
    let limit = expected.unwrap_or(MAX_FILE);
    let mut octets = Vec::new();
    MultiGzDecoder::new(BufReader::new(file))
        .take(limit + 1)
        .read_to_end(&mut octets)
        .map_err(|source| Error::Gzip {
            path: path.into(),
            source,
        })?;
    let found = octets.len() as u64;
    match expected {
        Some(expected) if found != expected => Err(Error::ImageSize {
            path: path.into(),
            found,
            expected,
        }),
        None if found > MAX_FILE => Err(too_large(found)),
        _ => Ok(octets),
    }
}

/// The kernel's log; a report of a Terminate must have its layer, type and code.
pub(crate) fn kernel_log(path: &Path, file: File) -> Result<String, Error> {
    let text = read_all(path, file)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    match terminate(&text) {
        Ok(_) => Ok(text),
        Err(line) => Err(Error::Terminate {
            path: path.into(),
            line: line.into(),
        }),
    }
}

/// The last line of the form `… got TERMINATE. layer 1, type 2, code 2`; the error is a line that begins like that but
/// lacks the numbers.
pub(crate) fn terminate(kernel_log: &str) -> Result<Option<Terminate>, &str> {
    let mut lines = kernel_log.lines().rev();
    let Some(line) = lines.find(|line| line.contains(TERMINATE)) else {
        return Ok(None);
    };
    let numbers = || {
        let (_, text) = line.rsplit_once(TERMINATE)?;
        let (layer, text) = text.strip_prefix(". layer ")?.split_once(", type ")?;
        let (etype, code) = text.split_once(", code ")?;
        Some(Terminate {
            layer: layer.parse().ok()?,
            etype: etype.parse().ok()?,
            code: code.trim().parse().ok()?,
        })
    };
    numbers().map(Some).ok_or(line)
}

/// A number, or a string of hexadecimal digits after "0x".
fn number<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a whole number or a string \"0x…\"")]
    enum Number<'a> {
        Plain(u64),
        Hex(#[serde(borrow)] std::borrow::Cow<'a, str>),
    }

    let value = match Number::deserialize(deserializer)? {
        Number::Plain(value) => Some(value),
        Number::Hex(text) => text
            .strip_prefix("0x")
            .filter(|digits| !digits.starts_with('+'))
            .and_then(|digits| u64::from_str_radix(digits, 16).ok()),
    };
    value
        .and_then(|value| T::try_from(value).ok())
        .ok_or_else(|| serde::de::Error::custom("a number is too large or not of the form \"0x…\""))
}

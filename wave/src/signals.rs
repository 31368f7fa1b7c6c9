//! Rows for signals as they are.

use std::ops::Range;

use crate::diagram::{Ink, Lane, Line, Row, Span};
use crate::error::Error;
use crate::samples::Samples;
use crate::trace::{Signal, Trace};

/// A row for each name: a line for a signal of one bit, a lane of values for others. Behind a name may be bits of it: `[31:0]`, or
/// `[5]`. With `when_valid`, a row of a payload of AXI
/// has values in those cycles only in which VALID of its channel is 1.
///
/// # Errors
/// As [`Trace::signal`].
pub fn rows(
    trace: &mut Trace,
    names: &[impl AsRef<str>],
    when_valid: bool,
) -> Result<Vec<Row>, Error> {
    let mut signals = Vec::new();
    let mut parts = Vec::new();
    for name in names {
        let (signal, part) = found(trace, name.as_ref())?;
        signals.push(signal);
        parts.push(part);
    }
    let samples = trace.read(&signals)?;
    let cycles = trace.cycles();
    let mut rows = Vec::new();
    for ((name, part), whole) in names.iter().zip(parts).zip(&samples) {
        let name = name.as_ref();
        let samples = match &part {
            Some(bits) => &whole.bits(bits.clone()),
            None => whole,
        };
        let base = name.split('[').next().unwrap_or(name);
        let valid = when_valid.then(|| valid_of(base)).flatten();
        let valid = valid.and_then(|valid| trace.signal(&valid).ok());
        let valid = match valid {
            Some(valid) => Some(trace.read(&[valid])?.remove(0)),
            None => None,
        };
        rows.push(row(name, samples, valid.as_ref(), cycles));
    }
    Ok(rows)
}

/// The signal of a name, and the bits of it that are meant.
fn found(trace: &Trace, name: &str) -> Result<(Signal, Option<Range<u32>>), Error> {
    let whole = trace.signal(name);
    let Some((base, bits)) = name
        .strip_suffix(']')
        .and_then(|name| name.rsplit_once('['))
    else {
        return whole.map(|signal| (signal, None));
    };
    if let Ok(signal) = whole {
        return Ok((signal, None)); // an element of an array
    }
    let signal = trace.signal(base)?;
    let (high, low) = bits.split_once(':').unwrap_or((bits, bits));
    let width = signal.width.unwrap_or(0);
    match (high.parse(), low.parse()) {
        (Ok(high), Ok(low)) if low <= high && high < width => Ok((signal, Some(low..high + 1))),
        _ => Err(Error::Bits {
            name: base.into(),
            bits: bits.into(),
            width,
        }),
    }
}

fn row(name: &str, samples: &Samples, valid: Option<&Samples>, cycles: u64) -> Row {
    if samples.width() == 1 {
        return Row::Line(Line::of(name, samples, valid, cycles));
    }
    let shown = |cycle| valid.is_none_or(|valid| valid.high(cycle));
    let mut lane = Lane::new(name);
    let mut begin: Option<u64> = None;
    for cycle in 0..=cycles {
        let ends = cycle == cycles || !shown(cycle);
        if let Some(from) = begin
            && (ends || samples.value(from) != samples.value(cycle))
        {
            let digits = samples.value(from).hex();
            lane.spans.push(Span {
                cycles: from..cycle,
                full: format!("{name} 0x{digits}"),
                labels: labels(&digits),
                ink: Ink::Plain,
            });
            begin = None;
        }
        if !ends && begin.is_none() {
            begin = Some(cycle);
        }
    }
    Row::Lane(lane)
}

/// A value in digits, the longest form first: without leading zeros, then its last digits.
fn labels(digits: &str) -> Vec<String> {
    let short = digits.trim_start_matches('0');
    let short = if short.is_empty() { "0" } else { short };
    let mut labels = vec![short.to_owned()];
    for keep in (2..short.len().saturating_sub(1)).rev() {
        labels.push(format!("…{}", &short[short.len() - keep..]));
    }
    labels
}

/// VALID of the channel of AXI that a payload signal belongs to.
fn valid_of(name: &str) -> Option<String> {
    let (port, signal) = name.rsplit_once('_')?;
    let channel = ["aw", "w", "b", "ar", "r", "t"]
        .into_iter()
        .find(|channel| {
            let rest = signal.strip_prefix(channel);
            rest.is_some_and(|rest| PAYLOAD.contains(&rest))
        })?;
    Some(format!("{port}_{channel}valid"))
}

/// Signals of a channel that mean something with its VALID only.
const PAYLOAD: [&str; 15] = [
    "addr", "len", "size", "burst", "cache", "prot", "data", "strb", "last", "resp", "keep",
    "dest", "user", "id", "qos",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_has_its_valid() {
        let valid = |name| valid_of(name).unwrap_or_default();
        assert_eq!(valid("s_axis_segment_tdata"), "s_axis_segment_tvalid");
        assert_eq!(valid("top.m_axi_awaddr"), "top.m_axi_awvalid");
        assert_eq!(valid("m_axi_wstrb"), "m_axi_wvalid");
        assert_eq!(valid("m_axi_bresp"), "m_axi_bvalid");
        assert_eq!(valid("m_axi_rdata"), "m_axi_rvalid");
        for other in [
            "m_axi_awvalid",
            "m_axi_bready",
            "reset",
            "place.rows",
            "x_total",
        ] {
            assert_eq!(valid_of(other), None, "{other}");
        }
    }

    #[test]
    fn long_values_have_short_forms() {
        assert_eq!(labels("0000"), ["0"]);
        assert_eq!(labels("001f"), ["1f"]);
        assert_eq!(labels("12345"), ["12345", "…345", "…45"]);
    }
}

//! Regions of local memory: entries of the STag table, and what a request may read of them.

use fastrand::Rng;
use num_bigint::BigUint;
use warpline_hdl::tables::stag_table::StagEntry;
use warpline_regmap::transmit::status;

use crate::stimulus::chance;

/// A region, as a command writes it into the STag table.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// Its STag.
    pub stag: u32,
    /// Its protection domain.
    pub domain: u16,
    /// The only stream that may use it.
    pub stream: Option<u8>,
    /// Tagged Offset of its first octet.
    pub base: u64,
    /// Its octets.
    pub length: u64,
    /// Bus address of its first octet.
    pub address: u64,
    /// Whether the peer may read it; `None` where that does not matter.
    pub remote_read: Option<bool>,
}

impl Region {
    /// As the table holds it, with random values where they have no meaning.
    pub fn entry(&self, rng: &mut Rng) -> StagEntry {
        let limit = u128::from(self.base) + u128::from(self.length);
        StagEntry {
            valid: true,
            stag: u64::from(self.stag).into(),
            protection_domain: u64::from(self.domain).into(),
            stream: u64::from(self.stream.unwrap_or_else(|| rng.u8(..))).into(),
            stream_scope: self.stream.is_some(),
            remote_write: chance(rng, 50),
            remote_read: self.remote_read.unwrap_or_else(|| chance(rng, 50)),
            empty: self.length == 0,
            base: self.base.into(),
            limit: BigUint::from(limit).into(),
            shift: self.address.wrapping_sub(self.base).into(),
        }
    }
}

/// Memory that a request names.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// STag of the region.
    pub stag: u32,
    /// Tagged Offset of the first octet.
    pub offset: u64,
    /// Octets.
    pub length: u64,
    /// It is read for the peer.
    pub remote: bool,
}

/// Bus address of a range that a stream of `domain` names, in 128 bits.
///
/// `region` is the one in the STag's slot.
///
/// # Errors
/// The status that `regmap::transmit::status` has for it.
pub fn bus_address(
    region: Option<&Region>,
    stream: u8,
    domain: u16,
    range: Range,
) -> Result<u64, u32> {
    let found = region.filter(|region| region.stag == range.stag);
    let region = found.ok_or(status::STAG)?;
    if region.domain != domain || region.stream.is_some_and(|only| only != stream) {
        return Err(status::ASSOC);
    }
    if range.remote && region.remote_read != Some(true) {
        return Err(status::ACCESS);
    }
    let (from, base) = (u128::from(range.offset), u128::from(region.base));
    let end = from + u128::from(range.length);
    if from < base || end > base + u128::from(region.length) {
        return Err(status::BOUNDS);
    }
    Ok(region.address.wrapping_add(range.offset - region.base))
}

//! What a server offers, as the private data of its Accept: the octets that `warpline serve` gives.
//!
//! ```text
//!  octet  0         4         8            16           24
//!         ├ "WLM1" ─┼─ STag ──┼─ base ─────┼─ length ───┤    big-endian
//! ```

/// Marks an offer, and its layout.
const MARK: &[u8; 4] = b"WLM1";

/// A region that the peer may read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its STag.
    pub stag: u32,
    /// Tagged Offset of its first octet.
    pub base: u64,
    /// Its octets.
    pub length: u64,
}

impl Offer {
    /// The private data.
    pub fn emit(&self) -> Vec<u8> {
        let mut octets = MARK.to_vec();
        octets.extend(self.stag.to_be_bytes());
        octets.extend(self.base.to_be_bytes());
        octets.extend(self.length.to_be_bytes());
        octets
    }

    /// The offer in private data, if it is one: its octets do not reach beyond 2^64.
    pub fn parse(private_data: &[u8]) -> Option<Self> {
        let rest = private_data.strip_prefix(MARK)?;
        let (stag, rest) = rest.split_first_chunk()?;
        let (base, rest) = rest.split_first_chunk()?;
        let offer = Self {
            stag: u32::from_be_bytes(*stag),
            base: u64::from_be_bytes(*base),
            length: u64::from_be_bytes(rest.try_into().ok()?),
        };
        offer.base.checked_add(offer.length).map(|_| offer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_octets_are_those_of_warpline_serve() {
        let offer = Offer {
            stag: 0x0102_0304,
            base: 0x1000,
            length: 7,
        };
        let octets = offer.emit();
        assert_eq!(
            octets,
            *b"WLM1\x01\x02\x03\x04\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\0\x07"
        );
        assert_eq!(Offer::parse(&octets), Some(offer));
        for short in 0..octets.len() {
            assert_eq!(Offer::parse(&octets[..short]), None);
        }
        assert_eq!(Offer::parse(&[&octets[..], &[0]].concat()), None);
        let endless = Offer {
            base: u64::MAX,
            ..offer
        };
        assert_eq!(Offer::parse(&endless.emit()), None);
    }
}

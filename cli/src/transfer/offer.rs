//! What a server offers, as the private data of its Reply.

/// Marks an offer, and its layout: version 1.
const MARK: [u8; 4] = *b"WLM1";
/// Octets of an offer.
const LENGTH: usize = 24;

/// A region that the peer may read and write.
///
/// ```text
///  octet  0         4         8            16           24
///         ├ "WLM1" ─┼─ STag ──┼─ base ─────┼─ length ───┤    big-endian, as iWARP's own headers
/// ```
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
    #[must_use]
    pub fn emit(&self) -> [u8; LENGTH] {
        let mut octets = [0; LENGTH];
        octets[..4].copy_from_slice(&MARK);
        octets[4..8].copy_from_slice(&self.stag.to_be_bytes());
        octets[8..16].copy_from_slice(&self.base.to_be_bytes());
        octets[16..].copy_from_slice(&self.length.to_be_bytes());
        octets
    }

    /// The offer in private data; `None` if it is none, or one of another version.
    #[must_use]
    pub fn parse(private_data: &[u8]) -> Option<Self> {
        let octets: &[u8; LENGTH] = private_data.try_into().ok()?;
        let (mark, rest) = octets.split_first_chunk()?;
        let (stag, rest) = rest.split_first_chunk()?;
        let (base, length) = rest.split_first_chunk()?;
        let offer = Self {
            stag: u32::from_be_bytes(*stag),
            base: u64::from_be_bytes(*base),
            length: u64::from_be_bytes(length.try_into().ok()?),
        };
        (*mark == MARK && offer.base.checked_add(offer.length).is_some()).then_some(offer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_reads_back_and_nothing_else_does() {
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
        assert_eq!(Offer::parse(&octets[..23]), None);
        assert_eq!(Offer::parse(&[&octets[..], &[0]].concat()), None);
        let mut other = octets;
        other[3] = b'2';
        assert_eq!(Offer::parse(&other), None);
        let endless = Offer {
            base: u64::MAX,
            ..offer
        };
        assert_eq!(Offer::parse(&endless.emit()), None);
    }
}

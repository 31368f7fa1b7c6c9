//! DDP segments out of the FPDUs that the device makes of all streams' messages. It goes when the device makes chunks.
//!
//! ```text
//!  0              2
//!  ├ ULPDU_Length ┼ DDP segment ┼ PAD ┼ CRC ┤
//! ```

/// The DDP segment of the first FPDU in `octets`, which has no markers, and octets of that FPDU. `None` if it is not whole.
pub(super) fn first(octets: &[u8]) -> Option<(&[u8], usize)> {
    const LENGTH: usize = 2;
    const CRC: usize = 4;
    let length = octets.first_chunk::<LENGTH>()?;
    let end = LENGTH + usize::from(u16::from_be_bytes(*length));
    let whole = end.next_multiple_of(4) + CRC;
    (octets.len() >= whole).then(|| (&octets[LENGTH..end], whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpline_wire::send::{CrcField, FpduWriter, Message};

    #[test]
    fn segments_are_those_that_were_framed() {
        for payload in [0, 1, 2, 3, 4, 1000] {
            let mut writer = FpduWriter::new(false, CrcField::Computed);
            let mut octets = vec![];
            let message = Message::Untagged {
                qn: 0,
                msn: 1,
                rsvd_ulp: [0x43, 0, 0, 0, 0],
            };
            let bytes = vec![7; payload];
            writer
                .append_message(message, &bytes, 1426, &mut octets)
                .unwrap();
            let whole = octets.len();
            octets.extend([9; 8]);
            let (segment, length) = first(&octets).unwrap();
            assert_eq!((segment.len(), length), (18 + payload, whole));
            assert_eq!(segment[18..], bytes);
            assert_eq!(first(&octets[..whole - 1]), None);
        }
        assert_eq!(first(&[0]), None);
    }
}

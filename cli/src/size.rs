//! Sizes that people give: octets, or with K, M or G, each 1024 times as many as the one before.

/// Octets of `text`.
pub(crate) fn octets(text: &str) -> Result<u64, String> {
    let (number, power) = match text.char_indices().next_back() {
        Some((end, 'K' | 'k')) => (&text[..end], 1),
        Some((end, 'M' | 'm')) => (&text[..end], 2),
        Some((end, 'G' | 'g')) => (&text[..end], 3),
        _ => (text, 0),
    };
    let digits = number.bytes().all(|digit| digit.is_ascii_digit());
    let number = digits.then(|| number.parse::<u64>().ok()).flatten();
    number
        .and_then(|number| number.checked_mul(1 << (10 * power)))
        .ok_or_else(|| "give octets below 2^64, or with K, M or G: 64K is 65536".into())
}

/// Octets of memory: from 1 to 4G.
pub(crate) fn memory(text: &str) -> Result<u64, String> {
    match octets(text)? {
        octets @ 1..=MOST_MEMORY => Ok(octets),
        octets => Err(format!("{octets} octets: give from 1 to 4G")),
    }
}

/// Most octets of a memory that is served, or transferred.
pub(crate) const MOST_MEMORY: u64 = 1 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_up_to_the_edge() {
        let right = [
            ("0", 0),
            ("1000", 1000),
            ("64K", 65_536),
            ("64k", 65_536),
            ("1M", 1_048_576),
            ("3G", 3_221_225_472),
            ("18446744073709551615", u64::MAX),
            ("17179869183G", u64::MAX - ((1 << 30) - 1)),
        ];
        for (text, size) in right {
            assert_eq!(octets(text), Ok(size), "{text}");
        }
        let wrong = [
            "",
            "K",
            "-1",
            "+1",
            "1 K",
            "1.5M",
            "64KB",
            "0x10",
            "1T",
            "é",
            "K1",
            "17179869184G",
            "18446744073709551616",
        ];
        for text in wrong {
            let said = octets(text).expect_err(text);
            assert!(said.contains("64K is 65536"), "{text}: {said}");
        }
    }

    #[test]
    fn memory_has_from_one_octet_to_four_gigabytes() {
        assert_eq!(memory("1"), Ok(1));
        assert_eq!(memory("4G"), Ok(1 << 32));
        for (text, octets) in [("0", "0"), ("4194305K", "4294968320")] {
            let said = memory(text).unwrap_err();
            assert_eq!(said, format!("{octets} octets: give from 1 to 4G"));
        }
    }
}

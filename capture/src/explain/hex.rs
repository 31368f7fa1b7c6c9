//! Octets from hexadecimal text, as people copy it: plain digits, `0x`, colons, commas, and dumps with offsets.
//!
//! ```text
//!  00000010: 4143 0000 0000  AC....      xxd, tcpdump -x
//!  00000010  41 43 00 00  |AC..|         hexdump -C
//!  0x41, 0x43 · 41:43 · 4143             without offsets
//! ```

/// Text is not octets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HexError {
    /// A character that is neither a digit nor between digits.
    #[error("line {line}: {found:?} is no hexadecimal digit")]
    Digit {
        /// Line, from 1.
        line: usize,
        /// The character.
        found: char,
    },
    /// Half an octet.
    #[error("line {line}: {digits:?} has an odd number of digits: write each octet with two")]
    Odd {
        /// Line, from 1.
        line: usize,
        /// The digits.
        digits: String,
    },
    /// The offset of a dump does not continue the lines before.
    #[error(
        "line {line}: offset {offset:#x}, where {expected:#x} continues the lines before: lines are missing or shortened"
    )]
    Offset {
        /// Line, from 1.
        line: usize,
        /// As written.
        offset: u64,
        /// Where the lines before end.
        expected: u64,
    },
}

/// Digits of a dump's offset.
const OFFSET: std::ops::RangeInclusive<usize> = 4..=16;

/// The octets that a text describes.
///
/// # Errors
/// [`HexError`].
pub fn parse(text: &str) -> Result<Vec<u8>, HexError> {
    let mut octets = Vec::new();
    let mut origin = None;
    for (line, text) in (1..).zip(text.lines()) {
        let (offset, data) = split(text, &octets);
        if let Some(offset) = offset {
            let have = octets.len() as u64;
            let origin = *origin.get_or_insert(offset.wrapping_sub(have));
            let expected = have.wrapping_add(origin);
            if offset != expected {
                return Err(HexError::Offset {
                    line,
                    offset,
                    expected,
                });
            }
        }
        read(data, line, &mut octets)?;
    }
    Ok(octets)
}

/// The offset in front of a line, if there is one, and its octets without what a dump has beside them.
fn split<'t>(text: &'t str, before: &[u8]) -> (Option<u64>, &'t str) {
    let text = text.trim();
    let bare = text.strip_prefix("0x").unwrap_or(text);
    let digits = bare
        .find(|c: char| !c.is_ascii_hexdigit())
        .unwrap_or(bare.len());
    let (first, rest) = bare.split_at(digits);
    let offset = u64::from_str_radix(first, 16)
        .ok()
        .filter(|_| OFFSET.contains(&digits));
    let Some(offset) = offset else {
        return (None, text);
    };
    let columns = |data: &'t str| {
        let data = data.trim_start();
        let end = data.find(" |").or_else(|| {
            // hexdump -C has two blanks between its halves
            let pairs = data
                .split("  ")
                .next()
                .is_some_and(|first| first.len() == 23);
            match pairs && data.get(25..).is_some() {
                true => data[25..].find("  ").map(|at| at + 25),
                false => data.find("  "),
            }
        });
        data[..end.unwrap_or(data.len())].trim_end()
    };
    match rest.strip_prefix(':') {
        Some(data) if data.is_empty() || data.starts_with([' ', '\t']) => {
            return (Some(offset), columns(data));
        }
        _ => {}
    }
    // Without a colon the first digits are an offset if they continue the count, and pairs follow.
    let pairs =
        rest.starts_with("  ") && rest.trim_start().split(' ').next().map(str::len) == Some(2);
    let ends = rest.is_empty() && digits > 4 && !before.is_empty();
    match (pairs || ends) && offset == before.len() as u64 {
        true => (Some(offset), columns(rest)),
        false => (None, text),
    }
}

fn read(data: &str, line: usize, octets: &mut Vec<u8>) -> Result<(), HexError> {
    let between = |c: char| c.is_whitespace() || matches!(c, ':' | ',' | ';' | '-' | '{' | '}');
    for word in data.split(between).filter(|word| !word.is_empty()) {
        let word = word.strip_prefix("\\x").unwrap_or(word);
        let digits = word
            .strip_prefix("0x")
            .or_else(|| word.strip_prefix("0X"))
            .unwrap_or(word);
        if let Some(found) = digits.chars().find(|c| !c.is_ascii_hexdigit()) {
            return Err(HexError::Digit { line, found });
        }
        let (pairs, []) = digits.as_bytes().as_chunks::<2>() else {
            let digits = digits.chars().take(40).collect();
            return Err(HexError::Odd { line, digits });
        };
        let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or_default() as u8;
        octets.extend(
            pairs
                .iter()
                .map(|[high, low]| value(*high) << 4 | value(*low)),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OCTETS: [u8; 20] = [
        0x00, 0x2a, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x61, 0x62, 0x20, 0x20, 0x63,
    ];

    #[test]
    fn all_ways_to_write_octets_give_the_same() {
        for text in [
            "002a41430000000000000000000000616220 2063",
            "0x002a4143 0x00000000 0x00000000 0x00000061 0x62202063",
            "00:2a:41:43:00:00:00:00:00:00:00:00:00:00:00:61:62:20:20:63",
            "{0x00, 0x2A, 0x41, 0x43, 0x00, 00,00,00,00,00,00,00,00,00,00, 0x61,0x62,\n 0x20, 0x20, 0x63}",
            "00000000: 002a 4143 0000 0000 0000 0000 0000 0061  .*AC...........a\n00000010: 6220 2063                                b  c\n",
            "00000000  00 2a 41 43 00 00 00 00  00 00 00 00 00 00 00 61  |.*AC...........a|\n00000010  62 20 20 63                                       |b  c|\n00000014\n",
            "\t0x0000:  002a 4143 0000 0000 0000 0000 0000 0061  .*AC...........a\n\t0x0010:  6220 2063                                b  c",
            "0000  00 2a 41 43 00 00 00 00 00 00 00 00 00 00 00 61   .*AC...........a\n0010  62 20 20 63   b  c",
        ] {
            assert_eq!(parse(text).as_deref(), Ok(&OCTETS[..]), "{text}");
        }
        assert_eq!(parse("").as_deref(), Ok(&[][..]));
    }

    #[test]
    fn what_is_no_octet_is_named_with_its_line() {
        let digit = |line, found| Err(HexError::Digit { line, found });
        assert_eq!(parse("00\n1g"), digit(2, 'g'));
        assert_eq!(parse("hello"), digit(1, 'h'));
        assert_eq!(parse("00 2ä"), digit(1, 'ä'));
        let odd = |digits: &str| {
            let digits = digits.into();
            Err(HexError::Odd { line: 1, digits })
        };
        assert_eq!(parse("00 2"), odd("2"));
        assert_eq!(parse("0x123"), odd("123"));
        let missing = "00000000: 0011\n00000004: 2233";
        let (offset, expected) = (4, 2);
        let error = HexError::Offset {
            line: 2,
            offset,
            expected,
        };
        assert_eq!(parse(missing), Err(error));
    }

    #[test]
    fn no_text_panics() {
        let characters: Vec<char> = "0123456789abcdefx: |\t\nä-,.".chars().collect();
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..100_000 {
            let text: String = (0..rng.usize(..60))
                .map(|_| characters[rng.usize(..characters.len())])
                .collect();
            let _ = parse(&text);
        }
    }
}

//! What the driver reports, in plain words: for errors and logs that people read.

use std::fmt::Write;

use warpline_regmap::Value;

/// The meaning of a code in the documentation of the register map, as a part of a sentence.
pub(crate) fn meaning(values: &[Value], code: u8) -> String {
    let value = values.iter().find(|value| value.value == u32::from(code));
    let Some(value) = value else {
        return format!("code {code}");
    };
    let plain = value.doc.trim().trim_end_matches('.').replace('`', "");
    let mut letters = plain.chars();
    match (letters.next(), letters.clone().next()) {
        // "RST, or …" stays as it is.
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => plain,
    }
}

/// Words of 32 bits in hexadecimal digits.
pub(crate) fn hex(words: &[u32]) -> String {
    let mut text = String::new();
    for word in words {
        let between = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{between}{word:08x}"); // a String takes all
    }
    text
}

#[cfg(test)]
mod tests {
    use warpline_regmap::mailbox::{CloseReason, FailureCause, ListenFailure, Refusal};

    use super::*;

    /// No text of a code looks like Rust.
    #[test]
    fn codes_are_parts_of_sentences() {
        let all = [
            CloseReason::VALUES,
            FailureCause::VALUES,
            ListenFailure::VALUES,
            Refusal::VALUES,
        ];
        for values in all {
            for value in values {
                let text = meaning(values, value.value as u8);
                assert!(!text.ends_with('.') && text.contains(' '), "{text}");
                assert!(!text.contains(['{', '`', '"']), "{text}");
            }
        }
        let lost = meaning(FailureCause::VALUES, FailureCause::Lost as u8);
        assert_eq!(
            lost,
            "the peer has reset the connection, or the transport gave up, before start-up was complete"
        );
        let full = meaning(Refusal::VALUES, Refusal::Full as u8);
        assert_eq!(full, "no room for one more connection");
        assert_eq!(meaning(Refusal::VALUES, 200), "code 200");
    }

    #[test]
    fn words_are_hexadecimal() {
        assert_eq!(hex(&[0x12, 0xABCD_EF01]), "00000012 abcdef01");
    }
}

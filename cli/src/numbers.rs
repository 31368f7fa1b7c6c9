//! Numbers for people.

/// A number with a thin space between groups of three digits.
pub(crate) fn grouped(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun.
pub(crate) fn counted(count: impl Into<u64>, name: &str) -> String {
    let count = count.into();
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {name}{plural}", grouped(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_counted() {
        let numbers: [u32; 5] = [0, 12, 123, 1234, 1_234_567];
        let texts = numbers.map(grouped);
        assert_eq!(texts, ["0", "12", "123", "1 234", "1 234 567"]);
        assert_eq!(counted(1_u32, "FPDU"), "1 FPDU");
        assert_eq!(counted(2_u32, "FPDU"), "2 FPDUs");
    }
}

//! What is more than 5 % worse than before, in words.

/// How much is too much.
pub(crate) const TOLERANCE: f64 = 0.05;

/// Those of what, now, then that have grown too much.
pub(crate) fn growth(all: &[(&str, u64, u64)]) -> Vec<String> {
    all.iter()
        .filter(|&&(_, now, then)| now as f64 > then as f64 * (1.0 + TOLERANCE))
        .map(|(what, now, then)| format!("{now} {what} instead of {then}"))
        .collect()
}

/// All that is wrong, if anything is.
pub(crate) fn summary(wrong: Vec<String>) -> Option<String> {
    (!wrong.is_empty()).then(|| format!("more than 5 % worse than before: {}", wrong.join(", ")))
}

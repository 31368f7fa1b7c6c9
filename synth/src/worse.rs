//! What is more than 5 % worse than before, in words.

/// How much is too much.
pub(crate) const WORSE: f64 = 0.05;

/// Those of what, now, then that have grown too much.
pub(crate) fn larger(all: &[(&str, u64, u64)]) -> Vec<String> {
    all.iter()
        .filter(|&&(_, now, then)| now as f64 > then as f64 * (1.0 + WORSE))
        .map(|(what, now, then)| format!("{now} {what} instead of {then}"))
        .collect()
}

/// All that is wrong, if anything is.
pub(crate) fn told(wrong: Vec<String>) -> Option<String> {
    (!wrong.is_empty()).then(|| format!("more than 5 % worse than before: {}", wrong.join(", ")))
}

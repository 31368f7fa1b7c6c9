//! Regressions: figures that are more than 5 % worse than those of an earlier report.

/// What is tolerated, as a fraction of the earlier figure.
pub(crate) const TOLERANCE: f64 = 0.05;

/// Describes each of (name, now, before) that grew by more than the tolerance.
pub(crate) fn growth(all: &[(&str, u64, u64)]) -> Vec<String> {
    all.iter()
        .filter(|&&(_, now, then)| now as f64 > then as f64 * (1.0 + TOLERANCE))
        .map(|(what, now, then)| format!("{now} {what} instead of {then}"))
        .collect()
}

/// All regressions in one line, if there is one.
pub(crate) fn summary(regressions: Vec<String>) -> Option<String> {
    (!regressions.is_empty()).then(|| {
        format!(
            "more than 5 % worse than before: {}",
            regressions.join(", ")
        )
    })
}

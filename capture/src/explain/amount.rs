//! Amounts in words.

/// A number of octets, in words.
pub(super) fn in_octets(count: usize) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} octet{plural}")
}

//! Private data that both ends of a test have agreed on.

/// Octet i is 7 i + 3.
pub fn private_data(octets: usize) -> Vec<u8> {
    (0..octets).map(|i| (7 * i + 3) as u8).collect()
}

/// Octets of the front that are as agreed.
pub fn as_agreed(octets: &[u8]) -> usize {
    let agreed = private_data(octets.len());
    let pairs = octets.iter().zip(agreed);
    pairs.take_while(|(octet, other)| **octet == *other).count()
}

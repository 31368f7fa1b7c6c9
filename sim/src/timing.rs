//! When data entered and left the card.

/// When data entered and left the card, in cycles since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Cycles so far; [`clear_timing`](crate::Card::clear_timing) does not clear this number.
    pub cycles: u64,
    /// First beat accepted on `s_axis_segment`.
    pub first_beat: Option<u64>,
    /// Last one.
    pub last_beat: Option<u64>,
    /// First beat of write data accepted on `m_axi`.
    pub first_write: Option<u64>,
    /// Last response accepted on `m_axi`.
    pub last_response: Option<u64>,
    /// Octets written to host memory, completion entries included.
    pub written: u64,
}

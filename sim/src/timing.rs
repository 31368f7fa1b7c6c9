//! When data entered and left the card.

/// What happened when, in cycles since the card was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Cycles so far; this is the only number that [`Card::clear_timing`] leaves.
    pub cycles: u64,
    /// First beat taken from `s_axis_segment`.
    pub first_beat: Option<u64>,
    /// Last one.
    pub last_beat: Option<u64>,
    /// First beat taken from the write data of `m_axi`.
    pub first_write: Option<u64>,
    /// Last response taken on `m_axi`.
    pub last_response: Option<u64>,
    /// Octets written to host memory, completion entries included.
    pub written: u64,
}

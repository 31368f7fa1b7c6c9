//! Host memory of Read Requests: a ring of descriptors whose buffers follow each other.

use warpline_regmap::layout::receive_descriptor;
use warpline_regmap::transmit::READ_BUFFER_OCTETS;

/// Octets of a descriptor.
pub(crate) const DESCRIPTOR: u64 = 4 * receive_descriptor::WORDS as u64;

/// The word `at` octets behind the first descriptor; the first buffer lies at the bus address `buffers`.
pub(crate) fn descriptor_word(at: u64, buffers: u64) -> u32 {
    let buffer = buffers + at / DESCRIPTOR * READ_BUFFER_OCTETS as u64;
    let mut words = [0; receive_descriptor::WORDS];
    receive_descriptor::ADDRESS.put(&mut words, buffer);
    receive_descriptor::LENGTH.put(&mut words, READ_BUFFER_OCTETS as u64);
    words[(at % DESCRIPTOR) as usize / 4]
}

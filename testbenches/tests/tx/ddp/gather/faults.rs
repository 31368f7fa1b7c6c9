//! Faults planted in the written text.

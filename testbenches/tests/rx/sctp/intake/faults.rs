//! Faults planted in the written text are seen.

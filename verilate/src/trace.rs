//! Formats of waveforms.

/// Kind of waveform a model can write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trace {
    /// No waveform: the fastest model.
    #[default]
    Off,
    /// Value change dump: text, large.
    Vcd,
    /// Fast signal trace: compressed, for GTKWave and Surfer.
    Fst,
}

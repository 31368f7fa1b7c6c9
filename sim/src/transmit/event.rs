//! What the control program has to know at once.

/// What the control program has to know at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlEvent {
    /// The host has passed a message or taken one, or closed a stream.
    Host,
    /// The device was reset.
    Reset,
}

//! Two windows of `ARGUMENT` and `COMMAND`, for the host and for the control program, in front of the RTL's only one.

use warpline_regmap::register;

/// Words of `ARGUMENT`.
pub(crate) const ARGUMENTS: usize = register::ARGUMENT.count as usize;

/// Who accesses registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The host.
    Host,
    /// The card's control program.
    Control,
}

/// A window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    pub argument: [u32; ARGUMENTS],
    pub number: u32,
    pub busy: bool,
    pub failed: bool,
}

impl Window {
    /// What `COMMAND` reads.
    pub fn command(&self) -> u32 {
        let mut word = [0];
        register::COMMAND_NUMBER.put(&mut word, self.number.into());
        register::COMMAND_BUSY.put(&mut word, self.busy.into());
        register::COMMAND_FAILED.put(&mut word, self.failed.into());
        word[0]
    }
}

/// Where a command that a window has started is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It is started when the RTL is free.
    Waiting,
    /// The RTL carries it out.
    Running,
    /// The RTL has closed the stream; its requests are being flushed.
    Flushing,
}

/// Both windows.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    host: Window,
    control: Window,
    /// Commands under way, in the order of their start.
    pub under_way: Vec<(Side, Stage)>,
}

impl Commands {
    /// The window of a side.
    pub fn window(&mut self, side: Side) -> &mut Window {
        match side {
            Side::Host => &mut self.host,
            Side::Control => &mut self.control,
        }
    }

    /// A command is done.
    pub fn finish(&mut self, side: Side, failed: bool) {
        self.under_way.retain(|(who, _)| *who != side);
        let window = self.window(side);
        (window.busy, window.failed) = (false, failed);
    }
}

//! Commands to the transmit ring, and those that it has not answered.

use std::collections::VecDeque;

use warpline_hdl::tx::mpa::transmit_ring::ports;

/// What a command is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Octets that TCP sends for the first time.
    Send,
    /// Octets that TCP has got before, which are these.
    Again(Vec<u8>),
    /// Where the last FPDU boundary is.
    Measure,
    /// Where the edge is: a SEND without octets, which is refused with a report.
    Probe,
    /// Octets in front of the sequence number are free.
    Acknowledge,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub kind: Kind,
    pub stream: u8,
    /// Owner of the stream when the command was issued.
    pub owner: u32,
    pub sequence: u32,
    pub octets: u16,
}

impl Command {
    /// TDATA.
    pub fn word(&self) -> u64 {
        let kind = match self.kind {
            Kind::Send | Kind::Again(_) | Kind::Probe => ports::SEND,
            Kind::Measure => ports::MEASURE,
            Kind::Acknowledge => ports::ACKNOWLEDGE,
        };
        ports::command_word(kind, self.sequence, self.octets)
    }

    /// Its answer are octets.
    pub fn sends(&self) -> bool {
        matches!(self.kind, Kind::Send | Kind::Again(_))
    }
}

/// Commands that have been accepted and will be answered, by octets or by a report, in their order.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    commands: VecDeque<Command>,
}

impl Pending {
    /// A command was accepted.
    pub fn extend(&mut self, command: Option<Command>) {
        let answered = |command: &Command| command.kind != Kind::Acknowledge;
        self.commands.extend(command.filter(answered));
    }

    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// Whether some are of another owner of a stream.
    pub fn former(&self, stream: u8, owner: u32) -> bool {
        let mut commands = self.commands.iter();
        commands.any(|command| command.stream == stream && command.owner != owner)
    }

    /// Takes the SEND whose octets come now. `current` tells commands of present owners, which are not refused.
    pub fn octets(
        &mut self,
        stream: u8,
        sequence: u32,
        current: impl Fn(&Command) -> bool,
    ) -> Option<Command> {
        for (index, command) in self.commands.iter().enumerate() {
            if !command.sends() {
                continue;
            }
            if (command.stream, command.sequence) == (stream, sequence) {
                return self.commands.remove(index);
            }
            if current(command) {
                return None;
            }
        }
        None
    }

    /// Takes the MEASURE that is answered.
    pub fn answered(&mut self, stream: u8) -> Option<Command> {
        let measures = |command: &Command| command.kind == Kind::Measure;
        let mut all = self.commands.iter();
        let index = all.position(|command| command.stream == stream && measures(command))?;
        self.commands.remove(index)
    }

    /// Takes a command that is refused. The present owner's is its first probe.
    ///
    /// Of a former owner, those in front were executed, and those behind are refused. Which is the first one of these is not known
    /// while octets are under way, but how many there are is: the last one goes. No command of a new owner is issued before all of
    /// the former one's are answered, so a stream has those of one owner.
    pub fn refused(&mut self, stream: u8, current: impl Fn(&Command) -> bool) -> Option<Command> {
        let mine = |command: &Command| command.stream == stream;
        let index = match self.commands.iter().find(|command| mine(command)) {
            Some(first) if current(first) => {
                let questions = |command: &Command| mine(command) && !command.sends();
                let index = self.commands.iter().position(questions)?;
                (self.commands[index].kind == Kind::Probe).then_some(index)
            }
            _ => self.commands.iter().rposition(mine),
        };
        self.commands.remove(index?)
    }
}

//! What `warpline_regmap` says of the mailbox, as plain numbers.

use std::collections::VecDeque;

use warpline_regmap::Register;
use warpline_regmap::mailbox::{
    CARD_MESSAGE, CARD_MESSAGE_PENDING, HOST_MESSAGE, HOST_MESSAGE_PENDING, HOST_MESSAGE_RESET,
    INTERRUPT_MAILBOX, MAILBOX, MESSAGE_WORDS,
};
use warpline_regmap::register::{
    ARGUMENT, COMMAND, COMMAND_BUSY, COMMAND_FAILED, COMMAND_NUMBER, INTERRUPT_ENABLE,
    INTERRUPT_STATE, INTERRUPT_TEST,
};
use warpline_regmap::transmit::{CAPABILITIES, CAPABILITY_MAILBOX};

use crate::side::Write;

pub const HOST: usize = 0;
pub const CONTROL: usize = 1;

/// Bits of the octets that `strobe` names.
fn octets(strobe: u8) -> u32 {
    let lanes = (0..4).filter(|lane| strobe >> lane & 1 == 1);
    lanes.map(|lane| 0xff << (8 * lane)).sum()
}

/// Element of an array of words.
fn element(array: &Register, offset: u32) -> Option<usize> {
    let index = (offset & !3).checked_sub(array.offset)? / 4;
    (index < array.count).then_some(index as usize)
}

fn is(register: &Register, offset: u32) -> bool {
    offset & !3 == register.offset
}

#[derive(Clone, Default)]
pub struct Pair {
    pub arguments: [u32; 8],
    pub number: u8,
    pub busy: bool,
    pub failed: bool,
}

/// A word of a message: cycles from which on it had a value, and the value.
type History = Vec<(u64, u32)>;

/// Who answers an access.
#[derive(Debug, PartialEq, Eq)]
pub enum Place {
    Here,
    Passed,
}

/// How often something has happened that a run must meet.
#[derive(Default, Debug)]
pub struct Seen {
    pub barred: usize,
    pub busy: usize,
    pub pending: usize,
    pub raised: usize,
    pub cleared: usize,
    pub tested: usize,
    pub commands: [usize; 2],
    pub refused: usize,
    /// Commands that start in the same cycle, and those of them of which the control program's is first.
    pub together: usize,
    pub control_first: usize,
    pub foreign: usize,
    pub passed: usize,
    /// The interrupt in the cycle of its clearing; a PENDING that is cleared and set in the same cycle.
    pub kept: usize,
    pub host_again: usize,
    pub card_again: usize,
}

pub struct Model {
    pub pairs: [Pair; 2],
    windows: [Vec<History>; 2],
    pub host_pending: bool,
    pub card_pending: bool,
    pub reset: bool,
    pub state: bool,
    pub enable: bool,
    pub raise: bool,
    pub clear: bool,
    /// Commands in the order in which they are carried out.
    pub queue: VecDeque<usize>,
    pub last: usize,
    pub seen: Seen,
}

impl Model {
    pub fn new() -> Self {
        let window = || vec![vec![(0, 0)]; MESSAGE_WORDS];
        Self {
            pairs: Default::default(),
            windows: [window(), window()],
            host_pending: false,
            card_pending: false,
            reset: true,
            state: false,
            enable: false,
            raise: false,
            clear: false,
            queue: VecDeque::new(),
            last: CONTROL,
            seen: Seen::default(),
        }
    }

    /// The device is reset: messages stay in memory.
    pub fn restart(&mut self) {
        let windows = std::mem::take(&mut self.windows);
        let seen = std::mem::take(&mut self.seen);
        *self = Self {
            windows,
            seen,
            ..Self::new()
        };
    }

    pub fn place(side: usize, offset: u32, write: bool) -> Place {
        let here = element(&MAILBOX, offset).is_some()
            || element(&ARGUMENT, offset).is_some()
            || [COMMAND, HOST_MESSAGE, CARD_MESSAGE]
                .iter()
                .any(|r| is(r, offset));
        match here || write && side == CONTROL {
            true => Place::Here,
            false => Place::Passed,
        }
    }

    /// What `side` may read, in the cycle before `now`; `passed` is what `registers` has answered.
    pub fn read(&self, side: usize, offset: u32, now: u64, passed: u32) -> Vec<u32> {
        if let Some(index) = element(&MAILBOX, offset) {
            // the word of the third cycle before; a write of that cycle may count or not
            let history = &self.windows[1 - side][index];
            let at = |cycle: u64| {
                let before = history.iter().rev().find(|(from, _)| *from <= cycle);
                before.map_or(0, |(_, word)| *word)
            };
            return vec![at(now - 3), at(now - 2)];
        }
        if let Some(index) = element(&ARGUMENT, offset) {
            return vec![self.pairs[side].arguments[index]];
        }
        let mut word = [0];
        if is(&COMMAND, offset) {
            let pair = &self.pairs[side];
            let failed = pair.failed || side == CONTROL && self.reset;
            COMMAND_NUMBER.put(&mut word, pair.number.into());
            COMMAND_BUSY.put(&mut word, pair.busy.into());
            COMMAND_FAILED.put(&mut word, failed.into());
        } else if is(&HOST_MESSAGE, offset) {
            let reset = side == CONTROL && self.reset;
            HOST_MESSAGE_PENDING.put(&mut word, (self.host_pending && !reset).into());
            HOST_MESSAGE_RESET.put(&mut word, reset.into());
        } else if is(&CARD_MESSAGE, offset) {
            CARD_MESSAGE_PENDING.put(&mut word, self.card_pending.into());
        } else {
            word[0] = passed;
            if is(&CAPABILITIES, offset) {
                CAPABILITY_MAILBOX.put(&mut word, 1);
            }
            if is(&INTERRUPT_STATE, offset) {
                INTERRUPT_MAILBOX.put(&mut word, self.state.into());
            }
            if is(&INTERRUPT_ENABLE, offset) {
                INTERRUPT_MAILBOX.put(&mut word, self.enable.into());
            }
        }
        word.to_vec()
    }

    /// A cycle ends, in which these writes took effect, and the first command of `queue` ended. `now` is the next cycle.
    pub fn advance(&mut self, writes: [Option<Write>; 2], ended: Option<bool>, now: u64) {
        (self.raise, self.clear) = (false, false);
        let busy = [self.pairs[HOST].busy, self.pairs[CONTROL].busy];
        let (host, control) = (writes[HOST], writes[CONTROL]);
        // what clears a bit comes first, what sets it second
        let mut event = false;
        let one = |write: &Write, register: &Register, field: &warpline_regmap::Field| {
            let written = write.data & octets(write.strobe);
            is(register, write.offset) && field.get(&[written]) == 1
        };
        let host_wrote = |register, field| host.is_some_and(|write| one(&write, register, field));
        let barred = self.reset;
        let control_wrote =
            |register, field| !barred && control.is_some_and(|write| one(&write, register, field));
        // a message that is pending when the write takes effect stays
        let pending = [self.host_pending, self.card_pending];
        if host_wrote(&CARD_MESSAGE, &CARD_MESSAGE_PENDING) {
            self.card_pending = false;
        }
        if control_wrote(&HOST_MESSAGE, &HOST_MESSAGE_PENDING) {
            event |= std::mem::take(&mut self.host_pending);
        }
        if control_wrote(&CARD_MESSAGE, &CARD_MESSAGE_PENDING) {
            event |= !std::mem::replace(&mut self.card_pending, true);
        }
        if host_wrote(&HOST_MESSAGE, &HOST_MESSAGE_PENDING) {
            self.host_pending = true;
        }
        if host_wrote(&INTERRUPT_TEST, &INTERRUPT_MAILBOX) {
            event = true;
            self.seen.tested += 1;
        }
        if host_wrote(&INTERRUPT_STATE, &INTERRUPT_MAILBOX) {
            self.clear = true;
            self.state = false;
            self.seen.cleared += 1;
        }
        self.seen.kept += usize::from(event && self.clear);
        let taken = control_wrote(&HOST_MESSAGE, &HOST_MESSAGE_PENDING);
        let passed = host_wrote(&HOST_MESSAGE, &HOST_MESSAGE_PENDING);
        self.seen.host_again += usize::from(taken && passed && pending[HOST]);
        let taken = host_wrote(&CARD_MESSAGE, &CARD_MESSAGE_PENDING);
        let passed = control_wrote(&CARD_MESSAGE, &CARD_MESSAGE_PENDING);
        self.seen.card_again += usize::from(taken && passed && pending[CONTROL]);
        if event {
            self.state = true;
            self.raise = true;
            self.seen.raised += 1;
        }
        if let Some(write) = host.filter(|w| is(&INTERRUPT_ENABLE, w.offset) && w.strobe & 1 == 1) {
            self.enable = INTERRUPT_MAILBOX.get(&[write.data]) == 1;
        }
        let mut starts = [false; 2];
        for side in [HOST, CONTROL] {
            let Some(write) = writes[side] else { continue };
            let mask = octets(write.strobe);
            let merge = |word: u32| word & !mask | write.data & mask;
            let argument = element(&ARGUMENT, write.offset);
            let starts_one = is(&COMMAND, write.offset) && mask & 0xff != 0;
            if side == CONTROL && self.reset {
                let own = argument.is_some()
                    || starts_one
                    || element(&MAILBOX, write.offset).is_some()
                    || is(&CARD_MESSAGE, write.offset);
                self.seen.barred += usize::from(own && mask != 0);
                continue;
            }
            if let Some(index) = element(&MAILBOX, write.offset) {
                if pending[side] {
                    self.seen.pending += usize::from(mask != 0);
                } else {
                    let history = &mut self.windows[side][index];
                    let word = history.last().map_or(0, |(_, word)| *word);
                    history.push((now, merge(word)));
                }
            }
            if busy[side] {
                self.seen.busy += usize::from(argument.is_some() && mask != 0 || starts_one);
            } else if let Some(index) = argument {
                let word = &mut self.pairs[side].arguments[index];
                *word = merge(*word);
            } else if starts_one {
                let pair = &mut self.pairs[side];
                pair.number = COMMAND_NUMBER.get(&[write.data]) as u8;
                (pair.busy, pair.failed) = (true, false);
                starts[side] = true;
            }
            let known = Self::place(HOST, write.offset, true) == Place::Here;
            self.seen.foreign += usize::from(side == CONTROL && !known);
        }
        if let Some(write) = control
            && one(&write, &HOST_MESSAGE, &HOST_MESSAGE_RESET)
        {
            self.reset = false;
        }
        if let Some(failed) = ended
            && let Some(side) = self.queue.pop_front()
        {
            (self.pairs[side].busy, self.pairs[side].failed) = (false, failed);
            self.last = side;
            self.seen.commands[side] += 1;
            self.seen.refused += usize::from(failed);
        }
        self.seen.together += usize::from(starts == [true; 2]);
        let first = match starts == [true; 2] && self.last == HOST {
            true => CONTROL,
            false => HOST,
        };
        self.seen.control_first += usize::from(first == CONTROL);
        for side in [first, 1 - first] {
            if starts[side] {
                self.queue.push_back(side);
            }
        }
    }
}

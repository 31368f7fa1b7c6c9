//! Watches one channel: valid and its payload must not change before the transfer.

use crate::error::Rule;

/// The watch of a channel that the device drives.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    stalled: bool,
    payload: Vec<u32>,
}

impl Watch {
    /// Checks a cycle; `payload` is given in words.
    pub fn look(
        &mut self,
        valid: bool,
        ready: bool,
        payload: impl Iterator<Item = u32>,
    ) -> Result<(), Rule> {
        if self.stalled && !valid {
            return Err(Rule::ValidFell);
        }
        if self.stalled {
            if !self.payload.iter().copied().eq(payload) {
                return Err(Rule::PayloadChanged);
            }
        } else if valid && !ready {
            self.payload.clear();
            self.payload.extend(payload);
        }
        self.stalled = valid && !ready;
        Ok(())
    }

    /// Clears the state: the device is in reset.
    pub fn clear(&mut self) {
        self.stalled = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cycles: &[(bool, bool, u32)]) -> Result<(), Rule> {
        let mut watch = Watch::default();
        cycles
            .iter()
            .try_for_each(|&(valid, ready, word)| watch.look(valid, ready, [1, word].into_iter()))
    }

    #[test]
    fn a_payload_may_change_after_its_transfer() {
        let quiet = (false, true, 9);
        run(&[
            quiet,
            (true, true, 1),
            (true, true, 2),
            quiet,
            (false, false, 3),
        ])
        .unwrap();
        run(&[
            (true, false, 1),
            (true, false, 1),
            (true, true, 1),
            (false, false, 0),
        ])
        .unwrap();
        run(&[
            (true, false, 1),
            (true, true, 1),
            (true, false, 2),
            (true, true, 2),
        ])
        .unwrap();
    }

    #[test]
    fn a_payload_must_stay_before_its_transfer() {
        assert_eq!(
            run(&[(true, false, 1), (false, true, 1)]),
            Err(Rule::ValidFell)
        );
        let changed = Err(Rule::PayloadChanged);
        assert_eq!(run(&[(true, false, 1), (true, true, 2)]), changed);
        assert_eq!(
            run(&[(true, false, 1), (true, false, 1), (true, false, 0)]),
            changed
        );
    }
}

//! FPDUs that TCP has not accepted.

use std::collections::VecDeque;

/// Segments of whole FPDUs, the first of which may be partly accepted. TCP is given one at a time, so that an idle path carries an
/// FPDU a segment, as RFC 5044 §5 wants it.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    fpdus: VecDeque<Vec<u8>>,
    /// Octets of the first one that TCP has accepted.
    accepted: usize,
    /// Octets that it has not, of all of them.
    octets: usize,
}

impl Outgoing {
    /// Adds an FPDU behind the others.
    pub fn push(&mut self, fpdu: Vec<u8>) {
        self.octets += fpdu.len();
        self.fpdus.push_back(fpdu);
    }

    /// Octets that TCP has not accepted.
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// What TCP has not accepted of the first FPDU; `None` when it has accepted all.
    pub fn first(&self) -> Option<&[u8]> {
        self.fpdus.front().map(|fpdu| &fpdu[self.accepted..])
    }

    /// `count` octets behind the first `skip` that TCP has not accepted.
    pub fn copy(&self, skip: usize, count: usize) -> Vec<u8> {
        let octets = self.fpdus.iter().flatten().copied();
        octets.skip(self.accepted + skip).take(count).collect()
    }

    /// TCP accepts `count` octets of [`first`](Self::first).
    pub fn accept(&mut self, count: usize) {
        let Some(left) = self.first().map(<[u8]>::len) else {
            return;
        };
        let count = count.min(left);
        self.octets -= count;
        self.accepted += count;
        if count == left {
            self.fpdus.pop_front();
            self.accepted = 0;
        }
    }

    /// Drops all of it.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_leave_in_order_and_an_fpdu_at_a_time() {
        let mut outgoing = Outgoing::default();
        assert_eq!((outgoing.octets(), outgoing.first()), (0, None));
        outgoing.push(vec![1, 2, 3, 4]);
        outgoing.push(vec![5, 6]);
        outgoing.accept(3);
        assert_eq!((outgoing.octets(), outgoing.first()), (3, Some(&[4][..])));
        assert_eq!(outgoing.copy(0, 9), [4, 5, 6]);
        assert_eq!(outgoing.copy(1, 1), [5]);
        outgoing.accept(1);
        assert_eq!(
            (outgoing.octets(), outgoing.first()),
            (2, Some(&[5, 6][..]))
        );
        outgoing.accept(9);
        assert_eq!((outgoing.octets(), outgoing.first()), (0, None));
        outgoing.accept(1);
        outgoing.push(vec![7]);
        outgoing.clear();
        assert_eq!((outgoing.octets(), outgoing.first()), (0, None));
    }
}

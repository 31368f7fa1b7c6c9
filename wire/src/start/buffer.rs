//! The octets of one frame: of the peer's as far as it has arrived, or of ours as far as it is unsent.

use super::cause::Cause;
use super::frame::{Frame, Kind, MAX_FRAME_LEN, Progress, StartError};
use super::profile::Profile;

/// Room for the longest frame. A machine uses it for one direction at a time.
#[derive(Clone)]
pub(super) struct Buffer {
    octets: [u8; MAX_FRAME_LEN],
    len: usize,
    sent: usize,
}

impl Buffer {
    pub(super) const fn new() -> Self {
        Self {
            octets: [0; MAX_FRAME_LEN],
            len: 0,
            sent: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        (self.len, self.sent) = (0, 0);
    }

    /// All octets of the frame that the buffer holds.
    pub(super) fn octets(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }

    /// Takes octets up to the end of the peer's frame. Returns how many, and whether the frame is
    /// complete.
    pub(super) fn receive(
        &mut self,
        profile: Profile,
        kind: Kind,
        octets: &[u8],
    ) -> (usize, Result<bool, StartError>) {
        let mut rest = octets;
        loop {
            // The parser asks for the header first, so it never reads past a frame whose length it
            // does not know yet.
            let total = match profile.parse(self.octets(), kind) {
                Err(error) => break (octets.len().saturating_sub(rest.len()), Err(error)),
                Ok(Progress::Complete { .. }) => {
                    break (octets.len().saturating_sub(rest.len()), Ok(true));
                }
                Ok(Progress::NeedMore { total }) => total,
            };
            let room = self.octets.get_mut(self.len..total).unwrap_or_default();
            let taken = room.len().min(rest.len());
            if taken == 0 {
                break (octets.len().saturating_sub(rest.len()), Ok(false));
            }
            for (place, octet) in room.iter_mut().zip(rest) {
                *place = *octet;
            }
            self.len = self.len.saturating_add(taken);
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    /// The peer's frame, once it is complete.
    pub(super) fn frame(&self, profile: Profile, kind: Kind) -> Option<Frame<'_>> {
        match profile.parse(self.octets(), kind) {
            Ok(Progress::Complete { frame, .. }) => Some(frame),
            _ => None,
        }
    }

    /// What a FIN behind the octets received so far means.
    pub(super) fn cut(&self, profile: Profile, kind: Kind) -> Cause {
        let have = self.len;
        match profile.parse(self.octets(), kind) {
            Ok(Progress::NeedMore { total }) if have > 0 => Cause::Truncated { have, need: total },
            _ => Cause::Closed,
        }
    }

    /// Replaces the content by what `write` puts at its front; if that fails, nothing changes as long
    /// as `write` leaves its slice alone.
    pub(super) fn load<E>(
        &mut self,
        write: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        let len = write(&mut self.octets)?;
        (self.len, self.sent) = (len, 0);
        Ok(len)
    }

    /// What is still to be sent.
    pub(super) fn unsent(&self) -> &[u8] {
        self.octets().get(self.sent..).unwrap_or_default()
    }

    /// TCP has accepted this many more octets.
    pub(super) fn sent(&mut self, octets: usize) {
        self.sent = self.sent.saturating_add(octets).min(self.len);
    }
}

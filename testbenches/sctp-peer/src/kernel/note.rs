//! Events of SCTP, as the kernel writes them (RFC 6458 §6.1).

/// `sn_type` of the events that are subscribed to.
const ASSOCIATION: u16 = 0x8001;
const SHUTDOWN: u16 = 0x8005;
const ADAPTATION: u16 = 0x8007;
const SENDER_DRY: u16 = 0x8009;
/// All of them.
pub const KINDS: [u16; 4] = [ASSOCIATION, SHUTDOWN, ADAPTATION, SENDER_DRY];

/// `sac_state` of an association.
const UP: u16 = 0;
const LOST: u16 = 1;
const RESTART: u16 = 2;
const SHUTDOWN_COMPLETE: u16 = 3;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// The association is up, with so many streams.
    Up {
        /// Towards the peer.
        outbound: u16,
        /// From the peer.
        inbound: u16,
    },
    /// It is lost: the peer has aborted it, or does not answer.
    Lost,
    /// The peer has set it up anew.
    Restarted,
    /// It was shut down.
    ShutDown,
    /// The peer sends no more.
    PeerShutdown,
    /// The peer's adaptation layer indication.
    Adaptation(u32),
    /// All that was sent is acknowledged.
    Dry,
    /// Another one.
    Other,
}

impl Note {
    /// Reads an event.
    pub fn parse(octets: &[u8]) -> Self {
        let half = |at: usize| {
            let octets = octets.get(at..)?.first_chunk()?;
            Some(u16::from_ne_bytes(*octets))
        };
        let word = |at: usize| {
            let octets = octets.get(at..)?.first_chunk()?;
            Some(u32::from_ne_bytes(*octets))
        };
        match (half(0), half(8)) {
            (Some(ASSOCIATION), Some(UP)) => match (half(12), half(14)) {
                (Some(outbound), Some(inbound)) => Self::Up { outbound, inbound },
                _ => Self::Other,
            },
            (Some(ASSOCIATION), Some(LOST)) => Self::Lost,
            (Some(ASSOCIATION), Some(RESTART)) => Self::Restarted,
            (Some(ASSOCIATION), Some(SHUTDOWN_COMPLETE)) => Self::ShutDown,
            (Some(ASSOCIATION), Some(_)) => Self::Lost, // it could not be set up
            (Some(SHUTDOWN), _) => Self::PeerShutdown,
            (Some(ADAPTATION), _) => word(8).map_or(Self::Other, Self::Adaptation),
            (Some(SENDER_DRY), _) => Self::Dry,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_and_short_ones_are_none() {
        let event = |halves: &[u16]| -> Vec<u8> {
            halves.iter().flat_map(|half| half.to_ne_bytes()).collect()
        };
        let up = event(&[ASSOCIATION, 0, 20, 0, UP, 0, 4, 9, 1, 0]);
        assert_eq!(
            Note::parse(&up),
            Note::Up {
                outbound: 4,
                inbound: 9
            }
        );
        for short in 0..16 {
            assert_eq!(Note::parse(&up[..short]), Note::Other, "{short}");
        }
        let lost = event(&[ASSOCIATION, 0, 20, 0, LOST, 104, 0, 0, 1, 0]);
        assert_eq!(Note::parse(&lost), Note::Lost);
        let mut adaptation = event(&[ADAPTATION, 0, 16, 0]);
        assert_eq!(Note::parse(&adaptation), Note::Other);
        adaptation.extend(1_u32.to_ne_bytes());
        assert_eq!(Note::parse(&adaptation), Note::Adaptation(1));
        assert_eq!(
            Note::parse(&event(&[SENDER_DRY, 0, 12, 0, 1, 0])),
            Note::Dry
        );
        assert_eq!(
            Note::parse(&event(&[SHUTDOWN, 0, 12, 0, 1, 0])),
            Note::PeerShutdown
        );
    }
}

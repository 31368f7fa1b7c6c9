//! What is fixed for an association before it is set up.

use std::time::Duration;

use crate::error::Error;

/// Options of a listener or an association. A listener's are those of the associations that it accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Streams towards the peer that are asked for, 1 to 65,535. The peer may grant fewer.
    pub outbound: u16,
    /// Streams from the peer, at most; 1 to 65,535.
    pub inbound: u16,
    /// Adaptation layer indication (RFC 5061 §4.2.6) of this end's INIT or INIT-ACK; `None`: it has none.
    pub adaptation: Option<u32>,
    /// Octets of the largest packet, from SCTP's common header on, that is not cut; 512 to 65,024. Over UDP and IPv4 it is 28 less than the
    /// path's MTU.
    pub max_packet: u16,
    /// Octets that may wait to be acknowledged; 4,096 to 2^24.
    pub send_buffer: u32,
    /// Octets that may wait to be read, which the peer learns as its window; 4,096 to 2^24.
    pub receive_buffer: u32,
    /// Octets of the largest message of the peer; 1 to 2^24. A longer one ends the association.
    pub max_message: u32,
    /// Timers of retransmission.
    pub timers: Timers,
}

impl Default for Options {
    /// 16 streams each way, no indication, packets of 1472 octets, 256 KiB of buffers, messages up to 64 KiB.
    fn default() -> Self {
        Self {
            outbound: 16,
            inbound: 16,
            adaptation: None,
            max_packet: 1472,
            send_buffer: 256 << 10,
            receive_buffer: 256 << 10,
            max_message: 64 << 10,
            timers: Timers::default(),
        }
    }
}

/// How long SCTP waits, and how often it tries (RFC 9260 §16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// Time-out of the first retransmission of a new association.
    pub initial: Duration,
    /// Least time-out.
    pub least: Duration,
    /// Largest time-out.
    pub most: Duration,
    /// Attempts at INIT, 1 to 100.
    pub attempts: u16,
    /// Retransmissions, or heartbeats without an answer, in a row behind which the association is lost, 1 to 100.
    pub retransmissions: u16,
    /// Time between heartbeats, which find out whether a silent peer is there; each waits for the time-out as well.
    pub heartbeat: Duration,
}

impl Default for Timers {
    /// RFC 9260's: 1 s, 1 s, 60 s, 8, 10 and 30 s.
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            least: Duration::from_secs(1),
            most: Duration::from_secs(60),
            attempts: 8,
            retransmissions: 10,
            heartbeat: Duration::from_secs(30),
        }
    }
}

impl Options {
    /// Refuses what SCTP or the library does not have, which it would change in silence.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let within = |name, value: u64, least: u64, most: u64, range| match value {
            _ if (least..=most).contains(&value) => Ok(()),
            _ => Err(Error::Option { name, value, range }),
        };
        let buffers = (4096, 1 << 24, "4,096 to 16,777,216 octets");
        within("outbound", self.outbound.into(), 1, 65_535, "1 to 65,535")?;
        within("inbound", self.inbound.into(), 1, 65_535, "1 to 65,535")?;
        let packet = self.max_packet.into();
        within("max_packet", packet, 512, 65_024, "512 to 65,024 octets")?;
        let (least, most, range) = buffers;
        within("send_buffer", self.send_buffer.into(), least, most, range)?;
        within(
            "receive_buffer",
            self.receive_buffer.into(),
            least,
            most,
            range,
        )?;
        within(
            "max_message",
            self.max_message.into(),
            1,
            most,
            "1 to 16,777,216 octets",
        )?;
        let timers = &self.timers;
        within("attempts", timers.attempts.into(), 1, 100, "1 to 100")?;
        within(
            "retransmissions",
            timers.retransmissions.into(),
            1,
            100,
            "1 to 100",
        )?;
        let [initial, least, most] = timers.milliseconds();
        let range = "1 ms to an hour, least ≤ initial ≤ most";
        within("timers.least", least.into(), 1, initial.into(), range)?;
        within("timers.most", most.into(), initial.into(), 3_600_000, range)?;
        let heartbeat = milliseconds(timers.heartbeat).into();
        within(
            "timers.heartbeat",
            heartbeat,
            1,
            3_600_000,
            "1 ms to an hour",
        )
    }
}

impl Timers {
    /// Initial, least and largest time-out.
    pub(crate) fn milliseconds(&self) -> [u32; 3] {
        [self.initial, self.least, self.most].map(milliseconds)
    }
}

/// As the library counts time.
pub(crate) fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

//! What the control program reads in the registers of a stream, and the words of its commands.

use crate::bus::Bus;
use crate::network::Sequences;
use crate::settled::Settled;
use warpline_regmap::layout::{close, error_record, stream_context};
use warpline_regmap::mailbox::{StreamOptions, Transport};
use warpline_regmap::register::{
    COMPLETION_CONSUMER, COMPLETION_ENTRIES, COMPLETION_PRODUCER, ERROR_RECORD, RING_OCTETS,
    Register, SHAPE, SHAPE_STREAMS, STREAM_EDGE, STREAM_LIMIT,
};
use warpline_regmap::sctp::{sctp_capabilities, sctp_context};
use warpline_regmap::transmit::{
    CAPABILITIES, TRANSMIT_ARMED, TRANSMIT_IDLE, TRANSMIT_STATE, emss, transmit_context,
};

/// How far a stream's receiver is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    edge: u32,
    limit: u32,
}

impl Progress {
    pub fn of(bus: &mut impl Bus, stream: u8) -> Self {
        Self {
            edge: bus.read(element(&STREAM_EDGE, stream)),
            limit: bus.read(element(&STREAM_LIMIT, stream)),
        }
    }

    /// Whether octets are in the ring that are no whole FPDU. The ring is free up to the last whole one, unless the host lets
    /// the completion queue run full.
    pub fn is_incomplete(self, bus: &mut impl Bus) -> bool {
        let tail = self.limit.wrapping_sub(bus.read(RING_OCTETS.offset));
        if self.edge == tail {
            return false;
        }
        let entries = bus.read(COMPLETION_ENTRIES.offset);
        let producer = bus.read(COMPLETION_PRODUCER.offset);
        producer.wrapping_sub(bus.read(COMPLETION_CONSUMER.offset)) < entries
    }
}

fn element(register: &Register, stream: u8) -> u32 {
    let offset = register.stride.wrapping_mul(stream.into());
    register.offset.wrapping_add(offset)
}

/// Whether an error has frozen a stream: what arrives for it is dropped.
pub(crate) fn is_frozen(bus: &mut impl Bus, stream: u8) -> bool {
    error_record::VALID.get(&[bus.read(element(&ERROR_RECORD, stream))]) != 0
}

/// Streams of the device that have registers.
pub(crate) fn streams(bus: &mut impl Bus) -> u8 {
    let shape = [bus.read(SHAPE.offset)];
    SHAPE_STREAMS.get(&shape).min(TRANSMIT_STATE.count.into()) as u8
}

/// Whether the device has streams for a transport.
pub(crate) fn has(bus: &mut impl Bus, transport: Transport) -> bool {
    match transport {
        Transport::Tcp => true,
        Transport::Sctp => sctp_capabilities::SCTP.get(&[bus.read(CAPABILITIES.offset)]) != 0,
    }
}

/// Whether all that the host has posted to a stream's send queue is with TCP.
pub(crate) fn is_idle(bus: &mut impl Bus, stream: u8) -> bool {
    TRANSMIT_IDLE.get(&[bus.read(element(&TRANSMIT_STATE, stream))]) != 0
}

/// Whether the transmit side of a stream is armed: `CLOSE_STREAM` ends that.
pub(crate) fn is_armed(bus: &mut impl Bus, stream: u8) -> bool {
    TRANSMIT_ARMED.get(&[bus.read(element(&TRANSMIT_STATE, stream))]) != 0
}

/// Arguments of `ARM_STREAM`.
pub(crate) fn arm_stream(
    stream: u8,
    options: &StreamOptions,
    settled: &Settled,
) -> [u32; stream_context::WORDS] {
    let mut words = [0; stream_context::WORDS];
    let parameters = &settled.parameters;
    stream_context::STREAM.put(&mut words, stream.into());
    stream_context::MARKERS.put(&mut words, parameters.receive_markers.into());
    stream_context::CRC.put(&mut words, parameters.crc.into());
    stream_context::TAGGED_COMPLETIONS.put(&mut words, options.tagged_completions.into());
    stream_context::STRICT_MO.put(&mut words, options.strict_mo.into());
    stream_context::MSN_WINDOW.put(&mut words, options.msn_window.into());
    stream_context::LONG_ULPDUS.put(&mut words, options.long_ulpdus.into());
    stream_context::QUEUES.put(&mut words, options.queues.into());
    stream_context::PROTECTION_DOMAIN.put(&mut words, options.protection_domain.into());
    let session = settled.transport == Transport::Sctp;
    sctp_context::SCTP.put(&mut words, session.into());
    stream_context::SEQUENCE_START.put(&mut words, settled.sequences.receive.into());
    stream_context::FIRST_MSN.put(&mut words, options.receive_msn.into());
    words
}

/// Arguments of `ARM_TRANSMIT`.
pub(crate) fn arm_transmit(
    stream: u8,
    options: &StreamOptions,
    settled: &Settled,
) -> [u32; transmit_context::WORDS] {
    let mut words = [0; transmit_context::WORDS];
    let parameters = &settled.parameters;
    let Sequences { send, .. } = settled.sequences;
    transmit_context::STREAM.put(&mut words, stream.into());
    transmit_context::MARKERS.put(&mut words, parameters.send_markers.into());
    transmit_context::CRC.put(&mut words, parameters.crc.into());
    transmit_context::GATE.put(&mut words, (!parameters.gate().is_open()).into());
    transmit_context::EMSS.put(&mut words, settled.segment.into());
    transmit_context::SEQUENCE_START.put(&mut words, send.into());
    transmit_context::FIRST_MSN.put(&mut words, options.send_msn.into());
    words
}

/// Arguments of `SET_EMSS`.
pub(crate) fn set_emss(stream: u8, segment: u16) -> [u32; emss::WORDS] {
    let mut words = [0; emss::WORDS];
    emss::STREAM.put(&mut words, stream.into());
    emss::EMSS.put(&mut words, segment.into());
    words
}

/// Argument of `CLOSE_STREAM`.
pub(crate) fn close_stream(stream: u8) -> [u32; close::WORDS] {
    let mut words = [0; close::WORDS];
    close::STREAM.put(&mut words, stream.into());
    words
}

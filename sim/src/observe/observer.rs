//! Puts an observation together.

use warpline_regmap::Register;
use warpline_regmap::layout::error_record;
use warpline_regmap::register;
use warpline_regmap::transmit::{TRANSMIT_IDLE, TRANSMIT_OPEN, TRANSMIT_STATE};

use crate::error::Error;
use crate::observe::observation::{Observation, QueueFill, StreamObservation, StreamState};
use crate::simulation::Simulation;
use crate::transmit::commands::Side;

impl Simulation {
    /// The card at this moment. It takes the cycles of some dozens of register reads.
    pub fn observe(&mut self) -> Result<Observation, Error> {
        let mut observation = Observation {
            cycles: self.cycle,
            resets: self.activity.resets,
            sent: self.activity.sent,
            bus_errors: self.writes.refused + self.reads.refused,
            octets: self.look_at(register::OCTETS, 0)?,
            segments: self.look_at(register::SEGMENTS, 0)?,
            segments_dropped: self.look_at(register::SEGMENTS_DROPPED, 0)?,
            fpdus: self.look_at(register::FPDUS, 0)?,
            fpdus_discarded: self.look_at(register::FPDUS_DISCARDED, 0)?,
            payload_octets: self.look_at(register::PAYLOAD_OCTETS, 0)?,
            errors: self.look_at(register::ERRORS, 0)?,
            ring_octets: self.look_at(register::RING_OCTETS, 0)?,
            completions: self.completions_fill()?,
            streams: Vec::new(),
        };
        for stream in 0..self.activity.streams.len() as u8 {
            let of_stream = self.observe_stream(stream, observation.ring_octets)?;
            observation.streams.push(of_stream);
        }
        Ok(observation)
    }

    /// Element `index` of a register, as a host reads it. Never `COMMAND`: see the module.
    fn look_at(&mut self, register: Register, index: u32) -> Result<u32, Error> {
        let offset = register.at(index);
        match self.transmit {
            Some(_) => self.shared_read(Side::Host, offset),
            // `shared_read` would ask TCP for the state of its ring, which is one more transfer.
            None => self.read_rtl(Side::Host, offset),
        }
    }

    fn completions_fill(&mut self) -> Result<QueueFill, Error> {
        let entries = self.look_at(register::COMPLETION_ENTRIES, 0)?;
        // The consumer first: the other way round it may have overtaken the number read before.
        let consumed = self.look_at(register::COMPLETION_CONSUMER, 0)?;
        let produced = self.look_at(register::COMPLETION_PRODUCER, 0)?;
        Ok(QueueFill {
            used: produced.wrapping_sub(consumed).min(entries),
            entries,
        })
    }

    fn observe_stream(&mut self, number: u8, ring: u32) -> Result<StreamObservation, Error> {
        let index = u32::from(number);
        let edge = self.look_at(register::STREAM_EDGE, index)?;
        let limit = self.look_at(register::STREAM_LIMIT, index)?;
        let transmit = self.look_at(TRANSMIT_STATE, index)?;
        let error = self.error_words(index)?;
        let drained = self.octets_to_send(number).is_none();
        let idle = TRANSMIT_IDLE.get(&[transmit]) == 1 && drained;
        let open = TRANSMIT_OPEN.get(&[transmit]) == 1;
        let Some(stream) = self.activity.streams.get_mut(usize::from(number)) else {
            return Ok(StreamObservation::default());
        };
        let state = match () {
            () if !stream.armed => StreamState::Free,
            () if stream.closing => StreamState::Closing,
            () if error.is_some() => StreamState::Frozen,
            () if stream.ended => StreamState::Ended,
            () if open => StreamState::Open,
            () => StreamState::Armed,
        };
        let window = match stream.armed {
            true => limit.wrapping_sub(edge).min(ring),
            false => 0,
        };
        Ok(StreamObservation {
            state,
            arms: stream.arms,
            received: stream.received(edge),
            window,
            ring: if stream.armed { ring - window } else { 0 },
            buffers: stream.outstanding(),
            sends: stream.sends(idle),
            transmit,
            sent: stream.sent,
            error: error.filter(|_| stream.armed),
        })
    }

    /// The error record of a stream, if it is valid.
    fn error_words(&mut self, stream: u32) -> Result<Option<[u32; error_record::WORDS]>, Error> {
        let base = register::ERROR_RECORD.at(stream);
        let mut words = [0; error_record::WORDS];
        for (index, word) in (0..).zip(&mut words) {
            *word = self.read_rtl(Side::Host, base + 4 * index)?;
            if index == 0 && error_record::VALID.get(&[*word; error_record::WORDS]) == 0 {
                return Ok(None);
            }
        }
        Ok(Some(words))
    }
}

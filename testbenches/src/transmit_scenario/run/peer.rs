//! The peer's octets.

use warpline_wire::send::Message;

use super::super::common::{ScenarioError, memory_octet};
use super::super::plan::{Step, Wrong};
use super::state::{Arrival, Result, Run, words};

impl Run<'_> {
    /// The peer sends an FPDU of a stream with this wrong about it.
    pub(super) fn peer(&mut self, number: usize, wrong: Wrong) -> Result<()> {
        let cycle = self.cycle;
        let current = self.streams[number].as_mut().expect("it is there");
        if current.judge.reads.doubt.is_some() {
            // whether there is an error now shows soon
            current.steps.push_front(Step::Peer(wrong));
            return Ok(());
        }
        let sink = current.life.sink;
        let stag = match wrong {
            Wrong::Stag => sink.stag ^ 0x8000_0000,
            _ => sink.stag,
        };
        let from = current.peer.position();
        let message = Message::Tagged {
            stag,
            to: 0,
            rsvd_ulp: 0,
        };
        let payload: Vec<u8> = (0..16).map(|i| memory_octet(sink.address + i)).collect();
        let mut octets = vec![];
        let made = current
            .peer
            .append_message(message, &payload, 1460, &mut octets);
        made.map_err(|error| ScenarioError::Plan(error.to_string()))?;
        if wrong == Wrong::Crc
            && let Some(last) = octets.last_mut()
        {
            *last ^= 1;
        }
        current.judge.open |= wrong != Wrong::Crc;
        if wrong != Wrong::Nothing {
            current.judge.frozen = current.judge.frozen.or(Some(cycle));
            self.coverage.count("error of the peer");
        } else if current.life.gate {
            self.coverage.count("gate opens");
        }
        let first = current.life.peer_start.wrapping_add(from);
        self.arrivals.push_back(Arrival {
            number,
            first,
            octets,
            at: 0,
        });
        Ok(())
    }

    pub(super) fn drive_peer(&mut self) {
        let p = self.ports;
        let arrival = self.arrivals.front();
        self.model
            .set(p.s_axis_segment_tvalid, arrival.is_some().into());
        if let Some(arrival) = arrival {
            let end = arrival.octets.len().min(arrival.at + self.beat);
            let beat = &arrival.octets[arrival.at..end];
            let mut data = [0; 64];
            data[..beat.len()].copy_from_slice(beat);
            self.model
                .set_words(p.s_axis_segment_tdata, &words(&data[..self.beat]));
            self.model
                .set(p.s_axis_segment_tkeep, u64::MAX >> (64 - beat.len()));
            let last = end == arrival.octets.len();
            self.model.set(p.s_axis_segment_tlast, last.into());
            self.model
                .set(p.s_axis_segment_tdest, arrival.number as u64);
            self.model.set(p.s_axis_segment_tuser, arrival.first.into());
        }
    }

    pub(super) fn sample_arrivals(&mut self) {
        let p = self.ports;
        if self.passes(p.s_axis_segment_tvalid, p.s_axis_segment_tready)
            && let Some(arrival) = self.arrivals.front_mut()
        {
            arrival.at += self.beat;
            if arrival.at >= arrival.octets.len() {
                self.arrivals.pop_front();
            }
        }
    }
}

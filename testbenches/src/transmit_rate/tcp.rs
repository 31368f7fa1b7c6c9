//! TCP: what it asks for, gets and gives.

use warpline_hdl::tx::mpa::transmit_ring::ports;
use warpline_wire::ddp::{TAGGED_HEADER_LEN, UNTAGGED_HEADER_LEN};
use warpline_wire::mpa;
use warpline_wire::rdmap::READ_REQUEST_LEN;
use warpline_wire::send::Message;

use super::{
    ETHERNET, MOST_ASKED, PART, RateError, Run, SENDS, SINK, SINK_STAG, Segment, octets, reads,
    words,
};

impl Run<'_> {
    pub(super) fn drive_send(&mut self) {
        let p = self.ports;
        if self.command.is_none() {
            self.command = self.next_command();
        }
        self.model
            .set(p.s_axis_send_tvalid, self.command.is_some().into());
        if let Some((kind, stream, position, octets)) = self.command {
            let data = ports::command_word(kind, position, octets);
            self.model.set(p.s_axis_send_tdata, data);
            self.model.set(p.s_axis_send_tdest, stream as u64);
        }
    }

    /// What TCP commands next, of the streams in turn.
    pub(super) fn next_command(&mut self) -> Option<(u64, usize, u32, u16)> {
        let count = self.streams.len();
        for i in 0..count {
            let number = (self.turn + i) % count;
            let silent = self.workload.silent && number == 0;
            let stream = &mut self.streams[number];
            if stream.came != stream.acknowledged && !silent {
                stream.acknowledged = stream.came;
                return Some((ports::ACKNOWLEDGE, number, stream.came, 0));
            }
            if stream.edge != stream.asked && self.sends.len() < SENDS {
                let from = stream.asked;
                let octets = (stream.edge - from).min(MOST_ASKED.into()) as u16;
                stream.asked += u32::from(octets);
                self.turn = number + 1;
                self.sends.push_back((number, from, from, stream.asked));
                return Some((ports::SEND, number, from, octets));
            }
        }
        None
    }

    pub(super) fn sample_transmit(&mut self) -> Result<(), RateError> {
        let p = self.ports;
        if self.get(p.s_axis_send_tvalid) & self.get(p.s_axis_send_tready) == 1 {
            self.command = None;
            let now = self.since_start();
            let accepted = &mut self.stations.send_accepted;
            *accepted = accepted.or(now);
        }
        if self.get(p.m_axis_transmit_tvalid) == 0 {
            return Ok(());
        }
        self.first.get_or_insert(self.cycle);
        self.last_beat = self.cycle;
        let keep = self.get(p.m_axis_transmit_tkeep);
        let (valid, last) = (
            keep.count_ones() as usize,
            self.get(p.m_axis_transmit_tlast) == 1,
        );
        let words = self.model.to_words(p.m_axis_transmit_tdata);
        let beat: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let dest = self.get(p.m_axis_transmit_tdest) as usize;
        let user = self.get(p.m_axis_transmit_tuser) as u32;
        let Some((number, from, next, end)) = self.sends.pop_front() else {
            return Err(self.wrong("octets that TCP has not asked for".into()));
        };
        let behind = next + valid as u32;
        let contiguous = keep.trailing_ones() as usize == valid;
        let full = valid == self.beat || last;
        if (number, from) != (dest, user)
            || !contiguous
            || !full
            || behind > end
            || last != (behind == end)
        {
            let what = format!("a beat of stream {dest} from {user} on, keep {keep:#x}");
            return Err(self.wrong(what));
        }
        let due = &self.streams[number].due[next as usize..behind as usize];
        if due != &beat[..valid] {
            let found = &beat[..valid];
            let what = format!("stream {dest} at {next}: {found:02x?}, due {due:02x?}");
            return Err(self.wrong(what));
        }
        let stream = &mut self.streams[number];
        let mut fpdus = 0;
        while stream.ends.front().is_some_and(|&e| e <= behind as usize) {
            stream.ends.pop_front();
            fpdus += 1;
        }
        match last {
            true => stream.came = end,
            false => self.sends.push_front((number, from, behind, end)),
        }
        if self.workload.silent && number == 0 {
            return Ok(());
        }
        self.count.cycle = self.cycle;
        self.count.octets += valid as u64;
        self.count.fpdus += fpdus;
        for (mark, share) in self.marks.iter_mut().zip([1, 3]) {
            if mark.cycle == 0 && 4 * self.count.octets >= share * self.total {
                *mark = self.count;
            }
        }
        Ok(())
    }

    pub(super) fn sample_reports(&mut self) -> Result<(), RateError> {
        let p = self.ports;
        if self.get(p.m_axis_status_tvalid) == 1 {
            let words = self.model.to_words(p.m_axis_status_tdata);
            let kind = u64::from(words[ports::STATUS_KIND / 32] >> (ports::STATUS_KIND % 32) & 3);
            let number = self.get(p.m_axis_status_tdest) as usize;
            if kind != ports::MOVED {
                return Err(self.wrong(format!("a report of kind {kind}")));
            }
            self.streams[number].edge = words[ports::STATUS_EDGE / 32];
            let now = self.since_start();
            let moved = &mut self.stations.edge_moved;
            *moved = moved.or(now);
        }
        if self.get(p.m_axis_window_tvalid) == 1 {
            let limit = (self.get(p.m_axis_window_tdata) >> 32) as u32;
            let number = self.get(p.m_axis_window_tdest) as usize;
            let stream = self.receiving.iter_mut().find(|s| s.number == number);
            if let Some(stream) = stream {
                stream.limit = limit;
            }
        }
        Ok(())
    }

    /// The next beat of a segment, if a stream has room for a segment.
    pub(super) fn drive_segment(&mut self) -> Result<(), RateError> {
        let p = self.ports;
        // a stream reports a window before it is armed, too
        let set_up = self.feeds && self.accesses.is_empty() && self.under_way.is_none();
        let feeds = set_up && self.hold == 0;
        self.hold -= u64::from(set_up && !feeds);
        if self.segment.at >= self.segment.octets.len() && feeds {
            let count = self.receiving.len();
            let turn = (0..count).map(|i| (self.fed + i) % count);
            if let Some(i) = turn.into_iter().find(|&i| self.is_due(i)) {
                self.fed = i + 1;
                self.segment = self.next_segment(i)?;
            }
        }
        let Segment {
            octets,
            at,
            dest,
            first,
        } = &self.segment;
        let beat = &octets[*at..octets.len().min(at + self.beat)];
        let model = &mut *self.model;
        model.set(p.s_axis_segment_tvalid, u64::from(!beat.is_empty()));
        if beat.is_empty() {
            return Ok(());
        }
        let mut data = [0; 64];
        data[..beat.len()].copy_from_slice(beat);
        model.set_words(p.s_axis_segment_tdata, &words(&data[..self.beat]));
        model.set(p.s_axis_segment_tkeep, u64::MAX >> (64 - beat.len()));
        let last = at + beat.len() == octets.len();
        model.set(p.s_axis_segment_tlast, last.into());
        model.set(p.s_axis_segment_tdest, *dest as u64);
        model.set(p.s_axis_segment_tuser, (*first).into());
        Ok(())
    }

    /// The stream has something to send, and there is room for it.
    fn is_due(&self, index: usize) -> bool {
        let stream = &self.receiving[index];
        let asks = self.workload.reads() && stream.number < self.streams.len();
        let ulpdu = match asks {
            true => UNTAGGED_HEADER_LEN + READ_REQUEST_LEN,
            false => ETHERNET,
        };
        let behind = stream.sequence + (ulpdu + mpa::MIN_OVERHEAD) as u32;
        behind <= stream.limit && (!asks || self.may_ask(stream))
    }

    fn next_segment(&mut self, index: usize) -> Result<Segment, RateError> {
        let stream = &mut self.receiving[index];
        let number = stream.number;
        let mut sent = vec![];
        let mulpdu = ETHERNET as u16;
        let asks = self
            .streams
            .get(number)
            .filter(|stream| !stream.asks.is_empty());
        if let Some(sending) = asks {
            let (message, payload) = reads::message(&sending.asks, stream.asked);
            stream
                .writer
                .append_message(message, &payload, mulpdu, &mut sent)?;
            stream.asked += 1;
        } else {
            let payload = ETHERNET - TAGGED_HEADER_LEN;
            // Its part of the region, from the start again when it is full.
            let places = PART / payload as u64;
            let place = stream.payload / payload as u64 % places;
            let to = number as u64 * PART + place * payload as u64;
            let message = Message::Tagged {
                stag: SINK_STAG,
                to,
                rsvd_ulp: 0,
            };
            let payload = octets(SINK + to, payload);
            stream
                .writer
                .append_message(message, &payload, mulpdu, &mut sent)?;
            stream.payload += payload.len() as u64;
        }
        let first = stream.sequence;
        stream.sequence += sent.len() as u32;
        Ok(Segment {
            at: 0,
            dest: number,
            first,
            octets: sent,
        })
    }

    pub(super) fn sample_segment(&mut self) {
        let p = self.ports;
        if self.get(p.s_axis_segment_tvalid) & self.get(p.s_axis_segment_tready) == 1 {
            let beat = self.beat.min(self.segment.octets.len() - self.segment.at);
            self.segment.at += beat;
            self.count.received += beat as u64;
            if self.workload.reads() && self.segment.at == self.segment.octets.len() {
                self.start.get_or_insert(self.cycle);
            }
        }
    }
}

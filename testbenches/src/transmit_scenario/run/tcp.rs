//! TCP: commands, the octets that answer them, and reports.

use fastrand::Rng;
use warpline_hdl::tx::mpa::transmit_ring::ports;

use super::super::common::{Coverage, RING};
use super::state::{Current, Pending, Phase, Result, Run, Send};
use crate::stimulus::chance;

impl Run<'_> {
    /// TCP's next command.
    pub(super) fn tcp(&mut self) {
        let go = self.rhythms.command.go(&mut self.rng);
        if self.tcp.offer.is_some() || !go || self.tcp.sends.len() > 12 {
            return;
        }
        let count = self.streams.len();
        for i in 0..count {
            let number = (self.tcp.turn + i) % count;
            let Some(current) = &mut self.streams[number] else {
                continue;
            };
            let alive = matches!(
                current.phase,
                Phase::Running | Phase::Checking | Phase::Closing
            );
            if !alive || current.accesses > 0 && current.phase == Phase::SetUp {
                continue;
            }
            if let Some(pending) = command(current, &mut self.rng, &mut self.coverage) {
                self.tcp.turn = number + 1;
                self.tcp.offer = Some((number, pending));
                return;
            }
        }
    }

    pub(super) fn drive_tcp(&mut self) {
        let p = self.ports;
        let transmit = self.rhythms.transmit.go(&mut self.rng);
        let status = self.rhythms.status.go(&mut self.rng);
        self.model.set(p.m_axis_transmit_tready, transmit.into());
        self.model.set(p.m_axis_status_tready, status.into());
        self.model
            .set(p.s_axis_send_tvalid, self.tcp.offer.is_some().into());
        if let Some((number, pending)) = self.tcp.offer {
            let start = self.streams[number]
                .as_ref()
                .map_or(0, |current| current.life.start);
            let sequence = start.wrapping_add(pending.from);
            let data = ports::command_word(pending.kind, sequence, pending.octets);
            self.model.set(p.s_axis_send_tdata, data);
            self.model.set(p.s_axis_send_tdest, number as u64);
        }
    }

    pub(super) fn sample_transmit(&mut self) -> Result<()> {
        let p = self.ports;
        if self.passes(p.s_axis_send_tvalid, p.s_axis_send_tready)
            && let Some((number, pending)) = self.tcp.offer.take()
            && let Some(current) = &mut self.streams[number]
        {
            if pending.kind != ports::ACKNOWLEDGE {
                current.pending.push_back(pending);
            }
            if pending.kind == ports::SEND && !pending.illegal {
                self.tcp.sends.push_back(Send {
                    number,
                    from: pending.from,
                    next: pending.from,
                    end: pending.from + u32::from(pending.octets),
                });
            }
        }
        if !self.passes(p.m_axis_transmit_tvalid, p.m_axis_transmit_tready) {
            return Ok(());
        }
        self.moved = self.cycle;
        let keep = self.get(p.m_axis_transmit_tkeep);
        let last = self.get(p.m_axis_transmit_tlast) == 1;
        let valid = keep.count_ones() as usize;
        let words = self.model.to_words(p.m_axis_transmit_tdata);
        let beat: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let dest = self.get(p.m_axis_transmit_tdest) as usize;
        let user = self.get(p.m_axis_transmit_tuser) as u32;
        let (mut send, start) = loop {
            let Some(send) = self.tcp.sends.pop_front() else {
                return Err(self.wrong(format!(
                    "octets of stream {dest} that TCP has not asked for"
                )));
            };
            let current = self.streams[send.number].as_ref();
            let start = current.map_or(0, |current| current.life.start);
            let closing = current.is_none_or(|current| current.judge.closing);
            if (send.number, start.wrapping_add(send.from)) == (dest, user) {
                break (send, start);
            }
            // one that a close was in front of is refused
            if !closing || send.next != send.from {
                return Err(self.wrong(format!(
                    "a beat of stream {dest} from {user} on, due {send:?} of {start}"
                )));
            }
        };
        let behind = send.next + valid as u32;
        let contiguous = keep.trailing_ones() as usize == valid;
        let full = valid == self.beat || last;
        if !contiguous || !full || behind > send.end || last != (behind == send.end) {
            return Err(self.wrong(format!("a beat of stream {dest} from {user} + {start} on, keep {keep:#x}, last {last}, due {send:?}")));
        }
        let Some(current) = &mut self.streams[dest] else {
            return Err(self.wrong(format!("a beat of stream {dest}, which is closed")));
        };
        let known = current.judge.octets.len();
        let at = send.next as usize;
        let again = known.saturating_sub(at).min(valid);
        if at > known || current.judge.octets[at..at + again] != beat[..again] {
            return Err(self.wrong(format!(
                "stream {dest} from {at} on: not what was sent before"
            )));
        }
        current.judge.octets.extend(&beat[again..valid]);
        let judged = current.judge.judge(&mut self.coverage);
        send.next = behind;
        match last {
            true => {
                let sends = |pending: &Pending| pending.kind == ports::SEND && !pending.illegal;
                if let Some(at) = current.pending.iter().position(sends) {
                    current.pending.remove(at);
                }
            }
            false => self.tcp.sends.push_front(send),
        }
        judged.map_err(|what| self.wrong(format!("stream {dest}: {what}")))
    }

    pub(super) fn sample_reports(&mut self) -> Result<()> {
        let p = self.ports;
        if !self.passes(p.m_axis_status_tvalid, p.m_axis_status_tready) {
            return Ok(());
        }
        let words = self.model.to_words(p.m_axis_status_tdata);
        let kind = u64::from(words[ports::STATUS_KIND / 32] >> (ports::STATUS_KIND % 32) & 3);
        let octets = words[ports::STATUS_OCTETS / 32] as u16;
        let number = self.get(p.m_axis_status_tdest) as usize;
        let Some(Some(current)) = self.streams.get_mut(number) else {
            return Err(self.wrong(format!(
                "a report of kind {kind} of stream {number}, which is not armed"
            )));
        };
        let edge = words[ports::STATUS_EDGE / 32].wrapping_sub(current.life.start);
        let free = words[ports::STATUS_FREE / 32];
        let what =
            format!("stream {number}: a report of kind {kind}, edge {edge}, {octets} octets");
        let current_edge = current.edge;
        if kind != ports::REFUSED {
            // it never goes back, and never beyond the ring
            let most = current.acknowledged as usize + RING;
            if edge < current_edge || edge as usize > most || free as usize > RING {
                return Err(self.wrong(format!(
                    "{what}; the edge was {current_edge}, {free} octets free"
                )));
            }
            if edge > current_edge {
                self.moved = self.cycle;
            }
            current.edge = edge;
            current.judge.edge(edge);
        }
        match kind {
            ports::MOVED => Ok(()),
            ports::ANSWER => {
                let measures = |pending: &Pending| pending.kind == ports::MEASURE;
                let Some(at) = current.pending.iter().position(measures) else {
                    return Err(self.wrong(format!("{what}, that TCP has not asked for")));
                };
                let asked = current.pending.remove(at).expect("it is there");
                current.measuring = false;
                current.measured = Some(octets);
                let length = asked.octets.into();
                let edges = (asked.edge, edge);
                current
                    .judge
                    .measured(asked.from, length, edges, octets.into());
                Ok(())
            }
            ports::REFUSED => {
                if let Some(at) = current.pending.iter().position(|pending| pending.illegal) {
                    current.pending.remove(at);
                    self.coverage.count("command refused");
                    return Ok(());
                }
                if !current.judge.closing {
                    return Err(self.wrong(what));
                }
                current.refused += 1;
                self.coverage.count("command refused behind a close");
                Ok(())
            }
            _ => Err(self.wrong(what)),
        }
    }
}

/// What TCP asks for next.
fn command(current: &mut Current, rng: &mut Rng, coverage: &mut Coverage) -> Option<Pending> {
    let tcp = current.life.tcp;
    let edge = current.edge;
    let pending = |kind, from, octets| Pending {
        kind,
        from,
        octets,
        illegal: false,
        edge,
    };
    let came = current.judge.octets.len() as u32;
    if came > current.acknowledged && chance(rng, tcp.acknowledges) {
        let to = match rng.bool() {
            true => came,
            false => rng.u32(current.acknowledged + 1..=came),
        };
        if to < came {
            coverage.count("acknowledged in part");
        }
        current.acknowledged = to;
        return Some(pending(ports::ACKNOWLEDGE, to, 0));
    }
    if chance(rng, tcp.illegal) && current.pending.len() < 4 && !current.judge.closing {
        let legal = current.acknowledged;
        let (kind, from, octets) = match rng.u8(0..3) {
            0 => (ports::SEND, legal, 0),
            1 => (3, legal, 1),
            _ => (ports::SEND, legal.wrapping_sub(rng.u32(1..9)), 1),
        };
        return Some(Pending {
            illegal: true,
            ..pending(kind, from, octets)
        });
    }
    if current.asked > current.acknowledged && chance(rng, tcp.again) {
        let from = rng.u32(current.acknowledged..current.asked);
        let most = (current.asked - from).min(tcp.most.into());
        coverage.count("octets again");
        return Some(pending(ports::SEND, from, rng.u32(1..=most) as u16));
    }
    let most = (edge - current.asked).min(tcp.most.into());
    if most == 0 || current.measuring {
        return None;
    }
    let from = current.asked;
    if let Some(measured) = current.measured.take() {
        // without an FPDU that ends within reach, a part of one
        let octets = match measured {
            0 => most,
            _ => measured.into(),
        };
        if measured > 0 {
            coverage.count("whole FPDUs by MEASURE");
        }
        current.asked += octets;
        return Some(pending(ports::SEND, from, octets as u16));
    }
    if chance(rng, tcp.measured) && current.pending.len() < 4 {
        current.measuring = true;
        let reach = rng.u32(most..=most + 3000) as u16;
        return Some(pending(ports::MEASURE, from, reach));
    }
    let octets = if rng.bool() { most } else { rng.u32(1..=most) };
    current.asked += octets;
    Some(pending(ports::SEND, from, octets as u16))
}

//! What comes out is held against what is due.

use warpline_hdl::tx::mpa::transmit_ring::ports::{
    ANSWER, MOVED, REFUSED, STATUS_EDGE, STATUS_FREE, STATUS_KIND, STATUS_OCTETS,
};
use warpline_testbenches::octets::{lowest, octets};

use crate::model::{Command, Connection, Effect};
use crate::support::{Bench, Due, DueAnswer, RING, Report, TransmitBeat};

/// Cycles from `close` to the last FPDU that may still become visible.
const CLOSING: usize = 8;

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
> Bench<W, K, D, LOGK, LOGD, S>
{
    /// Outputs of a cycle, and handshakes.
    pub fn sample(&mut self) -> Result<(), String> {
        self.sample_complete()?;
        self.sample_freed()?;
        self.sample_transmit()?;
        self.sample_status()?;
        let b = &self.lockstep.block;
        if b.s_valid.val() && b.s_ready.val() {
            (self.offers[0], self.idle) = (false, 0);
            self.times.beats.push(self.cycle);
            self.written += K;
            if self.written >= self.writes[0].octets.len() {
                self.decided.extend(self.writes.pop_front());
                self.written = 0;
            }
        }
        if b.s_axis_send.tvalid.val() && b.s_axis_send.tready.val() {
            (self.offers[1], self.idle) = (false, 0);
            self.times.commands.push(self.cycle);
            let command = self.commands.pop_front().unwrap();
            self.execute(command);
        }
        Ok(())
    }

    /// Notes what a command must lead to.
    fn execute(&mut self, command: Command) {
        let dead = Connection::dead();
        let known = usize::from(command.stream) < S;
        let connection = match known {
            true => &mut self.streams[usize::from(command.stream)],
            false => &mut { dead },
        };
        let effect = connection.effect(command);
        match effect {
            Effect::Octets(octets) => {
                self.cover.sends += 1;
                self.sends.push_back(Due { command, octets });
            }
            Effect::Freed(position) => {
                self.cover.freed += 1;
                connection.acknowledged.push(position);
                self.freed.push_back((command.stream, position));
            }
            Effect::Nothing => self.cover.ignored += 1,
            Effect::Search(..) | Effect::Refused => self.answers.push_back(DueAnswer {
                stream: command.stream,
                effect,
                edges: connection.edges.len() - 1,
                acknowledged: connection.acknowledged.len() - 1,
            }),
        }
    }

    fn sample_complete(&mut self) -> Result<(), String> {
        let b = &self.lockstep.block;
        if !b.complete.val() {
            return Ok(());
        }
        let (stream, visible) = (b.complete_stream.val().index(), b.complete_visible.val());
        let Some(fpdu) = self.decided.pop_front() else {
            return Err("complete, but no FPDU is due".into());
        };
        if stream != usize::from(fpdu.stream) {
            return Err(format!("complete for {stream}, due for {}", fpdu.stream));
        }
        self.idle = 0;
        self.times.completes.push(self.cycle);
        let mut due = false;
        if let Some(connection) = self.streams.get_mut(stream) {
            connection.broken |= fpdu.failed;
            due = connection.live && !connection.broken;
            if !connection.live && self.cycle <= connection.closed + CLOSING {
                due = visible;
            }
            if due {
                let end = fpdu.position + fpdu.octets.len() as u64;
                connection.edges.push(end);
                connection.boundaries.insert(end);
            }
        }
        self.cover.visible += usize::from(due);
        self.cover.invisible += usize::from(!due);
        match due == visible {
            true => Ok(()),
            false => Err(format!("visible is {visible}, due {due}: stream {stream}")),
        }
    }

    fn sample_freed(&mut self) -> Result<(), String> {
        let b = &self.lockstep.block;
        if !b.freed.val() {
            return Ok(());
        }
        let found = (
            b.freed_stream.val().index() as u8,
            b.freed_position.val().to_u32(),
        );
        let Some((stream, position)) = self.freed.pop_front() else {
            return Err(format!("freed {found:?}, but nothing is due"));
        };
        if found != (stream, position as u32) {
            return Err(format!("freed {found:?}, due {stream}, {position}"));
        }
        (self.idle, self.streams[usize::from(stream)].freed) = (0, position);
        self.times.freed.push(self.cycle);
        Ok(())
    }

    fn sample_transmit(&mut self) -> Result<(), String> {
        let m = &self.lockstep.block.m_axis_transmit;
        if !m.tvalid.val() {
            return match self.held_beat {
                Some(_) => Err("m_axis_transmit: not valid until accepted".into()),
                None => Ok(()),
            };
        }
        let kept = (0..K)
            .take_while(|lane| m.tkeep.val().get_bit(*lane))
            .count();
        if m.tkeep.val() != lowest::<K>(kept) || kept == 0 || (kept < K && !m.tlast.val()) {
            return Err(format!(
                "tkeep is {:x}, tlast {}",
                m.tkeep.val(),
                m.tlast.val()
            ));
        }
        let beat: TransmitBeat = (
            octets(m.tdata.val()),
            kept,
            m.tlast.val(),
            m.tdest.val().index() as u8,
            m.tuser.val().to_u32(),
        );
        if self.held_beat.as_ref().is_some_and(|held| *held != beat) {
            return Err("m_axis_transmit: not stable until accepted".into());
        }
        let ready = m.tready.val();
        let (octets, _, last, stream, sequence) = beat.clone();
        self.held_beat = Some(beat).filter(|_| !ready);
        if !ready {
            return Ok(());
        }
        (self.idle, _) = (0, self.times.transmits.push(self.cycle));
        self.came.extend(&octets[..kept]);
        let Some(due) = self.sends.front() else {
            return Err("octets, but no SEND".into());
        };
        if (stream, sequence) != (due.command.stream, due.command.sequence) {
            return Err(format!("{stream}, {sequence:08x}: due {:?}", due.command));
        }
        if last {
            let came = std::mem::take(&mut self.came);
            if came != due.octets {
                return Err(format!("other octets, {} of {:?}", came.len(), due.command));
            }
            self.sends.pop_front();
        }
        Ok(())
    }

    fn sample_status(&mut self) -> Result<(), String> {
        let m = &self.lockstep.block.m_axis_status;
        if !m.tvalid.val() {
            return match self.held_report {
                Some(_) => Err("m_axis_status: not valid until accepted".into()),
                None => Ok(()),
            };
        }
        let data = m.tdata.val();
        let report = Report {
            stream: m.tdest.val().index() as u8,
            kind: data.get_bits::<2>(STATUS_KIND).index() as u64,
            edge: data.get_bits::<32>(STATUS_EDGE).to_u32(),
            free: data.get_bits::<32>(STATUS_FREE).to_u32(),
            octets: data.get_bits::<16>(STATUS_OCTETS).to_u32() as u16,
        };
        if self.held_report.is_some_and(|held| held != report) {
            return Err("m_axis_status: not stable until accepted".into());
        }
        let ready = m.tready.val();
        self.held_report = Some(report).filter(|_| !ready);
        if !ready {
            return Ok(());
        }
        self.idle = 0;
        self.times.reports.push((self.cycle, report));
        match report.kind {
            MOVED => self.check_moved(report),
            _ => self.check_answer(report),
        }
        .map_err(|text| format!("{report:?}: {text}"))
    }

    fn check_moved(&mut self, report: Report) -> Result<(), String> {
        self.cover.moved += 1;
        let stream = usize::from(report.stream);
        let Some(connection) = self.streams.get(stream).filter(|_| report.octets == 0) else {
            return Err("no such stream, or an answer".into());
        };
        if let Some(edge) = numbers(connection, self.reported[stream].max(1), 0, report) {
            self.reported[stream] = edge;
            return Ok(());
        }
        // a report that was made before the stream was armed again
        match numbers(&self.earlier[stream], 0, 0, report) {
            Some(_) => Ok(()),
            None => Err(format!(
                "edges {:?}",
                &connection.edges[self.reported[stream]..]
            )),
        }
    }

    fn check_answer(&mut self, report: Report) -> Result<(), String> {
        let Some(due) = self.answers.pop_front() else {
            return Err("no answer is due".into());
        };
        if report.stream != due.stream {
            return Err(format!("due {due:?}"));
        }
        let connection = self.streams.get(usize::from(due.stream));
        let live = connection.filter(|connection| connection.live);
        if live.is_some_and(|c| numbers(c, due.edges, due.acknowledged, report).is_none()) {
            return Err(format!(
                "edge or free, {:?}",
                live.map(|c| &c.edges[due.edges..])
            ));
        }
        let (kind, mut answers) = match due.effect {
            Effect::Search(from, length) => {
                let connection = connection.unwrap();
                let edges = connection.edges[due.edges..].iter();
                let answers = edges.map(|edge| connection.measured(from, length, *edge));
                self.cover.boundaries += usize::from(report.octets > 0);
                self.cover.no_boundary += usize::from(report.octets == 0);
                self.cover.far += usize::from(report.octets.saturating_add(256) < length);
                (ANSWER, answers.collect())
            }
            _ => {
                self.cover.refused += 1;
                (REFUSED, vec![0])
            }
        };
        answers.dedup();
        match report.kind == kind && answers.contains(&report.octets) {
            true => Ok(()),
            false => Err(format!("due kind {kind}, {answers:?}")),
        }
    }
}

/// The number of the edge in a report, if it and the free octets are those of a time behind the numbers given.
fn numbers(
    connection: &Connection,
    edges: usize,
    acknowledged: usize,
    report: Report,
) -> Option<usize> {
    let free = |edge: u64, acked: &u64| {
        let used = edge.wrapping_sub(*acked);
        u64::from(report.free) == (RING as u64).wrapping_sub(used)
    };
    let mut found = connection.edges.iter().enumerate().skip(edges);
    let (number, edge) = found.find(|(_, edge)| connection.sequence(**edge) == report.edge)?;
    let mut acks = connection.acknowledged[acknowledged..].iter();
    acks.any(|acked| free(*edge, acked)).then_some(number)
}

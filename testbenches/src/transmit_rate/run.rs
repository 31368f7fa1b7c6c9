//! A run: what the host writes, what is due, and each cycle.

use std::collections::VecDeque;

use warpline_hdl::reset::RESET_CYCLES;
use warpline_regmap::Field;
use warpline_regmap::layout::{completion, stag_entry, stream_context};
use warpline_regmap::register::{self, command};
use warpline_regmap::transmit::{
    self, Element, Flags, Gather, Inline, Payload, SendRequest, Target, send_event, send_ring,
    status, transmit_context,
};
use warpline_verilate::{Direction, Model, Port};
use warpline_wire::ddp::MAX_HEADER_LEN;
use warpline_wire::mpa;
use warpline_wire::rdmap::queue;
use warpline_wire::send::{CrcField, FpduWriter, Message, ddp_segments};

use super::{
    ALIGNED, Access, COMPLETIONS, DOMAIN, ENTRIES, Mark, PART, PATIENCE, Ports, QUEUE, RINGS,
    RateError, ReadStations, Receiving, Requests, Run, SINK, SINK_STAG, SOURCE, SOURCE_STAG,
    Segment, Sending, Stations, UnderWay, Workload, octets, reads, words,
};

impl<'m> Run<'m> {
    pub(super) fn new(
        model: &'m mut Model,
        beat: usize,
        workload: Workload,
        count: usize,
        wrong_octet: Option<u64>,
    ) -> Result<Self, RateError> {
        let ports = Ports::find(model, "")?;
        let inputs: Vec<Port> = model
            .ports()
            .filter(|(_, info)| info.direction == Direction::Input)
            .map(|(port, _)| port)
            .collect();
        for port in inputs {
            model.set_words(port, &[]);
        }
        let mut run = Self {
            model,
            ports,
            beat,
            workload,
            wrong_octet,
            cycle: 0,
            accesses: VecDeque::new(),
            under_way: None,
            streams: vec![],
            turn: 0,
            command: None,
            sends: VecDeque::new(),
            receiving: vec![],
            fed: 0,
            segment: Segment::default(),
            feeds: false,
            hold: 0,
            reads: VecDeque::new(),
            addresses: VecDeque::new(),
            written: VecDeque::new(),
            write_at: None,
            responses: 0,
            placed: 0,
            buffered: 0,
            queue: vec![[0; 32]; COMPLETIONS as usize],
            total: 0,
            count: Mark::default(),
            marks: [Mark::default(); 2],
            last_beat: 0,
            rung: None,
            start: None,
            first: None,
            starved: 0,
            stations: Stations::default(),
            read_stations: ReadStations::default(),
        };
        let emss = (u32::from(mpa::MIN_MULPDU)..=0xFFFF)
            .find(|&emss| usize::from(mpa::mulpdu(emss, workload.markers)) >= workload.ulpdu);
        let emss = emss.ok_or_else(|| RateError::Workload("no EMSS".into()))?;
        if workload.fpdus() > 1
            && usize::from(mpa::mulpdu(emss, workload.markers)) != workload.ulpdu
        {
            return Err(RateError::Workload(format!(
                "no EMSS gives ULPDUs of {} octets",
                workload.ulpdu
            )));
        }
        for number in 0..workload.streams {
            let stream = run.stream(number, count, mpa::mulpdu(emss, workload.markers))?;
            if !(workload.silent && number == 0) {
                run.total += stream.due.len() as u64;
            }
            run.streams.push(stream);
        }
        let first = if workload.reads() {
            0
        } else {
            workload.streams
        };
        for number in first..workload.streams + workload.receiving {
            run.receiving.push(Receiving {
                number,
                writer: FpduWriter::new(false, CrcField::Computed),
                payload: 0,
                asked: 0,
                sequence: 0,
                limit: 0,
            });
        }
        run.set_up(emss);
        run.reset()?;
        Ok(run)
    }

    /// The requests of a stream, and what is due of them.
    pub(super) fn stream(
        &self,
        number: usize,
        count: usize,
        mulpdu: u16,
    ) -> Result<Sending, RateError> {
        let impossible = |error: transmit::SlotError| RateError::Workload(error.to_string());
        let Workload {
            ulpdu, requests, ..
        } = self.workload;
        let mut stream = Sending::default();
        let mut writer = FpduWriter::new(self.workload.markers, CrcField::Computed);
        let payload = (ulpdu - self.workload.header()) * self.workload.fpdus();
        let stride = (payload as u64).next_multiple_of(ALIGNED);
        let places = (PART / stride).max(1);
        for index in 0..count {
            let offset = number as u64 * PART + index as u64 % places * stride;
            let flags = Flags {
                signalled: index + 1 == count,
                ..Flags::default()
            };
            let message = octets(SOURCE + offset, payload);
            let request = match requests {
                Requests::Memory { .. } => {
                    let element = Element {
                        stag: SOURCE_STAG,
                        length: payload as u32,
                        offset,
                    };
                    let (stag, rsvd_ulp) = (0x2300 + number as u32, 0x40);
                    let target = Target::Tagged {
                        stag,
                        offset,
                        rsvd_ulp,
                    };
                    let header = Message::Tagged {
                        stag,
                        to: offset,
                        rsvd_ulp,
                    };
                    let gather = Gather::new(&[element]).map_err(impossible)?;
                    Some((target, Payload::Gather(gather), header))
                }
                Requests::Inline => {
                    let rsvd_ulp = [0x43, 0, 0, 0, 0];
                    let target = Target::Untagged { queue: 0, rsvd_ulp };
                    let msn = index as u32 + 1;
                    let header = Message::Untagged {
                        qn: 0,
                        msn,
                        rsvd_ulp,
                    };
                    let inline = Inline::new(&message).map_err(impossible)?;
                    Some((target, Payload::Inline(inline), header))
                }
                Requests::Reads { .. } => None,
            };
            let header = match request {
                Some((target, carries, header)) => {
                    let request = SendRequest::new(target, flags, index as u64, carries)
                        .map_err(impossible)?;
                    stream.slots.push(request.emit());
                    header
                }
                None => {
                    let (asked, header) = reads::read(number, offset, payload);
                    stream.asks.push(asked);
                    header
                }
            };
            for segment in ddp_segments(header, payload as u64, mulpdu)? {
                let mut octets = [0; MAX_HEADER_LEN];
                let length = segment.header.emit(&mut octets);
                let part = segment.payload.start as usize..segment.payload.end as usize;
                writer.append(&octets[..length], &message[part], &mut stream.due)?;
                stream.ends.push_back(stream.due.len());
            }
        }
        stream.buffers = reads::buffers(&stream.asks);
        Ok(stream)
    }

    /// Commands and doorbells.
    pub(super) fn set_up(&mut self, emss: u32) {
        let write = Access::Write;
        self.accesses.extend([
            write(register::COMPLETION_BASE_LOW.offset, QUEUE as u32),
            write(register::COMPLETION_BASE_HIGH.offset, (QUEUE >> 32) as u32),
            write(register::COMPLETION_ENTRIES.offset, COMPLETIONS),
        ]);
        let reads = self.workload.reads();
        for (stag, address, remote) in [(SOURCE_STAG, SOURCE, 0), (SINK_STAG, SINK, 1)] {
            self.give(
                command::WRITE_STAG,
                &[
                    (stag_entry::STAG, stag.into()),
                    (stag_entry::PROTECTION_DOMAIN, DOMAIN),
                    (stag_entry::REMOTE_WRITE, remote),
                    (
                        transmit::REMOTE_READ,
                        u64::from(stag == SOURCE_STAG && reads),
                    ),
                    (stag_entry::LENGTH, 16 * PART),
                    (stag_entry::ADDRESS, address),
                ],
            );
        }
        let Workload {
            streams,
            receiving,
            markers,
            ..
        } = self.workload;
        for number in 0..(streams + receiving) as u64 {
            self.give(
                command::ARM_STREAM,
                &[
                    (stream_context::STREAM, number),
                    (stream_context::CRC, 1),
                    (
                        stream_context::QUEUES,
                        u64::from(reads) << queue::READ_REQUEST,
                    ),
                    (stream_context::PROTECTION_DOMAIN, DOMAIN),
                    (stream_context::FIRST_MSN, 1),
                ],
            );
            if number >= streams as u64 {
                continue;
            }
            self.give(
                transmit::ARM_TRANSMIT,
                &[
                    (transmit_context::STREAM, number),
                    (transmit_context::MARKERS, markers.into()),
                    (transmit_context::CRC, 1),
                    (transmit_context::EMSS, emss.into()),
                    (transmit_context::FIRST_MSN, 1),
                ],
            );
            self.give(
                transmit::SET_SEND_RING,
                &[
                    (send_ring::STREAM, number),
                    (send_ring::ENTRIES, ENTRIES.into()),
                    (send_ring::BASE, RINGS + number * PART),
                ],
            );
        }
        if reads {
            return self.set_up_reads();
        }
        for number in 0..streams {
            let mut word = [0];
            let count = self.streams[number].slots.len();
            transmit::SEND_PRODUCER_STREAM.put(&mut word, number as u64);
            transmit::SEND_PRODUCER_COUNT.put(&mut word, count as u64);
            let offset = transmit::SEND_PRODUCER.offset;
            self.accesses.push_back(Access::Write(offset, word[0]));
        }
    }

    pub(super) fn give(&mut self, number: u32, fields: &[(Field, u64)]) {
        let mut words = [0; 8];
        for (field, value) in fields {
            field.put(&mut words, *value);
        }
        for (index, word) in (0..).zip(words) {
            let offset = register::ARGUMENT.at(index);
            self.accesses.push_back(Access::Write(offset, word));
        }
        let command = Access::Write(register::COMMAND.offset, number);
        self.accesses.extend([command, Access::Done]);
    }

    pub(super) fn wrong(&self, what: String) -> RateError {
        let cycle = self.cycle;
        RateError::Wrong { cycle, what }
    }

    pub(super) fn get(&self, port: Port) -> u64 {
        self.model.get(port)
    }

    pub(super) fn edge(&mut self) -> Result<(), RateError> {
        self.model.set(self.ports.aclk, 1);
        self.model.eval()?;
        Ok(())
    }

    pub(super) fn settle(&mut self) -> Result<(), RateError> {
        self.model.set(self.ports.aclk, 0);
        self.model.eval()?;
        Ok(())
    }

    pub(super) fn reset(&mut self) -> Result<(), RateError> {
        for cycle in 0..RESET_CYCLES + 8 {
            self.model.set(self.ports.aresetn, u64::from(cycle >= 4));
            self.settle()?;
            self.edge()?;
        }
        let p = self.ports;
        for ready in [
            p.m_axis_window_tready,
            p.s_axil_bready,
            p.s_axil_rready,
            p.m_axi_awready,
            p.m_axi_wready,
            p.m_axi_arready,
            p.m_axis_msix_tready,
            p.m_axis_transmit_tready,
            p.m_axis_status_tready,
        ] {
            self.model.set(ready, 1);
        }
        for _ in 0..RESET_CYCLES {
            self.cycle()?;
        }
        Ok(())
    }

    /// Until all that is due has left, and what is under way has come to its end.
    pub(super) fn all(&mut self) -> Result<(), RateError> {
        self.feeds = true;
        self.last_beat = self.cycle;
        while self.count.octets < self.total {
            self.cycle()?;
            if self.cycle > self.last_beat + PATIENCE {
                let what = format!("{} of {} octets, no more", self.count.octets, self.total);
                return Err(self.wrong(what));
            }
        }
        self.feeds = false;
        // TCP's segment on its way ends; the last writes and completions come
        for _ in 0..2000 {
            self.cycle()?;
        }
        self.end()
    }

    /// Nothing is left, and the completions are those of the last requests.
    pub(super) fn end(&self) -> Result<(), RateError> {
        let silent = |number: usize| self.workload.silent && number == 0;
        let mut due: Vec<(u64, u64)> = vec![];
        for (number, stream) in self.streams.iter().enumerate() {
            if !silent(number) && !stream.slots.is_empty() {
                due.push((number as u64, stream.slots.len() as u64 - 1));
            }
        }
        let mut found = vec![];
        for entry in &self.queue {
            let words = words(entry);
            match completion::KIND.get(&words) as u32 {
                0 => {}
                transmit::kind::SEND if send_event::STATUS.get(&words) == u64::from(status::OK) => {
                    found.push((
                        send_event::STREAM.get(&words),
                        send_event::REQUEST.get(&words),
                    ));
                }
                _ => return Err(self.wrong(format!("an entry of {words:x?}"))),
            }
        }
        found.sort_unstable();
        if found != due {
            return Err(self.wrong(format!("completions of {found:?}, due {due:?}")));
        }
        let sent: u64 = self.receiving.iter().map(|stream| stream.payload).sum();
        if self.placed != sent {
            let what = format!("{} octets placed of {sent}", self.placed);
            return Err(self.wrong(what));
        }
        self.check_buffered()?;
        let left = !self.sends.is_empty() || !self.reads.is_empty();
        match left || self.segment.at < self.segment.octets.len() {
            true => Err(self.wrong("something is still under way".into())),
            false => Ok(()),
        }
    }

    pub(super) fn cycle(&mut self) -> Result<(), RateError> {
        self.drive_registers();
        self.drive_memory();
        self.drive_send();
        self.drive_segment()?;
        self.settle()?;
        self.sample_registers()?;
        self.sample_reads()?;
        self.sample_writes()?;
        self.sample_transmit()?;
        self.sample_reports()?;
        self.sample_segment();
        self.edge()?;
        self.cycle += 1;
        Ok(())
    }

    pub(super) fn drive_registers(&mut self) {
        let p = self.ports;
        if self.under_way.is_none() {
            self.under_way = self.accesses.pop_front().map(|access| UnderWay {
                access,
                address: true,
                data: matches!(access, Access::Write(..)),
            });
        }
        let mut valids = [false; 3];
        if let Some(UnderWay {
            access,
            address,
            data,
        }) = self.under_way
        {
            match access {
                Access::Write(offset, word) => {
                    self.model.set(p.s_axil_awaddr, offset.into());
                    self.model.set(p.s_axil_wdata, word.into());
                    self.model.set(p.s_axil_wstrb, 0xf);
                    valids = [address, data, false];
                }
                Access::Done => {
                    let offset = register::COMMAND.offset;
                    self.model.set(p.s_axil_araddr, offset.into());
                    valids = [false, false, address];
                }
            }
        }
        let [aw, w, ar] = valids;
        self.model.set(p.s_axil_awvalid, aw.into());
        self.model.set(p.s_axil_wvalid, w.into());
        self.model.set(p.s_axil_arvalid, ar.into());
    }

    pub(super) fn sample_registers(&mut self) -> Result<(), RateError> {
        let p = self.ports;
        let Some(mut now) = self.under_way else {
            return Ok(());
        };
        let passes = |valid, ready| self.get(valid) & self.get(ready) == 1;
        let doorbell = matches!(now.access, Access::Write(offset, _) if offset == transmit::SEND_PRODUCER.offset);
        now.address &= !(passes(p.s_axil_awvalid, p.s_axil_awready)
            || passes(p.s_axil_arvalid, p.s_axil_arready));
        let data = passes(p.s_axil_wvalid, p.s_axil_wready);
        now.data &= !data;
        let answered = passes(p.s_axil_bvalid, p.s_axil_bready);
        let read = passes(p.s_axil_rvalid, p.s_axil_rready);
        let word = [self.get(p.s_axil_rdata) as u32];
        if doorbell && data {
            self.rung.get_or_insert(self.cycle);
        }
        if doorbell && answered {
            self.start.get_or_insert(self.cycle);
        }
        if read && register::COMMAND_BUSY.get(&word) == 1 {
            now.address = true;
        } else if read || answered {
            self.under_way = None;
            if read && register::COMMAND_FAILED.get(&word) == 1 {
                return Err(self.wrong("a command was refused".into()));
            }
            return Ok(());
        }
        self.under_way = Some(now);
        Ok(())
    }
}

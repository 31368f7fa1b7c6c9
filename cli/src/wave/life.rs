//! The cycles in which FPDUs pass the ports of the device.

use std::ops::Range;

use warpline_hdl::rx::ddp::deliver::COMPLETE;
use warpline_wave::{Error, Samples, Trace};

use super::fpdu::Fpdu;
use super::signals::Signals;

/// What a burst is that does not write payload.
const ENTRY: &str = "completion entry";
/// The stream of a replay.
const STREAM: u64 = 0;

/// Something that passes a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    /// From the first cycle in which it is offered to that of its last transfer.
    pub cycles: Range<u64>,
    /// Cycles of its transfers.
    pub transfers: Vec<u64>,
    /// Number of the FPDU that it belongs to.
    pub fpdu: Option<u64>,
    /// What it is beside that.
    pub what: String,
    /// The same in a word or two.
    pub brief: String,
    /// It says that something failed.
    pub bad: bool,
}

/// A port, and what passes it, by cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Port {
    pub name: &'static str,
    pub passes: Vec<Pass>,
}

impl Port {
    /// What of an FPDU passes it.
    pub fn of(&self, number: u64) -> impl Iterator<Item = &Pass> + Clone {
        let mine = move |pass: &&Pass| pass.fpdu == Some(number);
        self.passes.iter().filter(mine)
    }
}

/// The life of an FPDU.
pub struct Life {
    pub(super) signals: Signals,
    pub(super) ports: Vec<Port>,
    pub(super) fpdu: Fpdu,
    /// Cycles from the first beat that holds octets of it to the last trace of it.
    pub cycles: Range<u64>,
}

/// An FPDU at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The port.
    pub port: &'static str,
    /// Cycles from the first transfer to the last one, both included.
    pub cycles: Range<u64>,
    /// Transfers.
    pub transfers: u64,
}

impl Life {
    /// Follows an FPDU through a waveform of the device in which a card replays `all` on stream 0, from TCP sequence number
    /// `sequence_start` on. `None` if no octet of it arrives.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the waveform is not the device's.
    pub fn of(
        trace: &mut Trace,
        all: &[Fpdu],
        fpdu: &Fpdu,
        sequence_start: u32,
    ) -> Result<Option<Self>, Error> {
        let signals = Signals::read(trace)?;
        let ports = Follow {
            signals: &signals,
            all,
            fpdu,
            sequence_start,
        };
        let ports = ports.ports();
        let mine = ports.iter().flat_map(|port| port.of(fpdu.number));
        let from = mine.clone().map(|pass| pass.cycles.start).min();
        let to = mine.map(|pass| pass.cycles.end).max();
        let Some((from, to)) = from.zip(to) else {
            return Ok(None);
        };
        Ok(Some(Self {
            signals,
            ports,
            fpdu: fpdu.clone(),
            cycles: from..to,
        }))
    }

    /// The ports that it passes, in the order of their blocks.
    #[must_use]
    pub fn stages(&self) -> Vec<Stage> {
        let stages = self.ports.iter().filter_map(|port| {
            let mut transfers: Vec<u64> = port
                .of(self.fpdu.number)
                .flat_map(|pass| pass.transfers.iter().copied())
                .collect();
            transfers.sort_unstable();
            Some(Stage {
                port: port.name,
                cycles: *transfers.first()?..*transfers.last()? + 1,
                transfers: transfers.len() as u64,
            })
        });
        stages.collect()
    }
}

struct Follow<'f> {
    signals: &'f Signals,
    all: &'f [Fpdu],
    fpdu: &'f Fpdu,
    sequence_start: u32,
}

/// An item that passes in whole cycles of its own.
fn pass(transfers: Vec<u64>, fpdu: Option<u64>, what: String) -> Pass {
    let from = transfers.first().copied().unwrap_or(0);
    let to = transfers.last().map_or(from, |last| last + 1);
    Pass {
        cycles: from..to,
        transfers,
        fpdu,
        brief: what.clone(),
        what,
        bad: false,
    }
}

/// An item that is offered until it is accepted.
fn offered(cycles: Range<u64>, fpdu: Option<u64>, what: String) -> Pass {
    Pass {
        cycles: cycles.clone(),
        ..pass(vec![cycles.end - 1], fpdu, what)
    }
}

impl Follow<'_> {
    /// The FPDU that begins at a position.
    fn at(&self, position: u64) -> Option<u64> {
        let all = self.all;
        let found = all.binary_search_by_key(&position, |fpdu| fpdu.position.into());
        found.ok().map(|index| all[index].number)
    }

    fn ports(&self) -> Vec<Port> {
        let s = self.signals;
        let segments = self.segments();
        let windows = self.windows(&segments);
        let mut ports = vec![Port {
            name: "segment in",
            passes: segments,
        }];
        let offers = s.offers(&s.fpdu_valid, &s.fpdu_ready);
        let found = offers.into_iter().map(|cycles| {
            let position = s.fpdu_position.word(cycles.end - 1);
            offered(cycles, self.at(position), String::new())
        });
        ports.push(Port {
            name: "scan to fetch",
            passes: found.collect(),
        });
        // what follows the start of an FPDU in `fetch` comes in the order of the starts
        let starts = s.highs(&s.start_valid).into_iter();
        let starts: Vec<_> = starts
            .map(|cycle| self.at(s.start_position.word(cycle)))
            .collect();
        let of = |index: usize| starts.get(index).copied().flatten();
        let beats = |valid: &Samples, last| {
            let runs = s.runs(|cycle| valid.high(cycle), last);
            let passes = runs.into_iter().enumerate().map(|(index, run)| {
                let what = match run.len() {
                    1 => "1 beat".into(),
                    count => format!("{count} beats"),
                };
                pass(run, of(index), what)
            });
            passes.collect()
        };
        ports.push(Port {
            name: "fetch to strip and crc32c",
            passes: beats(&s.beat_valid, &s.beat_last),
        });
        ports.push(Port {
            name: "strip to commit",
            passes: beats(&s.plain_valid, &s.plain_last),
        });
        let headers = s.highs(&s.segment_valid);
        let passes = headers.iter().enumerate();
        ports.push(Port {
            name: "commit to check: header",
            passes: passes
                .map(|(index, cycle)| pass(vec![*cycle], of(index), String::new()))
                .collect(),
        });
        let verdicts = s.highs(&s.verdict_valid);
        let passes = verdicts.iter().enumerate().map(|(index, cycle)| {
            let wrong = s.verdict_marker.high(*cycle);
            let good = s.verdict_good.high(*cycle);
            let what = match (good, wrong) {
                (true, false) => "good",
                (false, _) => "CRC wrong",
                (true, true) => "marker wrong",
            };
            Pass {
                bad: wrong || !good,
                ..pass(vec![*cycle], of(index), what.into())
            }
        });
        ports.push(Port {
            name: "crc32c to check: verdict",
            passes: passes.collect(),
        });
        self.decisions(&headers, &of, &mut ports);
        ports.push(Port {
            name: "window out",
            passes: windows,
        });
        ports
    }

    /// Beats of TCP segments; what one FPDU has in a row of cycles is one pass.
    fn segments(&self) -> Vec<Pass> {
        let s = self.signals;
        let mut passes: Vec<Pass> = Vec::new();
        let mut offset = 0;
        let mut begun = false;
        for offer in s.offers(&s.segment_tvalid, &s.segment_tready) {
            let cycle = offer.end - 1;
            let lanes = s.segment_tkeep.width();
            if !begun {
                offset = (s.segment_tuser.word(cycle) as u32).wrapping_sub(self.sequence_start);
            }
            let count = s.segment_tkeep.value(cycle).ones();
            let owner = match s.segment_tdest.word(cycle) {
                STREAM => self.owner(offset, count),
                _ => None,
            };
            begun = !s.segment_tlast.high(cycle);
            offset = offset.wrapping_add(lanes);
            match passes.last_mut() {
                Some(last) if last.fpdu == owner && last.cycles.end == offer.start => {
                    last.cycles.end = offer.end;
                    last.transfers.push(cycle);
                }
                _ => passes.push(offered(offer, owner, String::new())),
            }
        }
        for pass in &mut passes {
            pass.what = match pass.transfers.len() {
                1 => "1 beat".into(),
                count => format!("{count} beats"),
            };
        }
        passes
    }

    /// Whose octets a beat holds: those of the FPDU that is followed, or else of the one that the first octet belongs to.
    fn owner(&self, position: u32, count: u32) -> Option<u64> {
        let holds = |fpdu: &Fpdu| {
            let into = position.wrapping_sub(fpdu.position);
            into < fpdu.length || fpdu.position.wrapping_sub(position) < count
        };
        if count > 0 && holds(self.fpdu) {
            return Some(self.fpdu.number);
        }
        let behind = self.all.partition_point(|fpdu| fpdu.position <= position);
        let first = self.all[..behind].last();
        let first = first.filter(|fpdu| position - fpdu.position < fpdu.length);
        first.map(|fpdu| fpdu.number)
    }

    /// From the decision about an FPDU to memory and the completion queue.
    fn decisions(
        &self,
        headers: &[u64],
        of: &impl Fn(usize) -> Option<u64>,
        ports: &mut Vec<Port>,
    ) {
        let s = self.signals;
        let pairs = s.offers(&s.pair_valid, &s.pair_ready);
        // the owner of each pair: a pair that releases the rows of the next FPDU belongs to it
        let mut owners = Vec::new();
        let mut next = 0;
        for pair in &pairs {
            let cycle = pair.end - 1;
            let is_next = headers.get(next).is_some_and(|header| {
                let same = [
                    (&s.segment_row, &s.pair_row),
                    (&s.segment_rows, &s.pair_rows),
                ];
                same.iter()
                    .all(|(of, pair)| of.word(*header) == pair.word(cycle))
            });
            owners.push(match is_next {
                true => of(next),
                false => None,
            });
            next += usize::from(is_next);
        }
        let decided = pairs.iter().zip(&owners).map(|(pair, owner)| {
            let cycle = pair.end - 1;
            let what = match s.pair_length.word(cycle) {
                0 => "no payload".to_owned(),
                length => format!("{length} octets to {:#x}", s.pair_address.word(cycle)),
            };
            offered(pair.clone(), *owner, what)
        });
        let decided: Vec<_> = decided.collect();

        // bursts of each pair, in order
        let mut bursts = Vec::new();
        let mut before = 0;
        for (index, given) in s
            .offers(&s.issued_valid, &s.issued_ready)
            .iter()
            .enumerate()
        {
            let issued = s.issued.word(given.end - 1) as u16;
            let count = usize::from(issued.wrapping_sub(before));
            before = issued;
            let owner = owners.get(index).copied().flatten();
            bursts.extend((1..=count).map(|burst| (owner, format!("burst {burst} of {count}"))));
        }
        let entries = pairs
            .iter()
            .zip(&owners)
            .filter(|(pair, _)| s.pair_action.word(pair.end - 1) == COMPLETE);
        let entries: Vec<Option<u64>> = entries.map(|(_, owner)| *owner).collect();

        // whose burst of the shared bus: the next one of either side with its address
        let addresses = |valid, ready, address: &Samples| {
            let offers = s.offers(valid, ready).into_iter();
            let addresses = offers.map(|offer| address.word(offer.end - 1));
            addresses.collect::<Vec<_>>()
        };
        let payload = addresses(&s.payload_awvalid, &s.payload_awready, &s.payload_awaddr);
        let completion = addresses(
            &s.completion_awvalid,
            &s.completion_awready,
            &s.completion_awaddr,
        );
        let (mut of_payload, mut of_completion) = (0, 0);
        let mut shared = Vec::new();
        let offers = s.offers(&s.awvalid, &s.awready);
        for offer in &offers {
            let address = s.awaddr.word(offer.end - 1);
            let whose = if payload.get(of_payload) == Some(&address) {
                of_payload += 1;
                bursts.get(of_payload - 1).cloned()
            } else if completion.get(of_completion) == Some(&address) {
                of_completion += 1;
                let entry = entries.get(of_completion - 1).copied().flatten();
                Some((entry, ENTRY.to_owned()))
            } else {
                None
            };
            shared.push(whose.unwrap_or_default());
        }
        let whose = |index: usize| shared.get(index).cloned().unwrap_or_default();
        let address = offers.into_iter().enumerate().map(|(index, offer)| {
            let (owner, what) = whose(index);
            let address = s.awaddr.word(offer.end - 1);
            offered(offer, owner, format!("{what} to {address:#x}"))
        });
        let address = address.collect();
        let beats = s.runs(
            |cycle| s.wvalid.high(cycle) && s.wready.high(cycle),
            &s.wlast,
        );
        let data = beats.into_iter().enumerate().map(|(index, run)| {
            let (owner, what) = whose(index);
            let octets: u32 = run.iter().map(|cycle| s.wstrb.value(*cycle).ones()).sum();
            Pass {
                brief: match what == ENTRY {
                    true => "entry".into(),
                    false => format!("{octets} octets"),
                },
                ..pass(run, owner, format!("{what}, {octets} octets"))
            }
        });
        let data = data.collect();
        let answers = s.offers(&s.bvalid, &s.bready).into_iter().enumerate();
        let answers = answers.map(|(index, offer)| {
            let (owner, what) = whose(index);
            let bad = s.bresp.word(offer.end - 1) & 0b10 != 0;
            let said = if bad { "refused" } else { "written" };
            Pass {
                bad,
                ..offered(offer, owner, format!("{what} {said}"))
            }
        });
        let answers = answers.collect();
        let events = s.offers(&s.event_valid, &s.event_ready).into_iter();
        let events = events.enumerate().map(|(index, offer)| {
            let owner = entries.get(index).copied().flatten();
            offered(offer, owner, "completion".into())
        });
        let events = events.collect();
        for (name, passes) in [
            ("check to place: decision", decided),
            ("write address", address),
            ("write data", data),
            ("write response", answers),
            ("deliver to completion", events),
        ] {
            ports.push(Port { name, passes });
        }
    }

    /// Reports to TCP with another edge of the stream than the one before; the first one whose edge lies behind the FPDU belongs
    /// to it, once it has begun to arrive.
    fn windows(&self, segments: &[Pass]) -> Vec<Pass> {
        let s = self.signals;
        let mine = segments
            .iter()
            .find(|pass| pass.fpdu == Some(self.fpdu.number));
        let mut begun = mine.map(|pass| pass.cycles.start);
        let end = self.fpdu.position.wrapping_add(self.fpdu.length);
        let mut before = None;
        let mut passes = Vec::new();
        for offer in s.offers(&s.window_tvalid, &s.window_tready) {
            let cycle = offer.end - 1;
            let edge = (s.window_tdata.word(cycle) as u32).wrapping_sub(self.sequence_start);
            if s.window_tdest.word(cycle) != STREAM || before == Some(edge) {
                continue;
            }
            before = Some(edge);
            let behind = edge.wrapping_sub(end) as i32 >= 0;
            let reports = behind && begun.is_some_and(|begun| begun < cycle);
            let fpdu = reports.then_some(self.fpdu.number);
            begun = begun.filter(|_| !reports);
            passes.push(offered(offer, fpdu, format!("edge {edge}")));
        }
        passes
    }
}

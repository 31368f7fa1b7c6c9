//! What must come of a stream's requests: its octets, FPDU by FPDU, and its completions.
//!
//! When a command or the peer changes something about a stream that has requests under way, the exact segment at which the
//! change takes effect is the device's choice. The judge then accepts what any of the moments would give, and nothing else:
//!
//! | event | accepted |
//! |---|---|
//! | `SET_EMSS` | FPDUs of the size before it, then of the size behind it; for requests announced when it was done, of the latter only |
//! | `REVOKE_STAG` | segments that read the region, up to one that fails with `STAG`; none of requests announced when it was done |
//! | error of the peer | requests that are sent, then flushed; of those announced behind the error's completion only `TERMINATE` is sent |
//! | `CLOSE_STREAM` | requests that are sent, then flushed; octets that TCP has not read by then do not come |
//!
//! Read Responses that the device makes come between these messages, whole ones, in the order of their requests ([`reads`]).
//! Events that name the same effects apply to them, too; a request whose region is being revoked may also go to the host.

mod announced;
mod asked;
mod due;
mod reads;
mod reports;
mod state;

use warpline_regmap::transmit::{Target, status};

use super::common::{Coverage, Spoil};
use due::{Fpdu, Refused};
pub use state::Judge;
use state::Which;

/// FPDUs of a former size that may still come when `SET_EMSS` is done: those that are cut, and not in the ring.
const CUT: usize = 40;

impl Judge {
    /// Some request has failed, or the last message has been sent.
    pub fn ended(&self) -> bool {
        self.failed.is_some() || self.behind_last(self.requests.len())
    }

    /// Judges the FPDUs that TCP has read.
    pub fn judge(&mut self, coverage: &mut Coverage) -> Result<(), String> {
        while let Some(need) = self.needed() {
            let at = self.judged;
            let Some(found) = self.octets.get(at..at + need) else {
                break;
            };
            let mut next = self.next();
            let Some(index) = next.iter().position(|fpdu| fpdu.octets == found) else {
                return Err(self.wrong_fpdu(found, &next));
            };
            let fpdu = next.swap_remove(index);
            self.accept(fpdu, coverage)?;
        }
        self.check_measured()
    }

    fn wrong_fpdu(&self, found: &[u8], next: &[Fpdu]) -> String {
        let at = self.judged;
        let Some(Fpdu {
            request,
            sent,
            octets: due,
            ..
        }) = next.first()
        else {
            let length = found.len();
            return format!("an FPDU of {length} octets at {at}, and none is due: {found:02x?}");
        };
        let same = found.iter().zip(due).take_while(|(a, b)| a == b).count();
        let part = |octets: &[u8]| format!("{:02x?}", &octets[same..octets.len().min(same + 24)]);
        format!(
            "FPDU at {at}, of {request:?} from octet {sent} on: from octet {same} of {} on {}, due {} of {}, or {} others; the next Read Request: {:?}",
            found.len(),
            part(found),
            part(due),
            due.len(),
            next.len() - 1,
            self.reads.next(),
        )
    }

    fn accept(&mut self, fpdu: Fpdu, coverage: &mut Coverage) -> Result<(), String> {
        let Fpdu {
            request: which,
            sent,
            size,
            octets,
            segment,
        } = fpdu;
        if size != self.size {
            (self.size, self.late) = (size, 0);
            coverage.count("EMSS changed between FPDUs");
            if sent > 0 {
                coverage.count("EMSS changed in a message");
            }
        }
        let behind = self.sizes.get(size + 1).and_then(|next| next.done);
        // An FPDU of a size that was set again later may be of that time: nothing tells them apart.
        let mut later = self.sizes.iter().skip(size + 1);
        if behind.is_some_and(|edge| self.judged as u32 >= edge)
            && later.all(|later| later.mulpdu != self.sizes[size].mulpdu)
        {
            self.late += usize::from(!segment.last);
            if self.late > CUT {
                return Err(format!("{CUT} FPDUs of a former EMSS, and one more"));
            }
        }
        let ordinary = match self.under_way {
            Some((under_way, _)) => which == under_way,
            None => matches!(which, Which::Read(_)) || which == Which::Slot(self.slot_at),
        };
        if !ordinary {
            coverage.count("TERMINATE behind an error of the peer");
        }
        if matches!(which, Which::Read(_)) && sent > 0 {
            coverage.count("read of several segments");
        }
        if self.markers {
            coverage.count("FPDU with markers");
        }
        let written = self.writer.append(
            &segment.header,
            &segment.payload,
            &mut Vec::with_capacity(octets.len()),
        );
        written.map_err(|error| error.to_string())?;
        self.judged += octets.len();
        self.ends.push(self.judged as u32);
        coverage.count("FPDU");
        self.under_way = (!segment.last).then_some((which, sent + segment.count));
        if segment.last {
            let index = match which {
                Which::Slot(index) => index,
                Which::Read(index) => {
                    self.answered(index, coverage);
                    return Ok(());
                }
            };
            let announced = &mut self.requests[index];
            announced.seen = true;
            if let Some(request) = announced.posting.request
                && let Target::Untagged { queue, .. } = request.target()
            {
                let next = self.msn(queue).wrapping_add(1);
                if next == 0 {
                    coverage.count("MSN wraps");
                }
                self.msns.insert(queue, next);
            }
            if self.requests[index].terminates {
                self.last = Some(index);
                coverage.count("TERMINATE");
            }
            self.slot_at = index + 1;
        }
        Ok(())
    }

    /// Answers to MEASURE that can be judged.
    fn check_measured(&mut self) -> Result<(), String> {
        let judged = self.judged as u32;
        let ends = &self.ends;
        let mut wrong = None;
        self.measured.retain(|m| {
            let reach = |edge: u32| edge.min(m.from + m.length);
            if reach(m.edges.1) > judged {
                return true;
            }
            let last = |reach: u32| ends[..ends.partition_point(|end| *end <= reach)].last();
            let least = last(reach(m.edges.0)).map_or(0, |end| end.saturating_sub(m.from));
            let most = last(reach(m.edges.1)).map_or(0, |end| end.saturating_sub(m.from));
            let is_end = m.answer == 0 || ends.binary_search(&(m.from + m.answer)).is_ok();
            if !is_end || m.answer < least || m.answer > most {
                wrong = Some(format!("{m:?}: due {least} to {most}, at an FPDU's end"));
            }
            false
        });
        wrong.map_or(Ok(()), Err)
    }

    /// All that was announced is sent and read, or reported.
    pub fn is_done(&self) -> bool {
        self.requests.iter().all(|r| {
            r.report.map_or(r.seen && !r.signalled, |report| {
                report != status::OK || r.seen
            })
        }) && self.reads.unresolved() == 0
            && self.judged == self.octets.len()
            && self.spoil != Some(Spoil::Missing)
    }

    /// What must be true when the stream is closed, and its octets and completions have come.
    pub fn end(&mut self, coverage: &mut Coverage) -> Result<(), String> {
        self.judge(coverage)?;
        for index in self.reported..self.requests.len() {
            self.pass(index).map_err(|e| format!("at the end: {e}"))?;
        }
        let rest = &self.octets[self.judged..];
        let next = self.next();
        if !rest.is_empty() && !next.iter().any(|fpdu| fpdu.octets.starts_with(rest)) {
            return Err(self.wrong_fpdu(rest, &next));
        }
        let unknown = |edge: &&u32| {
            **edge != 0 && **edge <= self.judged as u32 && self.ends.binary_search(edge).is_err()
        };
        if let Some(edge) = self.edges.iter().find(unknown) {
            return Err(format!("the edge was at {edge}, where no FPDU ends"));
        }
        for (index, request) in self.requests.iter().enumerate() {
            if request.seen && request.report.is_some_and(|report| report != status::OK) {
                return Err(format!(
                    "slot {index} was sent, and its report is {:?}",
                    request.report
                ));
            }
        }
        self.end_of_reads()?;
        let Some(which) = self.failed.filter(|_| !self.aborted) else {
            return Ok(());
        };
        // the message stops at a segment that fails for this reason
        let reason = self.message(which).report.unwrap_or(status::OK);
        let sent = match self.under_way {
            Some((under_way, sent)) if under_way == which => sent,
            Some((other, sent)) if self.frozen.is_none() => {
                return Err(format!("{which:?} failed, and {other:?} ends at {sent}"));
            }
            _ => 0,
        };
        if sent > 0 {
            coverage.count("failure in a message");
        }
        let sizes = self.sizes[self.size..].iter();
        let fails = |mulpdu: u16| match self.segment(which, sent, mulpdu) {
            Err(Refused(due)) => {
                due == reason
                    || reason == status::STAG && self.meets_revocation(which, sent, mulpdu)
            }
            Ok(_) => reason == status::STAG && self.meets_revocation(which, sent, mulpdu),
        };
        if !sizes.map(|size| size.mulpdu).any(fails) {
            return Err(format!("{which:?} failed with {reason} at octet {sent}"));
        }
        if reason == status::STAG && self.meets(which) && sent > 0 {
            coverage.count("revocation in a message");
        }
        Ok(())
    }
}

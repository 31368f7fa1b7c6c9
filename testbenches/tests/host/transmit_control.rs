//! Transmit control, with stand-ins for `send_queues`, `segment`, `transmit_ring` and `access_fence`: what each request brings
//! about, in which order, and when it is done.

use fastrand::Rng;
use num_bigint::BigUint;
use warpline_hdl::host::control::TransmitRequest;
use warpline_hdl::host::transmit_control::TransmitControl;
use warpline_hdl::tx::ddp::segment::command::{TransmitArguments, TransmitCommand};
use warpline_hdl::tx::mpa::transmit_ring;
use warpline_regmap::layout::stream_context;
use warpline_regmap::transmit::transmit_context;
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant};
use warpline_testbenches::stimulus::chance;

const STREAMS: usize = 4;
/// Cycles without an end after which a request hangs.
const PATIENCE: u32 = 2000;

/// What the block does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Set,
    SetResponder,
    RingArm,
    RingClose,
    Freeze,
    Detach,
    Fence,
    Command(TransmitCommand),
}

/// A stream as the neighbours of the block know it.
#[derive(Clone, Copy, Default)]
struct Stream {
    armed: bool,
    domain: u64,
    /// Cycles until nothing of it is announced or under way.
    busy: u32,
    /// Cycles until its transmit ring is quiet, once it is closed.
    quiet: u32,
}

struct Bench {
    lockstep: Lockstep<TransmitControl<STREAMS>>,
    rng: Rng,
    streams: [Stream; STREAMS],
    command_in: Option<u32>,
    set_in: Option<u32>,
    fence_in: Option<u32>,
    ring_armed_for: u32,
    done: u32,
    refused: u32,
    stalled: u32,
}

impl Bench {
    fn new(seed: u64, fault: Option<(&str, &str)>) -> Self {
        let block = TransmitControl::default();
        let mut design = write(&block, "transmit_control").unwrap();
        if let Some((right, wrong)) = fault {
            plant(&mut design, right, wrong);
        }
        let lockstep =
            Lockstep::with_design("transmit_control", Box::new(block), &design, |b, level| {
                b.clock.next = level.into()
            });
        let mut lockstep = lockstep.unwrap_or_else(|e| panic!("{e}"));
        for _ in 0..2 {
            let reset = |b: &mut TransmitControl<STREAMS>| b.reset.next = true;
            lockstep.cycle(reset, |_| ()).unwrap();
        }
        lockstep.block.reset.next = false;
        Self {
            lockstep,
            rng: Rng::with_seed(seed),
            streams: [Stream::default(); STREAMS],
            command_in: None,
            set_in: None,
            fence_in: None,
            ring_armed_for: 0,
            done: 0,
            refused: 0,
            stalled: 0,
        }
    }

    /// A request from its first cycle to its end.
    fn request(
        &mut self,
        request: TransmitRequest,
        at: usize,
        words: [u32; 8],
    ) -> Result<(), String> {
        use TransmitRequest::*;
        let emss = transmit_context::EMSS.get(&words);
        let before = self.streams[at];
        let set_fails = self.rng.bool();
        let arguments = TransmitArguments {
            stream: (at as u64).into(),
            protection_domain: before.domain.into(),
            markers: transmit_context::MARKERS.get(&words) == 1,
            crc: transmit_context::CRC.get(&words) == 1,
            gate: transmit_context::GATE.get(&words) == 1,
            emss: emss.into(),
            first_msn: transmit_context::FIRST_MSN.get(&words).into(),
        };
        let legal = emss >= 128;
        let (due, fails) = match request {
            ArmStream => (vec![], false),
            SetSendRing => (vec![Event::Set], set_fails),
            SetReadResponder => (vec![Event::SetResponder], set_fails),
            ArmTransmit if legal && !before.armed => {
                let arm = Event::Command(TransmitCommand::Arm);
                (vec![Event::RingArm, arm], false)
            }
            SetEmss if legal && before.armed => {
                (vec![Event::Command(TransmitCommand::SetEmss)], false)
            }
            ArmTransmit | SetEmss => (vec![], true),
            Revoke => (vec![Event::Fence], false),
            Close => (
                vec![
                    Event::Freeze,
                    Event::Command(TransmitCommand::Close),
                    Event::RingClose,
                    Event::Detach,
                    Event::Command(TransmitCommand::Clear),
                ],
                false,
            ),
        };
        let mut seen: Vec<Event> = vec![];
        for cycle in 0..PATIENCE {
            let b = &mut self.lockstep.block;
            b.request.next = request;
            b.request_valid.next = true;
            b.request_stream.next = (at as u64).into();
            b.arguments.next = BigUint::new(words.to_vec()).into();
            let is_set = self.set_in == Some(0);
            b.set_ready.next = is_set && request == SetSendRing;
            b.set_responder_ready.next = is_set && request == SetReadResponder;
            // without its pulse each means nothing
            b.set_failed.next = if is_set && request == SetSendRing {
                set_fails
            } else {
                self.rng.bool()
            };
            b.set_responder_failed.next = if is_set && request == SetReadResponder {
                set_fails
            } else {
                self.rng.bool()
            };
            b.command_done.next = self.command_in == Some(0);
            b.ring_quiet.next = self.streams[at].quiet == 0;
            // what it says behind an old fence has no meaning
            b.fence_passed.next = match self.fence_in {
                Some(cycles) => cycles == 0,
                None => self.rng.bool(),
            };
            for (i, stream) in self.streams.iter().enumerate() {
                b.idle[i].next = stream.busy == 0;
                b.is_armed[i].next = stream.armed;
            }
            self.lockstep.settle().map_err(|e| e.to_string())?;
            let b = &self.lockstep.block;
            let mut events = vec![];
            let pulses = [
                (b.freeze_doorbells.val(), Event::Freeze),
                (b.ring_arm.val(), Event::RingArm),
                (b.ring_close.val(), Event::RingClose),
                (b.detach.val(), Event::Detach),
                (b.fence.val(), Event::Fence),
                (b.set.val() && self.set_in.is_none(), Event::Set),
                (
                    b.set_responder.val() && self.set_in.is_none(),
                    Event::SetResponder,
                ),
            ];
            if b.set_responder.val()
                && u64::from(b.m_command.val().protection_domain) != before.domain
            {
                return Err("the responder gets another domain".into());
            }
            events.extend(
                pulses
                    .iter()
                    .filter(|(now, _)| *now)
                    .map(|(_, event)| *event),
            );
            if b.command_valid.val() {
                let event = Event::Command(b.command.val());
                if self.command_in.is_none() {
                    events.push(event);
                } else if seen.last() != Some(&event) {
                    return Err(format!("{event:?} in the middle of {seen:?}"));
                }
                if b.m_command.val() != arguments {
                    return Err(format!("{:?} instead of {arguments:?}", b.m_command.val()));
                }
            } else if self.command_in.is_some() {
                return Err(format!("{request:?}: its command is withdrawn"));
            }
            if u64::from(b.stream.val()) != at as u64 {
                return Err(format!("{request:?}: for another stream"));
            }
            let (done, failed) = (b.done.val(), b.failed.val());
            for event in &events {
                self.react(request, at, *event, &words)?;
            }
            let counts = [&mut self.command_in, &mut self.set_in, &mut self.fence_in];
            for count in counts {
                *count = match *count {
                    // the fence stays passed
                    Some(0) if request == Revoke => Some(0),
                    Some(0) | None => None,
                    Some(cycles) => Some(cycles - 1),
                };
            }
            for event in &events {
                match event {
                    Event::Set | Event::SetResponder => self.set_in = Some(self.rng.u32(0..20)),
                    Event::Command(_) => self.command_in = Some(self.rng.u32(0..20)),
                    Event::Fence => self.fence_in = Some(self.rng.u32(0..60)),
                    _ => {}
                }
            }
            self.ring_armed_for = self.ring_armed_for.saturating_add(1);
            for stream in &mut self.streams {
                stream.busy = stream.busy.saturating_sub(1);
                stream.quiet = stream.quiet.saturating_sub(1);
            }
            seen.extend(events);
            if done {
                if request == Revoke && self.fence_in != Some(0) {
                    return Err("the revocation is done before its fence".into());
                }
                self.fence_in = None;
                if seen != due {
                    return Err(format!("{request:?}: {seen:?} instead of {due:?}"));
                }
                if failed != fails {
                    return Err(format!("{request:?} of {emss} octets: refused is {failed}"));
                }
                self.done += 1;
                self.refused += u32::from(failed);
                match request {
                    ArmStream => {
                        self.streams[at].domain = stream_context::PROTECTION_DOMAIN.get(&words);
                    }
                    ArmTransmit if !failed => self.streams[at].armed = true,
                    Close => self.streams[at].armed = false,
                    _ => {}
                }
                self.lockstep.edge().map_err(|e| e.to_string())?;
                return self.pause();
            }
            if fails && done && cycle > 3 && !matches!(request, SetSendRing | SetReadResponder) {
                return Err("a refusal takes three cycles".into());
            }
            self.lockstep.edge().map_err(|e| e.to_string())?;
        }
        Err(format!("{request:?} hangs behind {seen:?}"))
    }

    /// What has to hold when the block does something.
    fn react(
        &mut self,
        request: TransmitRequest,
        at: usize,
        event: Event,
        words: &[u32; 8],
    ) -> Result<(), String> {
        let stream = &mut self.streams[at];
        match event {
            Event::RingArm => {
                self.ring_armed_for = 0;
                let start = u64::from(self.lockstep.block.sequence_start.val());
                if start != transmit_context::SEQUENCE_START.get(words) {
                    return Err(format!("the ring begins at {start:#x}"));
                }
            }
            Event::Command(TransmitCommand::Arm)
                if self.ring_armed_for <= transmit_ring::ARM as u32 =>
            {
                return Err("`segment` is armed before the ring".into());
            }
            Event::Freeze => {
                stream.busy = if self.rng.bool() {
                    self.rng.u32(0..200)
                } else {
                    0
                };
                self.stalled += u32::from(stream.busy > 60);
            }
            Event::RingClose => {
                if stream.busy > 0 {
                    return Err("the ring is closed while requests are under way".into());
                }
                stream.quiet = self.rng.u32(12..100);
            }
            Event::Detach if stream.quiet > 0 => {
                return Err(format!("{request:?} detaches a ring that is not quiet"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Some cycles without a request.
    fn pause(&mut self) -> Result<(), String> {
        for _ in 0..self.rng.u32(1..6) {
            let b = &mut self.lockstep.block;
            b.request_valid.next = false;
            b.command_done.next = false;
            b.set_ready.next = false;
            b.set_responder_ready.next = false;
            self.lockstep.settle().map_err(|e| e.to_string())?;
            let b = &self.lockstep.block;
            if b.command_valid.val()
                || b.set.val()
                || b.set_responder.val()
                || b.done.val()
                || b.fence.val()
            {
                return Err("it does something without a request".into());
            }
            self.lockstep.edge().map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    fn random(&mut self, count: u32) -> Result<(), String> {
        use TransmitRequest::*;
        for _ in 0..count {
            let kinds = [
                ArmStream,
                SetSendRing,
                SetReadResponder,
                ArmTransmit,
                SetEmss,
                Revoke,
                Close,
            ];
            let request = kinds[self.rng.usize(0..kinds.len())];
            let mut words = [0; 8].map(|_: u32| self.rng.u32(..));
            if chance(&mut self.rng, 40) {
                transmit_context::EMSS.put(&mut words, self.rng.u64(120..136));
            }
            let at = self.rng.usize(0..STREAMS);
            self.request(request, at, words)?;
        }
        Ok(())
    }
}

// req: AMB-42, MPA-SEG-06
#[test]
fn every_request_does_what_it_should() {
    let mut bench = Bench::new(1, None);
    bench.random(600).unwrap();
    assert_eq!(bench.done, 600);
    assert!(bench.refused > 60 && bench.stalled > 20);
}

#[test]
fn planted_faults_are_seen() {
    for (right, wrong) in [
        ("emss >= least_emss", "emss > least_emss"),
        (
            "if (fence_passed) begin",
            "if (fence_passed | (~reset)) begin",
        ),
        ("if (ring_quiet) begin", "if (ring_quiet | (~reset)) begin"),
        ("if (resting_q) begin", "if (resting_q | (~reset)) begin"),
        ("freeze_pulse_d = 1'b1;", "freeze_pulse_d = 1'b0;"),
        ("detach_pulse_d = 1'b1;", "detach_pulse_d = 1'b0;"),
        ("domains_write = 1'b1;", "domains_write = domains_out[0];"),
        ("refused_d = set_failed;", "refused_d = set_failed & reset;"),
        (
            "refused_d = set_responder_failed;",
            "refused_d = set_responder_failed & reset;",
        ),
    ] {
        let seen = Bench::new(2, Some((right, wrong))).random(400);
        assert!(seen.is_err(), "{wrong}");
    }
}

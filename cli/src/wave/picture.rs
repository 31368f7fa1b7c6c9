//! The rows of the life of an FPDU.

use std::ops::Range;

use warpline_wave::{Diagram, Ink, Lane, Line, Row, Samples, Span};

use super::life::{Life, Pass};

/// Cycles drawn in front of the life and behind it.
const AROUND: u64 = 2;

/// Cycles drawn around what passes, and fewest cycles that are left out between.
const BESIDE: u64 = 4;
const LEAST: u64 = 8;

/// A line: its name, its signal, and the signal with which it means something.
type Wave<'s> = (&'s str, &'s Samples, Option<&'s Samples>);

/// The diagram of a life.
#[must_use]
pub fn diagram(life: &Life, title: &str, notes: Vec<String>, markers: bool) -> Diagram {
    let s = &life.signals;
    let window =
        life.cycles.start.saturating_sub(AROUND)..(life.cycles.end + AROUND).min(s.run.end);
    let mut diagram = Diagram::new(title, window);
    diagram.notes = notes;
    diagram.legend = vec![
        (Ink::Subject, format!("FPDU {}", life.fpdu.number)),
        (Ink::Other, "other FPDUs, and what belongs to none".into()),
        (Ink::Bad, "a check failed".into()),
    ];
    diagram.idle = idle(life);
    let mut beats = vec![
        ("strip.beat.valid", &s.beat_valid, None),
        ("strip.beat.last", &s.beat_last, Some(&s.beat_valid)),
    ];
    if markers {
        beats.push(("strip.beat.marker", &s.beat_marker, Some(&s.beat_valid)));
    }
    let groups: [(&str, &str, Vec<Wave<'_>>); 12] = [
        (
            "segment in",
            "TCP segments in",
            vec![
                ("s_axis_segment_tvalid", &s.segment_tvalid, None),
                ("s_axis_segment_tready", &s.segment_tready, None),
                (
                    "s_axis_segment_tlast",
                    &s.segment_tlast,
                    Some(&s.segment_tvalid),
                ),
            ],
        ),
        (
            "scan to fetch",
            "scan has found it, fetch reads it out of the ring",
            vec![
                ("fetch.fpdu_valid", &s.fpdu_valid, None),
                ("fetch.fpdu_ready", &s.fpdu_ready, None),
            ],
        ),
        (
            "fetch to strip and crc32c",
            "its beats, to strip and crc32c",
            beats,
        ),
        (
            "strip to commit",
            "without markers into the commit buffer",
            vec![
                ("commit.plain.valid", &s.plain_valid, None),
                ("commit.plain.last", &s.plain_last, Some(&s.plain_valid)),
            ],
        ),
        (
            "commit to check: header",
            "its header reaches check",
            vec![("check.segment_valid", &s.segment_valid, None)],
        ),
        (
            "crc32c to check: verdict",
            "MPA's verdict",
            vec![
                ("check.verdict_valid", &s.verdict_valid, None),
                (
                    "check.verdict.good",
                    &s.verdict_good,
                    Some(&s.verdict_valid),
                ),
            ],
        ),
        (
            "check to place: decision",
            "the decision of check",
            vec![
                ("place.s_valid", &s.pair_valid, None),
                ("place.s_ready", &s.pair_ready, None),
            ],
        ),
        (
            "write address",
            "host memory: addresses",
            vec![
                ("m_axi_awvalid", &s.awvalid, None),
                ("m_axi_awready", &s.awready, None),
            ],
        ),
        (
            "write data",
            "host memory: data",
            vec![
                ("m_axi_wvalid", &s.wvalid, None),
                ("m_axi_wready", &s.wready, None),
                ("m_axi_wlast", &s.wlast, Some(&s.wvalid)),
            ],
        ),
        (
            "write response",
            "host memory: responses",
            vec![
                ("m_axi_bvalid", &s.bvalid, None),
                ("m_axi_bready", &s.bready, None),
            ],
        ),
        (
            "deliver to completion",
            "delivery: an entry for the completion queue",
            vec![
                ("deliver.m_valid", &s.event_valid, None),
                ("deliver.m_ready", &s.event_ready, None),
            ],
        ),
        (
            "window out",
            "window report to TCP",
            vec![
                ("m_axis_window_tvalid", &s.window_tvalid, None),
                ("m_axis_window_tready", &s.window_tready, None),
            ],
        ),
    ];
    for (port, heading, waves) in groups {
        let Some(found) = life.ports.iter().find(|found| found.name == port) else {
            continue;
        };
        diagram.rows.push(Row::Group(heading.into()));
        let marks: Vec<_> = (found.of(life.fpdu.number))
            .map(|pass| pass.cycles.clone())
            .collect();
        for (name, signal, with) in waves {
            let mut line = Line::of(name, signal, with, diagram.window.end);
            line.marked.clone_from(&marks);
            diagram.rows.push(Row::Line(line));
        }
        let mut lane = Lane::new(port);
        lane.spans = found
            .passes
            .iter()
            .map(|pass| span(pass, life.fpdu.number))
            .collect();
        diagram.rows.push(Row::Lane(lane));
    }
    diagram
}

/// Cycles in which the FPDU passes no port, without those next to the others.
fn idle(life: &Life) -> Vec<Range<u64>> {
    let mine = life.ports.iter();
    let mine = mine.flat_map(|port| port.of(life.fpdu.number));
    let mut busy: Vec<_> = mine.map(|pass| pass.cycles.clone()).collect();
    busy.sort_by_key(|cycles| cycles.start);
    let mut idle = Vec::new();
    let mut end = life.cycles.start;
    for cycles in busy {
        let gap = end + BESIDE..cycles.start.saturating_sub(BESIDE);
        if gap.start + LEAST <= gap.end {
            idle.push(gap);
        }
        end = end.max(cycles.end);
    }
    idle
}

fn span(pass: &Pass, number: u64) -> Span {
    let mut labels = Vec::new();
    let full = match pass.fpdu {
        Some(fpdu) => {
            let whats = [&pass.what, &pass.brief]
                .into_iter()
                .filter(|what| !what.is_empty());
            labels.extend(whats.map(|what| format!("FPDU {fpdu}: {what}")));
            labels.extend([format!("FPDU {fpdu}"), format!("#{fpdu}"), fpdu.to_string()]);
            labels[0].clone()
        }
        None => {
            labels.push(pass.what.clone());
            pass.what.clone()
        }
    };
    let count = match pass.transfers.len() {
        1 => "1 transfer".to_owned(),
        count => format!("{count} transfers"),
    };
    let (from, to) = (pass.cycles.start, pass.cycles.end - 1);
    let ink = match pass.fpdu == Some(number) {
        true if pass.bad => Ink::Bad,
        true => Ink::Subject,
        false => Ink::Other,
    };
    Span {
        cycles: pass.cycles.clone(),
        labels,
        full: format!("{full}; cycles {from} to {to}, {count}"),
        ink,
    }
}

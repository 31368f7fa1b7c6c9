//! The signals of the device that an FPDU passes.

use std::ops::Range;

use warpline_wave::{Error, Samples, Trace};

macro_rules! signals {
    ($($field:ident: $name:literal),+ $(,)?) => {
        /// Values of the signals.
        pub(super) struct Signals {
            $(pub $field: Samples,)+
            /// Cycles behind the reset in which the stream was sent.
            pub run: Range<u64>,
        }

        impl Signals {
            const NAMES: &[&str] = &[$($name),+];

            fn assign(all: Vec<Samples>) -> Self {
                let mut all = all.into_iter();
                let mut next = || all.next().expect("a signal for each name");
                Self { $($field: next(),)+ run: 0..0 }
            }
        }
    };
}

signals! {
    aresetn: "warpline.aresetn",
    segment_tvalid: "warpline.s_axis_segment_tvalid",
    segment_tready: "warpline.s_axis_segment_tready",
    segment_tlast: "warpline.s_axis_segment_tlast",
    segment_tkeep: "warpline.s_axis_segment_tkeep",
    segment_tuser: "warpline.s_axis_segment_tuser",
    segment_tdest: "warpline.s_axis_segment_tdest",
    fpdu_valid: "core.ingress.fetch.fpdu_valid",
    fpdu_ready: "core.ingress.fetch.fpdu_ready",
    fpdu_position: "core.ingress.fetch.fpdu.position",
    start_valid: "core.ingress.fetch.start_valid",
    start_position: "core.ingress.fetch.start.position",
    beat_valid: "core.ingress.strip.beat.valid",
    beat_last: "core.ingress.strip.beat.last",
    beat_marker: "core.ingress.strip.beat.marker",
    plain_valid: "core.ingress.commit.plain.valid",
    plain_last: "core.ingress.commit.plain.last",
    segment_valid: "core.check.segment_valid",
    segment_row: "core.check.segment.row",
    segment_rows: "core.check.segment.rows",
    verdict_valid: "core.check.verdict_valid",
    verdict_good: "core.check.verdict.good",
    verdict_marker: "core.check.verdict.marker_wrong",
    pair_valid: "core.place.s_valid",
    pair_ready: "core.place.s_ready",
    pair_row: "core.place.s_placement.row",
    pair_rows: "core.place.s_placement.rows",
    pair_address: "core.place.s_placement.address",
    pair_length: "core.place.s_placement.length",
    pair_action: "core.place.s_delivery.action",
    issued_valid: "core.place.m_valid",
    issued_ready: "core.place.m_ready",
    issued: "core.place.m_issued",
    payload_awvalid: "core.write_mux.payload_awvalid",
    payload_awready: "core.write_mux.payload_awready",
    payload_awaddr: "core.write_mux.payload_awaddr",
    completion_awvalid: "core.write_mux.completion_awvalid",
    completion_awready: "core.write_mux.completion_awready",
    completion_awaddr: "core.write_mux.completion_awaddr",
    awvalid: "warpline.m_axi_awvalid",
    awready: "warpline.m_axi_awready",
    awaddr: "warpline.m_axi_awaddr",
    wvalid: "warpline.m_axi_wvalid",
    wready: "warpline.m_axi_wready",
    wlast: "warpline.m_axi_wlast",
    wstrb: "warpline.m_axi_wstrb",
    bvalid: "warpline.m_axi_bvalid",
    bready: "warpline.m_axi_bready",
    bresp: "warpline.m_axi_bresp",
    event_valid: "core.deliver.m_valid",
    event_ready: "core.deliver.m_ready",
    window_tvalid: "warpline.m_axis_window_tvalid",
    window_tready: "warpline.m_axis_window_tready",
    window_tdata: "warpline.m_axis_window_tdata",
    window_tdest: "warpline.m_axis_window_tdest",
}

impl Signals {
    pub fn read(trace: &mut Trace) -> Result<Self, Error> {
        let signals = Self::NAMES.iter().map(|name| trace.signal(name));
        let signals = signals.collect::<Result<Vec<_>, _>>()?;
        let mut new = Self::assign(trace.read(&signals)?);
        let cycles = trace.cycles();
        let first =
            (0..cycles).find(|cycle| new.segment_tvalid.high(*cycle) && new.aresetn.high(*cycle));
        let first = first.unwrap_or(0);
        let before = (0..first).rfind(|cycle| !new.aresetn.high(*cycle));
        let behind = (first..cycles).find(|cycle| !new.aresetn.high(*cycle));
        new.run = before.map_or(0, |low| low + 1)..behind.unwrap_or(cycles);
        Ok(new)
    }

    /// Cycles in which a signal is high.
    pub fn highs(&self, signal: &Samples) -> Vec<u64> {
        self.run
            .clone()
            .filter(|cycle| signal.high(*cycle))
            .collect()
    }

    /// Offers of a channel: from the first cycle of VALID to that of the transfer, which is the last one.
    pub fn offers(&self, valid: &Samples, ready: &Samples) -> Vec<Range<u64>> {
        let mut offers = Vec::new();
        let mut from = None;
        for cycle in self.run.clone() {
            if !valid.high(cycle) {
                from = None;
                continue;
            }
            let begin = *from.get_or_insert(cycle);
            if ready.high(cycle) {
                offers.push(begin..cycle + 1);
                from = None;
            }
        }
        offers
    }

    /// Runs of beats up to one with `last`, of those that pass.
    pub fn runs(&self, passes: impl Fn(u64) -> bool, last: &Samples) -> Vec<Vec<u64>> {
        let mut runs = Vec::new();
        let mut run = Vec::new();
        for cycle in self.run.clone().filter(|cycle| passes(*cycle)) {
            run.push(cycle);
            if last.high(cycle) {
                runs.push(std::mem::take(&mut run));
            }
        }
        if !run.is_empty() {
            runs.push(run); // not complete
        }
        runs
    }
}

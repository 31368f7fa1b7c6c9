//! The expected result of a run: the ground truth, and the reference receiver's result where nothing was recorded.

use super::landed::{Landed, Work};
use super::plan::Plan;
use crate::{Capture, Completion, Terminate};

/// Identifier of the first receive buffer in `completions.jsonl`.
const FIRST_WORK_REQUEST: u64 = 1000;
/// `IBV_WC_RECV`.
const RECEIVE: u32 = 128;
/// Layers of a Terminate message (RFC 5040 §4.8).
const LAYER_DDP: u8 = 1;
const LAYER_MPA: u8 = 2;
/// Error type that MPA errors have at DDP (RFC 5041 §7.2).
const TYPE_LLP: u8 = 3;

/// What the card must leave in memory and report: what `recorded` says, and the reference receiver's result where it says
/// nothing.
pub(super) fn expected(recorded: Option<&Capture>, plan: &Plan, reference: Landed) -> Landed {
    let mut expected = reference;
    for (name, _) in &mut expected.memory {
        name.push_str(" against the reference receiver");
    }
    expected
        .receive
        .0
        .push_str(" against the reference receiver");
    let Some(capture) = recorded else {
        return expected;
    };
    // The first region is the one that the peer wrote to.
    if let (Some(memory), Some(octets)) = (expected.memory.first_mut(), &capture.memory) {
        *memory = ("memory.bin.gz".into(), octets.clone());
    }
    if let Some(octets) = &capture.receive_buffers {
        expected.receive = ("receive-buffers.bin.gz".into(), octets.clone());
    }
    if let Some(completions) = &capture.completions {
        let buffers = u64::from(plan.queues[0].count);
        expected.work = completions
            .iter()
            .filter_map(|line| work(line, buffers))
            .collect();
    }
    expected.error = capture.terminate().and_then(error);
    expected
}

/// The outcome of a receive buffer according to a line of `completions.jsonl`.
fn work(line: &Completion, buffers: u64) -> Option<Work> {
    let buffer = line.wr_id.checked_sub(FIRST_WORK_REQUEST);
    let buffer = buffer.filter(|&buffer| buffer < buffers)?;
    if line.is_success() {
        let length = line.byte_len;
        (line.opcode == RECEIVE).then_some(Work::Received { buffer, length })
    } else if line.is_flushed() {
        Some(Work::Unused { buffer })
    } else {
        Some(Work::Failed { buffer })
    }
}

/// The error of the DDP receiver; an RDMAP error is not one.
fn error(terminate: Terminate) -> Option<(u8, u8)> {
    match terminate.layer {
        LAYER_DDP => Some((terminate.etype, terminate.code)),
        LAYER_MPA => Some((TYPE_LLP, terminate.code)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_ddp_and_mpa_are_those_of_the_receiver() {
        let of = |layer| {
            error(Terminate {
                layer,
                etype: 2,
                code: 4,
            })
        };
        assert_eq!(of(LAYER_DDP), Some((2, 4)));
        assert_eq!(of(LAYER_MPA), Some((TYPE_LLP, 4)));
        assert_eq!(of(0), None);
    }
}

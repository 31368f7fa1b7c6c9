//! The end of start-up, whatever carries the connection: its stream is to be armed.

use crate::closing::fail;
use crate::entry::{Entry, Notes, State, Step};
use crate::network::{Network, Sequences};
use crate::settled::{Settled, segment};
use warpline_regmap::mailbox::FailureCause;
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::start::Parameters;

/// The stream is to be armed with what was settled, and for the sequence numbers of the first octets, or segments; with `None` the
/// connection is lost.
pub(crate) fn arm<N: Network>(
    entry: &mut Entry<N>,
    network: &mut N,
    settled: Option<(Parameters, Sequences)>,
) {
    let transport = entry.transport();
    let segment = entry
        .handle
        .and_then(|handle| segment(network, handle, transport).ok());
    let (Some((parameters, sequences)), Some(segment)) = (settled, segment) else {
        let cause = FailureCause::Lost;
        return fail(entry, network, cause, ErrorNumber::MpaConnection);
    };
    entry.settled = Some(Settled {
        transport,
        parameters,
        sequences,
        segment,
    });
    entry.notes.remove(Notes::REQUESTED);
    (entry.state, entry.listener) = (State::Arming(Step::Stream(0)), None);
}

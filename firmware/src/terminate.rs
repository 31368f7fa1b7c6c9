//! The Terminate Message of a start-up that fails by RFC 6581: the only FPDU of its connection.

use warpline_wire::ddp::UntaggedHeader;
use warpline_wire::rdmap::{Cause, Control, MAX_TERMINATE_LEN, Opcode, Version, queue};
use warpline_wire::send::{CrcField, FpduWriter};
use warpline_wire::start::Terminate;

/// Octets that an FPDU with a Terminate of one word takes at most, with a leading marker.
pub(crate) const ROOM: usize = 64;

/// Writes the FPDU to the front of `out` and returns its length.
pub(crate) fn emit(terminate: &Terminate, out: &mut [u8; ROOM]) -> usize {
    let header = UntaggedHeader {
        last: true,
        rsvd_ulp: [Control::new(Version::Ietf, Opcode::Terminate).0, 0, 0, 0, 0],
        qn: queue::TERMINATE,
        msn: 1,
        mo: 0,
    };
    let mut payload = [0; MAX_TERMINATE_LEN];
    let cause = Cause::Lower(terminate.number);
    let len = warpline_wire::rdmap::Terminate::new(cause).emit(&mut payload);
    let parameters = &terminate.parameters;
    let crc = match parameters.crc {
        true => CrcField::Computed,
        false => CrcField::Zero,
    };
    let payload = payload.get(..len).unwrap_or_default();
    let mut writer = FpduWriter::new(parameters.send_markers, crc);
    writer.emit(&header.emit(), payload, out).unwrap_or(0)
}

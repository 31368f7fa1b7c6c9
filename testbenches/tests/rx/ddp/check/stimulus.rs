//! What enters `check`: commands with their arguments, and FPDUs.

use fastrand::Rng;
use warpline_hdl::records::{DdpSegment, Verdict};
use warpline_hdl::rx::ddp::check::CheckCommand;
use warpline_regmap::layout::{receive_buffer, revoke, stag_entry, stream_context};
use warpline_wire::receive::Scope;

/// FPDUs that can have entered when a fault or a command asks.
pub const ENTERED: u32 = 15;

/// A command with its arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    pub command: CheckCommand,
    pub words: [u32; 8],
}

pub fn order(command: CheckCommand, fields: &[(warpline_regmap::Field, u64)]) -> Order {
    let mut words = [0; 8];
    for (field, value) in fields {
        field.put(&mut words, *value);
    }
    Order { command, words }
}

/// A memory region as the host describes it.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    pub stag: u32,
    pub scope: Scope,
    pub remote_write: bool,
    pub base: u64,
    pub length: u64,
    pub address: u64,
}

pub fn write_stag(region: Region) -> Order {
    let (domain, stream, scope) = match region.scope {
        Scope::ProtectionDomain(domain) => (domain, 0x5a, 0),
        Scope::Stream {
            stream,
            protection_domain,
        } => (protection_domain, stream, 1),
    };
    order(
        CheckCommand::WriteStag,
        &[
            (stag_entry::STAG, region.stag.into()),
            (stag_entry::PROTECTION_DOMAIN, domain.into()),
            (stag_entry::STREAM, stream.into()),
            (stag_entry::STREAM_SCOPE, scope),
            (stag_entry::REMOTE_WRITE, region.remote_write.into()),
            (stag_entry::BASE, region.base),
            (stag_entry::LENGTH, region.length),
            (stag_entry::ADDRESS, region.address),
        ],
    )
}

pub fn revoke_stag(stag: u32) -> Order {
    order(CheckCommand::RevokeStag, &[(revoke::STAG, stag.into())])
}

/// How a stream judges, besides what all of them do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub tagged_completions: bool,
    pub strict_mo: bool,
    pub msn_window: bool,
}

pub fn arm(
    stream: u32,
    domain: u32,
    tagged_completions: bool,
    queues: u32,
    first_msn: u32,
) -> Order {
    let options = Options {
        tagged_completions,
        ..Options::default()
    };
    arm_with(stream, domain, options, queues, first_msn)
}

pub fn arm_with(stream: u32, domain: u32, options: Options, queues: u32, first_msn: u32) -> Order {
    order(
        CheckCommand::Arm,
        &[
            (stream_context::STREAM, stream.into()),
            (stream_context::MARKERS, 1),
            (stream_context::CRC, 1),
            (
                stream_context::TAGGED_COMPLETIONS,
                options.tagged_completions.into(),
            ),
            (stream_context::STRICT_MO, options.strict_mo.into()),
            (stream_context::MSN_WINDOW, options.msn_window.into()),
            (stream_context::QUEUES, queues.into()),
            (stream_context::PROTECTION_DOMAIN, domain.into()),
            (stream_context::SEQUENCE_START, 0xffff_ffff),
            (stream_context::FIRST_MSN, first_msn.into()),
        ],
    )
}

pub fn post(stream: u32, queue: u32, length: u32, address: u64) -> Order {
    order(
        CheckCommand::PostReceive,
        &[
            (receive_buffer::STREAM, stream.into()),
            (receive_buffer::QUEUE, queue.into()),
            (receive_buffer::LENGTH, length.into()),
            (receive_buffer::ADDRESS, address),
        ],
    )
}

pub fn freeze(stream: u32) -> Order {
    order(
        CheckCommand::Freeze,
        &[(warpline_regmap::layout::close::STREAM, stream.into())],
    )
}

pub fn fence() -> Order {
    order(CheckCommand::Fence, &[])
}

/// An FPDU as `commit` and `crc32c` hand it over.
#[derive(Clone, Copy, Debug)]
pub struct Fpdu {
    pub segment: DdpSegment,
    pub verdict: Verdict,
}

/// An FPDU without error below DDP: a DDP header of 14 or 18 octets, and what the payload begins with.
pub fn fpdu(rng: &mut Rng, stream: u32, header: &[u8], payload: usize) -> Fpdu {
    let ulpdu = header.len() + payload;
    let mut octets = (ulpdu as u16).to_be_bytes().to_vec();
    octets.extend(header);
    octets.resize_with(20, || rng.u8(..));
    let dword = |i: usize| {
        let octets = octets[4 * i..4 * i + 4].try_into().unwrap();
        u64::from(u32::from_be_bytes(octets)).into()
    };
    Fpdu {
        segment: DdpSegment {
            stream: u64::from(stream).into(),
            position: (u64::from(rng.u32(..)) & !3).into(),
            row: u64::from(rng.u16(..)).into(),
            rows: u64::from(rng.u16(1..)).into(),
            crc: rng.bool(),
            refused: 0.into(),
            ulpdu: (ulpdu as u64).into(),
            ahead: false,
            placed: false,
            header_0: dword(0),
            header_1: dword(1),
            header_2: dword(2),
            header_3: dword(3),
            header_4: dword(4),
        },
        verdict: Verdict {
            good: true,
            state: u64::from(rng.u32(..)).into(),
            zeros: u64::from(rng.u8(0..16)).into(),
            received: u64::from(rng.u32(..)).into(),
            marker_wrong: false,
            marker_expected: u64::from(rng.u16(..)).into(),
            marker_received: u64::from(rng.u16(..)).into(),
        },
    }
}

pub fn tagged_header(control: u8, rsvd_ulp: u8, stag: u32, to: u64) -> Vec<u8> {
    [
        &[control, rsvd_ulp],
        &stag.to_be_bytes()[..],
        &to.to_be_bytes(),
    ]
    .concat()
}

pub fn untagged_header(control: u8, rsvd_ulp: [u8; 5], qn: u32, msn: u32, mo: u32) -> Vec<u8> {
    let numbers = [qn, msn, mo].map(u32::to_be_bytes).concat();
    [&[control], &rsvd_ulp[..], &numbers].concat()
}

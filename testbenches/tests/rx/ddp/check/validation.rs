//! The validation cases of the conformance table, one by one.

use super::bench::*;
use super::cases::*;
use super::stimulus::*;
use warpline_regmap::layout::completion;
use warpline_testbenches::lockstep::on_large_stack;
use warpline_wire::receive::Scope;

/// Section 4.8 of the conformance table: header, payload octets, error, failed checks.
#[rustfmt::skip]
const V_CHK_T: [(&str, &str, usize, u16, &str); 20] = [
    (
        "in range, first octet",
        "c140000001000000000000001000",
        16,
        0,
        "",
    ),
    (
        "in range, ends exactly at the end",
        "c140000001000000000000001ff0",
        16,
        0,
        "",
    ),
    (
        "one octet past the end",
        "c140000001000000000000001ff1",
        16,
        0x101,
        "end",
    ),
    (
        "TO one below base",
        "c140000001000000000000000fff",
        1,
        0x101,
        "to",
    ),
    (
        "TO equal to end",
        "c140000001000000000000002000",
        1,
        0x101,
        "end to",
    ),
    (
        "TO below base, end inside",
        "c140000001000000000000000ff8",
        16,
        0x101,
        "to",
    ),
    (
        "unknown STag",
        "c140000009990000000000000000",
        1,
        0x100,
        "stag",
    ),
    (
        "revoked STag",
        "c140000003000000000000000000",
        1,
        0x100,
        "stag",
    ),
    (
        "no remote write right",
        "c140000005000000000000000000",
        1,
        0x100,
        "access",
    ),
    (
        "STag of another PD",
        "c140000006000000000000000000",
        1,
        0x102,
        "assoc",
    ),
    (
        "STag bound to another stream",
        "c140000002000000000000000000",
        1,
        0x102,
        "assoc",
    ),
    (
        "wrap, TO in range",
        "c14000000400fffffffffffffff8",
        16,
        0x103,
        "end wrap",
    ),
    (
        "last octet of address space",
        "c14000000400ffffffffffffffff",
        1,
        0,
        "",
    ),
    (
        "end exactly 2^64",
        "c14000000400fffffffffffffff0",
        16,
        0,
        "",
    ),
    (
        "wrap, TO out of range",
        "c14000000100fffffffffffffff8",
        16,
        0x101,
        "end to wrap",
    ),
    ("DV=0", "c040000001000000000000001000", 16, 0x104, "version"),
    ("DV=2", "c240000001000000000000001000", 16, 0x104, "version"),
    (
        "DV=3, unknown STag",
        "c340000009990000000000000000",
        1,
        0x104,
        "version",
    ),
    (
        "zero length, unknown STag, wild TO",
        "c14000000999ffffffffffffffff",
        0,
        0,
        "",
    ),
    (
        "zero length, DV=0",
        "c04000000999ffffffffffffffff",
        0,
        0x104,
        "version",
    ),
];

// req: DDP-HDR-12, DDP-TAG-06, DDP-ERR-12, DDP-ERR-13, DDP-ERR-14, DDP-ERR-15, DDP-ERR-16, DDP-ERR-24
// req: DDP-ERR-25, DDP-ERR-26, DDP-ERR-27, DDP-ERR-28, DDP-SEC-01, DDP-SEC-02, DDP-SEC-04, DDP-SEC-06
// req: DDP-SEC-09, DDP-SEC-10, DDP-SEC-13, DDP-SEC-16, DDP-SEC-20, DDP-SEC-21, DDP-SEG-10, AMB-01, AMB-02, AMB-03
#[test]
fn tagged_validation_cases() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 5);
        let domain = |domain| Scope::ProtectionDomain(domain);
        let of_stream_4 = Scope::Stream {
            stream: 4,
            protection_domain: 7,
        };
        let top = 0x1000_u64.wrapping_neg();
        for (stag, scope, remote_write, base, length) in [
            (0x100, domain(7), true, 0x1000, 0x1000),
            (0x200, of_stream_4, true, 0, 64),
            (0x300, domain(7), true, 0, 64),
            (0x400, domain(7), true, top, 0x1000),
            (0x500, domain(7), false, 0, 64),
            (0x600, domain(8), true, 0, 64),
        ] {
            let address = 0x7654_3210_0000 + u64::from(stag);
            let region = Region {
                stag,
                scope,
                remote_write,
                base,
                length,
                address,
            };
            bench.command(write_stag(region)).unwrap();
        }
        bench.command(revoke_stag(0x300)).unwrap();
        for (name, header, payload, error, failed) in V_CHK_T {
            bench.command(arm(3, 7, true, 0, 1)).unwrap();
            let (pair, got) = one(&mut bench, 3, header, payload);
            let want = (error != 0).then(|| (error, checks(failed)));
            assert_eq!(got, want, "{name}");
            if error == 0 {
                let header = octets(header);
                let to = u64::from_be_bytes(header[6..14].try_into().unwrap());
                let base = if header[4] == 1 { 0x1000 } else { top };
                let address =
                    0x7654_3210_0000 + (u64::from(header[4]) << 8) + to.wrapping_sub(base);
                let write = (payload > 0).then_some((16, address, payload as u16));
                assert_eq!(pair.write, write, "{name}");
                let event = pair.event.expect("L = 1");
                assert_eq!(
                    completion::UNVERIFIED.get(&event) == 1,
                    payload == 0,
                    "{name}"
                );
                assert_eq!(completion::OFFSET.get(&event), to, "{name}");
            }
        }
    });
}

/// Where section 4.9 of the conformance table says something else in column "window".
const V_CHK_U_WINDOW: [(&str, u16, &str); 6] = [
    ("second buffer (out of order)", 0, ""),
    ("MSN one past the last posted", 0x202, "nobuf"),
    ("MSN just under half a circle ahead", 0x202, "nobuf"),
    ("wrap 0", 0, ""),
    ("wrap 1", 0, ""),
    ("wrap 2: none posted", 0x202, "nobuf"),
];

/// Section 4.9 of the conformance table, column "strict".
#[rustfmt::skip]
const V_CHK_U: [(&str, &str, usize, u16, &str); 25] = [
    (
        "first buffer, whole",
        "414300000000000000000000000500000000",
        100,
        0,
        "",
    ),
    (
        "second buffer (out of order)",
        "414300000000000000000000000600000000",
        50,
        0x203,
        "msn",
    ),
    ("tail", "41430000000000000000000000050000005a", 10, 0, ""),
    (
        "one too long",
        "41430000000000000000000000050000005b",
        10,
        0x205,
        "len",
    ),
    (
        "MO equal to buffer length",
        "414300000000000000000000000500000064",
        1,
        0x204,
        "mo len",
    ),
    (
        "MO far out",
        "4143000000000000000000000005ffffffff",
        1,
        0x204,
        "mo len",
    ),
    (
        "MO+len wraps 32 bits",
        "4143000000000000000000000005fffffff0",
        32,
        0x204,
        "mo len",
    ),
    (
        "unknown queue",
        "414300000000000000090000000100000000",
        1,
        0x201,
        "qn",
    ),
    (
        "MSN one past the last posted",
        "414300000000000000000000000700000000",
        1,
        0x203,
        "msn",
    ),
    (
        "queue with nothing posted",
        "414300000000000000010000000100000000",
        1,
        0x202,
        "nobuf",
    ),
    (
        "MSN already delivered",
        "414300000000000000000000000400000000",
        1,
        0x203,
        "msn",
    ),
    (
        "MSN 0 (never used at start)",
        "414300000000000000000000000000000000",
        1,
        0x203,
        "msn",
    ),
    (
        "MSN half a circle ahead",
        "414300000000000000008000000500000000",
        1,
        0x203,
        "msn",
    ),
    (
        "MSN just under half a circle ahead",
        "414300000000000000008000000400000000",
        1,
        0x203,
        "msn",
    ),
    (
        "wrap FFFFFFFF",
        "41430000000000000002ffffffff00000000",
        64,
        0,
        "",
    ),
    (
        "wrap 0",
        "414300000000000000020000000000000000",
        64,
        0x203,
        "msn",
    ),
    (
        "wrap 1",
        "414300000000000000020000000100000000",
        64,
        0x203,
        "msn",
    ),
    (
        "wrap 2: none posted",
        "414300000000000000020000000200000000",
        64,
        0x203,
        "msn",
    ),
    (
        "wrap: FFFFFFFE is old",
        "41430000000000000002fffffffe00000000",
        64,
        0x203,
        "msn",
    ),
    (
        "DV=0",
        "404300000000000000000000000500000000",
        1,
        0x206,
        "version",
    ),
    (
        "DV=3, unknown queue",
        "434300000000000000090000000100000000",
        1,
        0x206,
        "version",
    ),
    (
        "zero-length message",
        "414300000000000000000000000500000000",
        0,
        0,
        "",
    ),
    (
        "zero-length, MO at the end of the buffer",
        "414300000000000000000000000500000064",
        0,
        0,
        "",
    ),
    (
        "zero-length, MO past the buffer",
        "414300000000000000000000000500000065",
        0,
        0x204,
        "mo len",
    ),
    (
        "zero-length, nothing posted",
        "414300000000000000010000000100000000",
        0,
        0x202,
        "nobuf",
    ),
];

// req: DDP-UNT-08, DDP-UNT-11, DDP-UNT-12, DDP-UNT-14, DDP-UNT-18, DDP-UNT-19, DDP-ERR-02, DDP-ERR-03
// req: DDP-ERR-04, DDP-ERR-05, DDP-ERR-06, DDP-ERR-29, DDP-ERR-30, DDP-ERR-31, DDP-ERR-32, DDP-ERR-33
// req: DDP-ERR-34, DDP-SEC-16, AMB-04, AMB-05
#[test]
fn untagged_validation_cases() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 6);
        let windows = V_CHK_U.map(|case| (case, true));
        let all = V_CHK_U.map(|case| (case, false)).into_iter().chain(windows);
        for ((name, header, payload, mut error, mut failed), msn_window) in all {
            let other = V_CHK_U_WINDOW.iter().find(|case| case.0 == name);
            if let Some(other) = other.filter(|_| msn_window) {
                (error, failed) = (other.1, other.2);
            }
            let options = Options {
                msn_window,
                ..Options::default()
            };
            let queue = u32::from(octets(header)[9]);
            let (first_msn, buffers): (_, &[u32]) = match queue {
                0 => (5, &[100, 50]),
                2 => (0xffff_ffff, &[64, 64, 64]),
                _ => (1, &[]),
            };
            bench
                .command(arm_with(3, 7, options, 0b111, first_msn))
                .unwrap();
            for (i, buffer) in buffers.iter().enumerate() {
                let address = 0xffff_fff0 + i as u64 * 0x1000;
                bench.command(post(3, queue, *buffer, address)).unwrap();
            }
            let (pair, got) = one(&mut bench, 3, header, payload);
            let want = (error != 0).then(|| (error, checks(failed)));
            assert_eq!(got, want, "{name}");
            if error == 0 {
                let header = octets(header);
                let offset = u32::from_be_bytes(header[14..18].try_into().unwrap());
                let msn = u32::from_be_bytes(header[10..14].try_into().unwrap());
                let ahead = u64::from(msn.wrapping_sub(first_msn));
                let address = 0xffff_fff0 + ahead * 0x1000 + u64::from(offset);
                let write = (payload > 0).then_some((20, address, payload as u16));
                assert_eq!(pair.write, write, "{name}");
                // a message that overtakes is delivered later
                let length = u64::from(offset) + payload as u64;
                let got = pair.event.map(|event| completion::LENGTH.get(&event));
                assert_eq!(got, (ahead == 0).then_some(length), "{name}");
            }
        }
    });
}

// req: DDP-HDR-14, AMB-20
#[test]
fn short_ulpdus_are_told_from_whole_headers() {
    on_large_stack(|| {
        let mut bench = Bench::<4>::new(config(4, 16, 4, 4), 7);
        for length in 0..20_usize {
            for control in [0xc1, 0x41, 0xc0, 0x40] {
                bench.command(arm(0, 7, true, 1, 1)).unwrap();
                bench.command(post(0, 0, 100, 0)).unwrap();
                let header = [
                    control, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0,
                ];
                let text: String = header.iter().map(|octet| format!("{octet:02x}")).collect();
                let (_, got) = one(
                    &mut bench,
                    0,
                    &text[..2 * length.min(19)],
                    length - length.min(19),
                );
                let tagged = control & 0x80 != 0;
                let want = match length {
                    0..14 => Some((0x000, checks("short"))),
                    14..18 if !tagged => Some((0x000, checks("short"))),
                    _ if control & 3 == 0 && tagged => Some((0x104, checks("version"))),
                    _ if control & 3 == 0 => Some((0x206, checks("version"))),
                    14 => None,
                    _ if tagged => Some((0x100, checks("stag"))),
                    _ => None,
                };
                assert_eq!(got, want, "{length} octets, control {control:#x}");
            }
        }
    });
}

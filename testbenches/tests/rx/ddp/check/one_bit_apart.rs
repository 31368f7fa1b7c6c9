//! Whose STag it is, bit by bit; what MPA refuses ahead of a gap; and faults of the text in both.

use super::bench::*;
use super::stimulus::*;
use warpline_regmap::layout::refused;
use warpline_testbenches::lockstep::{on_large_stack, some_of};
use warpline_wire::receive::Scope;

const STAG: u32 = 0x0003_2107;
const LENGTH: u64 = 0x1000;
const NOT_ASSOCIATED: u16 = 0x102;

type Device = Bench<16>;

fn device(fault: Option<(&str, &str, &str)>) -> Device {
    let config = config(16, 16, 4, 4);
    match fault {
        Some((name, right, wrong)) => Device::with_fault(config, 9, name, right, wrong),
        None => Device::new(config, 9),
    }
}

/// A stream of `domain`, and an FPDU for a region of `scope`.
fn write_to(bench: &mut Device, stream: u32, domain: u32, scope: Scope) -> Result<(), Wrong> {
    let base = bench.rng.u64(..u64::MAX - LENGTH);
    let region = Region {
        stag: STAG,
        scope,
        remote_write: true,
        base,
        length: LENGTH,
        address: bench.rng.u64(..),
    };
    bench.command(arm(stream, domain, true, 0b1, 1))?;
    bench.command(write_stag(region))?;
    let header = tagged_header(0xc1, 0x17, STAG, base + 5);
    let sent = fpdu(&mut bench.rng, stream, &header, 70);
    bench.send(sent);
    bench.drain()
}

/// Domains and streams that differ in one bit, and those that are the same.
fn associations(bench: &mut Device) -> Result<(), Wrong> {
    for bit in 0..16 {
        let (stream, domain) = (bench.rng.u32(0..16), u32::from(bench.rng.u16(..)));
        let scope = Scope::ProtectionDomain(domain ^ 1 << bit);
        write_to(bench, stream, domain, scope)?;
        let scope = Scope::Stream {
            stream,
            protection_domain: domain ^ 1 << bit,
        };
        write_to(bench, stream, domain, scope)?;
        write_to(bench, stream, domain, Scope::ProtectionDomain(domain))?;
    }
    for bit in 0..8 {
        let (stream, domain) = (bench.rng.u32(0..16), u32::from(bench.rng.u16(..)));
        for other in [stream ^ 1 << bit, stream] {
            let scope = Scope::Stream {
                stream: other,
                protection_domain: domain,
            };
            write_to(bench, stream, domain, scope)?;
        }
    }
    bench.compare_records()
}

// req: DDP-SEC-17, DDP-SEC-18, DDP-ERR-26, AMB-59
#[test]
fn domains_and_streams_that_differ_in_one_bit_are_told_apart() {
    on_large_stack(|| {
        let mut bench = device(None);
        associations(&mut bench).unwrap_or_else(|wrong| panic!("{wrong}"));
        let seen = &bench.seen;
        assert_eq!(seen.errors.get(&NOT_ASSOCIATED), Some(&(16 + 16 + 8)));
        assert_eq!((seen.errors.len(), seen.placed), (1, 16 + 8), "{seen:?}");
    });
}

/// FPDUs ahead of a gap that DDP would accept, and MPA does not: none is placed, and their stream goes on.
fn refused_ahead(bench: &mut Device) -> Result<(), Wrong> {
    bench.command(arm(11, 7, true, 0b1, 1))?;
    bench.command(post(11, 0, 1000, 0x7000))?;
    let region = Region {
        stag: STAG,
        scope: Scope::ProtectionDomain(7),
        remote_write: true,
        base: 0,
        length: LENGTH,
        address: 0x5000,
    };
    bench.command(write_stag(region))?;
    type Spoil = fn(&mut Fpdu);
    let spoils: [Spoil; 5] = [
        |fpdu| fpdu.segment.refused = u64::from(refused::LENGTH).into(),
        |fpdu| fpdu.segment.refused = u64::from(refused::TOO_LARGE).into(),
        |fpdu| fpdu.verdict.good = false,
        |fpdu| fpdu.verdict.marker_wrong = true,
        |_| (),
    ];
    let headers = [
        tagged_header(0xc1, 0, STAG, 8),
        untagged_header(0x41, [0; 5], 0, 1, 0),
    ];
    for header in headers {
        for crc in [false, true] {
            for spoil in spoils {
                let mut ahead = fpdu(&mut bench.rng, 11, &header, 40);
                ahead.segment.ahead = true;
                ahead.segment.crc = crc;
                spoil(&mut ahead);
                bench.send(ahead);
                bench.drain()?;
            }
        }
    }
    Ok(())
}

// req: MPA-CRC-19, MPA-MRK-21, AMB-11, AMB-21, AMB-22
#[test]
fn what_mpa_refuses_ahead_of_a_gap_is_not_placed() {
    on_large_stack(|| {
        let mut bench = device(None);
        refused_ahead(&mut bench).unwrap_or_else(|wrong| panic!("{wrong}"));
        let seen = &bench.seen;
        let counts = (seen.ahead_placed, seen.ahead_returned, seen.ahead_errors);
        assert_eq!(counts, (2 * 2, 2 * 2 * 4, 0), "{seen:?}");
        assert!(bench.model.streams[11].open);
    });
}

#[test]
fn planted_faults_are_seen() {
    let domain = "entry.protection_domain == protection_domain";
    let stream = "entry.stream == stream";
    let accepted = "is_accepted_d = ((~shut) & (~outcomes_m_data.failed)) & (~mpa_fails);";
    type Run = fn(&mut Device) -> Result<(), Wrong>;
    let faults: [(&str, Run, &str, &str); 8] = [
        (
            "domain_low",
            associations,
            domain,
            "(entry.protection_domain | 16'hff00) == (protection_domain | 16'hff00)",
        ),
        (
            "domain_high",
            associations,
            domain,
            "(entry.protection_domain | 16'h00ff) == (protection_domain | 16'h00ff)",
        ),
        (
            "domain_bit",
            associations,
            domain,
            "(entry.protection_domain | 16'h8000) == (protection_domain | 16'h8000)",
        ),
        (
            "stream_bit_3",
            associations,
            stream,
            "(entry.stream | 8'h08) == (stream | 8'h08)",
        ),
        (
            "stream_bit_7",
            associations,
            stream,
            "(entry.stream | 8'h80) == (stream | 8'h80)",
        ),
        (
            "refused",
            refused_ahead,
            accepted,
            "is_accepted_d = ((~shut) & (~outcomes_m_data.failed)) & ((~mpa_fails) | is_refused);",
        ),
        (
            "ahead",
            refused_ahead,
            accepted,
            "is_accepted_d = ((~shut) & (~outcomes_m_data.failed)) & ((~mpa_fails) | waiting_m_data.ahead);",
        ),
        (
            "bad_crc",
            refused_ahead,
            accepted,
            "is_accepted_d = ((~shut) & (~outcomes_m_data.failed)) & ((~mpa_fails) | (bad_crc & (~waiting_m_data.refused[0])));",
        ),
    ];
    on_large_stack(|| {
        for &(name, run, right, wrong) in some_of(&faults) {
            let seen = run(&mut device(Some((name, right, wrong))));
            let seen = seen.expect_err(name);
            assert!(seen.contains("in Verilator"), "{name}: {seen}");
            println!("{name}: {seen}");
        }
    });
}

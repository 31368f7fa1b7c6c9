//! Limits, MULPDU and segmentation.

use super::*;

// req: MPA-FMT-10, MPA-FMT-18, MPA-SEG-13, MPA-RCV-32, AMB-21
#[test]
fn limits() {
    let vectors = vectors();
    let limits = &vectors["limits"];
    let limit = |name: &str| limits[name].as_u64().unwrap() as usize;
    let positions = || (0..512u32).step_by(4);
    let lengths: Vec<usize> = positions().map(|p| mpa::fpdu_len(p, 64768, true)).collect();
    let (max, min) = (
        *lengths.iter().max().unwrap(),
        *lengths.iter().min().unwrap(),
    );
    assert_eq!(max, limit("max_fpdu_64768_with_markers"));
    assert_eq!(max, mpa::MAX_FPDU_MARKED);
    assert_eq!(min, limit("min_fpdu_64768_with_markers"));
    let unmarked = mpa::fpdu_len(0, 64768, false);
    assert_eq!(unmarked, limit("max_fpdu_64768_no_markers"));
    assert_eq!(unmarked, mpa::MAX_FPDU_UNMARKED);

    // The last marker of an FPDU is at the last multiple of 512 inside it.
    let largest_pointer = |ulpdu_len| {
        positions()
            .map(|position| {
                let end = position as usize + mpa::fpdu_len(position, ulpdu_len, true);
                let header = position as usize + if position == 0 { 4 } else { 0 };
                ((end - 1) / 512 * 512).saturating_sub(header)
            })
            .max()
            .unwrap()
    };
    assert_eq!(largest_pointer(64768), limit("max_fpduptr_64768"));
    assert_eq!(largest_pointer(64768), usize::from(mpa::MAX_FPDUPTR));
    let first_overflow = (64768..65536).find(|&len| largest_pointer(len) > 0xFFFF);
    assert_eq!(
        first_overflow,
        Some(limit("first_ulpdu_with_fpduptr_overflow"))
    );

    for (ulpdu_len, expected) in vectors["first FPDU length by ULPDU length"]
        .as_object()
        .unwrap()
    {
        let len = mpa::fpdu_len(0, ulpdu_len.parse().unwrap(), true);
        assert_eq!(len as u64, expected.as_u64().unwrap());
    }

    let derivation = &limits["derivation"];
    let step = |name: &str| derivation[name].as_u64().unwrap() as u32;
    assert_eq!(
        step("ip") - step("minus_ip_tcp_headers_options"),
        step("left")
    );
    let overhead = 6 + 4 * step("left").div_ceil(512) + step("left") % 4;
    assert_eq!(overhead, step("mpa_overhead"));
    let rounded = (step("left") - overhead) / 128 * 128;
    assert_eq!(rounded, step("rounded"));
    assert_eq!(rounded, u32::from(mpa::MAX_ULPDU));

    // Smallest MULPDU, length field, PAD, CRC and one marker.
    let smallest = usize::from(mpa::MIN_MULPDU);
    assert_eq!(mpa::fpdu_len(0, smallest, true), mpa::MIN_REASSEMBLY);
}

// req: MPA-SEG-01, MPA-SEG-02, MPA-SEG-04
#[test]
fn mulpdu_table() {
    for row in vectors()["mulpdu"].as_array().unwrap() {
        let column = |index: usize| row[index].as_u64().unwrap();
        let emss = column(0) as u32;
        assert_eq!(u64::from(mpa::mulpdu(emss, true)), column(1), "EMSS {emss}");
        assert_eq!(
            u64::from(mpa::mulpdu(emss, false)),
            column(2),
            "EMSS {emss}"
        );
    }
    for emss in [0, 1, 100, 127] {
        assert_eq!(mpa::mulpdu(emss, true), 128);
    }
    assert_eq!(mpa::mulpdu(u32::MAX, true), 64768);
    assert_eq!(mpa::mulpdu(u32::MAX, false), 64768);
}

/// Each EMSS up to where the upper limit has long been reached, and some of all sizes above.
// req: MPA-SEG-03
#[test]
fn every_mulpdu_lies_in_its_limits() {
    let larger = (17..32).flat_map(|log| (0..999).map(move |n| (1_u32 << log).wrapping_add(n)));
    for markers in [false, true] {
        let mut reached = std::collections::BTreeSet::new();
        for emss in (0..=70_000).chain(larger.clone()).chain([u32::MAX]) {
            let mulpdu = mpa::mulpdu(emss, markers);
            assert!((128..=64768).contains(&mulpdu), "EMSS {emss}: {mulpdu}");
            reached.insert(mulpdu);
        }
        assert_eq!(
            (reached.first(), reached.last()),
            (Some(&128), Some(&64768))
        );
    }
}

// req: MPA-SEG-01, MPA-SEG-02, MPA-SEG-25
#[test]
fn a_mulpdu_sized_ulpdu_fits_at_every_stream_position() {
    let mut histogram = std::collections::BTreeMap::<String, u64>::new();
    for emss in 160..=65415u32 {
        for markers in [false, true] {
            let marker_octets = if markers { 4 * emss.div_ceil(512) } else { 0 };
            let formula = emss - (6 + marker_octets + emss % 4);
            let mulpdu = u32::from(mpa::mulpdu(emss, markers));
            assert_eq!(mulpdu, formula.min(64768), "EMSS {emss}");
            // The histogram is that of the formula before the upper limit cuts it.
            let worst = (0..512)
                .step_by(4)
                .map(|position| mpa::fpdu_len(position, formula as usize, markers))
                .max()
                .unwrap();
            let slack = (emss as usize).checked_sub(worst).expect("FPDU above EMSS");
            *histogram.entry(slack.to_string()).or_default() += 1;
        }
    }
    let expected: std::collections::BTreeMap<String, u64> =
        serde_json::from_value(vectors()["mulpdu_slack_histogram"].clone()).unwrap();
    assert_eq!(histogram, expected);
}

// req: DDP-HDR-04, DDP-HDR-05, DDP-HDR-07, DDP-SEG-01, DDP-SEG-03, DDP-SEG-05, DDP-SEG-06
// req: DDP-SEG-07, DDP-SEG-08, DDP-SEG-14, DDP-TAG-05, DDP-TAG-07, DDP-TAG-09, DDP-UNT-05
// req: DDP-UNT-09, DDP-UNT-13, DDP-UNT-15, MPA-SEG-08, MPA-SEG-09, DDP-HDR-06, DDP-HDR-10
#[test]
fn segmentation_examples() {
    let vectors = vectors();
    let send = |msn| Message::Untagged {
        qn: 0,
        msn,
        rsvd_ulp: [0x43, 0, 0, 0, 0],
    };
    let write = Message::Tagged {
        stag: 0x00AB_CD01,
        to: 16384,
        rsvd_ulp: 0x40,
    };
    for (name, message, len) in [
        ("V-SEG-U", send(1), 2048),
        ("V-SEG-T", write, 2048),
        ("V-SEG-EXACT", send(7), 2964),
    ] {
        let payload = pattern(0, len);
        let cut: Vec<_> = ddp_segments(message, len as u64, 1500).unwrap().collect();
        let expected = vectors[name].as_array().unwrap();
        assert_eq!(cut.len(), expected.len());
        for markers in [false, true] {
            let mut writer = FpduWriter::new(markers, CrcField::Computed);
            let mut wire = Vec::new();
            for (segment, expected) in cut.iter().zip(expected) {
                let value = |field: &str| expected[field].as_u64().unwrap();
                let mut header = [0; 18];
                let header_len = segment.header.emit(&mut header);
                let range = segment.payload.start as usize..segment.payload.end as usize;
                let (offset, last) = match segment.header {
                    Header::Tagged(header) => (header.to, header.last),
                    Header::Untagged(header) => (header.mo.into(), header.last),
                };
                assert_eq!(header[..header_len], octets(&expected["header"]), "{name}");
                assert_eq!(offset, value("offset"));
                assert_eq!(last, expected["last"].as_bool().unwrap());
                assert_eq!(range.len() as u64, value("payload"));
                let ulpdu_len = header_len + range.len();
                assert_eq!(ulpdu_len as u64, value("ulpdu_len"));
                let (len_field, crc_field) = if markers {
                    ("fpdu_len_markers", "crc_wire_markers")
                } else {
                    ("fpdu_len", "crc_wire")
                };
                assert_eq!(writer.fpdu_len(ulpdu_len) as u64, value(len_field));
                writer
                    .append(&header[..header_len], &payload[range], &mut wire)
                    .unwrap();
                assert_eq!(wire[wire.len() - 4..], octets(&expected[crc_field]));
            }
            let mut whole = Vec::new();
            FpduWriter::new(markers, CrcField::Computed)
                .append_message(message, &payload, 1500, &mut whole)
                .unwrap();
            assert_eq!(whole, wire, "{name}");
        }
    }
}

// req: DDP-SEG-02
#[test]
fn largest_message() {
    let vectors = vectors();
    let expected = &vectors["V-SEG-MAX"];
    let send = Message::Untagged {
        qn: 0,
        msn: 1,
        rsvd_ulp: [0; 5],
    };
    let (mut count, mut octets, mut last) = (0u64, 0, None);
    for segment in ddp_segments(send, (1 << 32) - 1, 1500).unwrap() {
        count += 1;
        octets += segment.payload.end - segment.payload.start;
        last = Some(segment);
    }
    let last = last.unwrap();
    assert_eq!(octets, (1 << 32) - 1);
    assert_eq!(count, expected["untagged_segments"].as_u64().unwrap());
    assert_eq!(last.payload.start, expected["last_mo"].as_u64().unwrap());
    let last_payload = last.payload.end - last.payload.start;
    assert_eq!(last_payload, expected["last_payload"].as_u64().unwrap());
}

//! `warpline explain` as a shell sees it: inputs of all kinds, exit codes, one line for what cannot be used, one JSON document.

use std::process::Stdio;

use super::*;

/// Figure 6 of RFC 5044: the second FPDU of a stream with markers.
const FIGURE6: &str = "002a4143 00000000 00000000 00000002 00000000 00000014 \
    00000000 00000000 00000000 00000000 00000000 00000000 84925898";
/// The octets of a Request frame.
const REQUEST: &[u8] = b"MPA ID Req Frame\xC0\x01\0\0";

/// Runs it with `input` on standard input.
fn piped(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.arg("explain").args(arguments);
    command.stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to = child.stdin.take().unwrap();
    // It may end before it has read all.
    let _ = to.write_all(input);
    drop(to);
    child.wait_with_output().unwrap()
}

fn explain(arguments: &[&str]) -> Output {
    warpline(&[&["explain"], arguments].concat())
}

/// Its text, and that it ended with `code`.
#[track_caller]
fn said(output: &Output, code: i32) -> &str {
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{complaint}");
    text(&output.stdout)
}

#[track_caller]
fn refused(arguments: &[&str], reason: &str) {
    unusable(&[&["explain"], arguments].concat(), reason);
}

fn json(output: &Output) -> Value {
    assert_eq!(text(&output.stderr), "");
    assert_eq!(text(&output.stdout).lines().count(), 1);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_same_octets_in_any_form_are_explained_alike() {
    let options = ["--markers", "--offset", "492"];
    let with = |input: &[&'static str]| [input, &options].concat();
    let words: Vec<_> = FIGURE6.split_whitespace().collect();
    let one = explain(&with(&[FIGURE6]));
    let expected = said(&one, 0).to_owned();
    assert!(expected.contains("CRC                 0x98589284          good"));
    assert!(expected.contains("ULPDU_Length is 20 octets before"));
    assert!(expected.ends_with("\n1 FPDU: no fault\n"));
    assert_eq!(said(&explain(&with(&words)), 0), expected);

    let octets: Vec<_> = words
        .concat()
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(text(pair), 16).unwrap())
        .collect();
    let dump: String = (0..)
        .zip(octets.chunks(16))
        .map(|(row, octets)| {
            let digits: Vec<_> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
            format!("{:08x}: {}  ....\n", 16 * row, digits.join(" "))
        })
        .collect();
    for input in [dump.as_bytes(), FIGURE6.as_bytes(), &octets] {
        let output = piped(&with(&["-"]), input);
        assert_eq!(said(&output, 0), expected);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("octets");
        fs::write(&file, input).unwrap();
        let file = [&[file.to_str().unwrap()], &options[..]].concat();
        assert_eq!(said(&explain(&file), 0), expected);
    }
}

#[test]
fn what_a_receiver_refuses_gives_exit_code_1() {
    // Figure 6 with a flipped bit, at another position, and cut off.
    let flipped = FIGURE6.replacen("00000002", "00000003", 1);
    let output = explain(&[&flipped, "--markers", "--offset", "492"]);
    let told = said(&output, 1);
    assert!(told.contains("refused: CRC 0x98589284 found, 0x"), "{told}");
    assert!(told.contains("reported as MPA error 0x0/0x02"), "{told}");
    assert!(told.contains("[MPA-CRC-19, RFC 5044 §8]"), "{told}");
    let output = explain(&[FIGURE6, "--markers", "--offset", "488"]);
    said(&output, 1);
    let output = explain(&[&FIGURE6[..40]]);
    assert!(said(&output, 1).contains("cut off: "));
    // Without its CRC it is not checked.
    let plain = "0012 4143 00000000 00000000 00000001 00000000 00000000";
    said(&explain(&[plain]), 1);
    said(&explain(&[plain, "--no-crc"]), 0);
    let output = piped(&["-"], REQUEST);
    assert!(
        said(&output, 0).contains("Start frame, 20 octets: MPA Request frame, markers required")
    );
    let output = piped(&["-"], &[REQUEST, b"\0"].concat());
    said(&output, 1);
}

#[test]
fn captures_of_every_form() {
    let folder = recorded("crc1-rev2-badstag");
    let file = folder.join("wire.pcap");
    let packed_in = tempfile::tempdir().unwrap();
    let packed = packed_in.path().join("wire.pcap.gz");
    let pcap = fs::read(&file).unwrap();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&pcap).unwrap();
    let gzip = gzip.finish().unwrap();
    fs::write(&packed, &gzip).unwrap();
    let output = explain(&[folder.to_str().unwrap()]);
    let expected = said(&output, 0).to_owned();
    assert!(expected.ends_with("\n2 start frames, 2 FPDUs: no fault\n"));
    for path in [&file, &packed] {
        assert_eq!(said(&explain(&[path.to_str().unwrap()]), 0), expected);
    }
    for octets in [&pcap, &gzip] {
        assert_eq!(said(&piped(&["-"], octets), 0), expected);
    }
    let terminate = explain(&[folder.to_str().unwrap(), "--direction", "responder"]);
    assert!(said(&terminate, 0).contains("tagged buffer error"));
    assert!(said(&terminate, 0).contains("invalid STag"));
}

#[test]
fn a_file_named_as_a_capture_that_is_read_as_octets_is_said() {
    let mut pcap = fs::read(recorded("crc1-rev2-oob").join("wire.pcap")).unwrap();
    pcap[0] ^= 1;
    let folder = tempfile::tempdir().unwrap();
    for (name, is_said) in [
        ("damaged.pcap", true),
        ("DAMAGED.CAP", true),
        ("octets.bin", false),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, &pcap).unwrap();
        for more in [&[][..], &["--json"], &["--sctp", "segment"]] {
            let output = explain(&[&[file.to_str().unwrap()], more].concat());
            let complaint = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{complaint}");
            let said = "is explained as plain octets";
            assert_eq!(
                complaint.lines().count(),
                usize::from(is_said),
                "{complaint}"
            );
            assert_eq!(complaint.contains(said), is_said, "{complaint}");
            if more == ["--json"] {
                let document: Value = serde_json::from_slice(&output.stdout).unwrap();
                let warnings = document["source"]["warnings"].as_array().unwrap();
                assert_eq!(warnings.len(), usize::from(is_said));
            }
        }
    }
}

#[test]
fn options_choose_fpdus() {
    let capture = recorded("crc1-rping");
    let capture = capture.to_str().unwrap();
    let numbers = |options: &[&str]| {
        let arguments = [&[capture, "--json"], options].concat();
        let document = json(&explain(&arguments));
        let units = document["units"].as_array().unwrap();
        let numbers = units.iter().map(|unit| unit["number"].as_u64());
        numbers.collect::<Vec<_>>()
    };
    let all = numbers(&[]);
    assert_eq!(all[..3], [None, None, Some(1)]);
    assert_eq!(all.len(), 52);
    assert_eq!(numbers(&["--fpdu", "7"]), [Some(7)]);
    assert_eq!(numbers(&["--from", "49"]), [Some(49), Some(50)]);
    assert_eq!(
        numbers(&["--from", "3", "--count", "2"]),
        [Some(3), Some(4)]
    );
    assert_eq!(numbers(&["--count", "1"]), [None, None, Some(1)]);
    refused(
        &[capture, "--fpdu", "51"],
        "there is no FPDU 51: the last one is 50",
    );
    refused(&[capture, "--fpdu", "0"], "give a number from 1 on");
    refused(
        &[capture, "--fpdu", "1", "--from", "1"],
        "cannot be used with",
    );
    refused(&[capture, "--connection", "2"], "there is no connection 2");
    refused(
        &[capture, "--markers"],
        "--markers is for octets without a capture",
    );
    refused(&[capture, "--offset", "4"], "--offset is for");
    refused(
        &["0011", "--direction", "responder"],
        "--direction is for captures",
    );
    refused(&["0011", "--offset", "6"], "a multiple of 4");
    refused(&["0011", "--offset", "-4"], "below 2^32");
}

#[test]
fn json_has_the_documented_names() {
    let capture = recorded("crc1-rev2-mixed");
    let document = json(&explain(&[capture.to_str().unwrap(), "--json"]));
    assert_eq!(document["format"], "warpline explain 1");
    let source = &document["source"];
    assert_eq!(source["kind"], "capture");
    assert_eq!(
        (&source["connection"], &source["direction"]),
        (&1.into(), &"initiator".into())
    );
    assert_eq!(
        (&source["markers"], &source["crc"]),
        (&false.into(), &true.into())
    );
    assert_eq!(document["tally"]["fpdus"], 151);
    assert_eq!(document["tally"]["faults"], 0);
    let fpdu = &document["units"][2];
    assert_eq!(
        (&fpdu["unit"], &fpdu["position"]),
        (&"fpdu".into(), &0.into())
    );
    let fields = fpdu["fields"].as_array().unwrap();
    let length = fields
        .iter()
        .find(|field| field["name"] == "mpa.ulpdu_length");
    let length = length.unwrap();
    assert_eq!(
        (&length["octets"], &length["value"]),
        (&"000f".into(), &15.into())
    );

    let output = explain(&["0000 0000 00000000", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let document = json(&output);
    assert_eq!(document["tally"]["first_refused"], 1);
    let fields = document["units"][0]["fields"].as_array().unwrap();
    let findings = fields
        .iter()
        .flat_map(|field| field["findings"].as_array().unwrap());
    let checks: Vec<_> = findings
        .map(|finding| finding["check"].as_str().unwrap())
        .collect();
    assert_eq!(checks, ["ddp_header", "crc"]);
}

#[test]
fn what_is_no_input_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    refused(&[], "required");
    refused(&[""], "no octets");
    refused(&["/dev/null"], "no octets");
    refused(&["missing.pcap"], "no such file, and no hexadecimal octets");
    refused(&["00 1"], "odd number of digits");
    refused(&["0x"], "no octets");
    refused(&["03000004", "--sctp", "chunks"], "no DATA chunk of SCTP");
    refused(&[folder.path().to_str().unwrap()], "wire.pcap");
    pipe(Path::new(&at("pipe")));
    refused(&[&at("pipe")], "a pipe, give a file");
    fs::write(at("text"), "Dear reader,\n").unwrap();
    refused(&[&at("text")], "line 1: 'r' is no hexadecimal digit");
    let header = &fs::read(recorded("crc1-rev2-oob").join("wire.pcap")).unwrap()[..24];
    fs::write(at("empty.pcap"), header).unwrap();
    refused(&[&at("empty.pcap")], "no TCP connection");
    refused(
        &[&at("text/beyond")],
        "text/beyond: cannot read: Not a directory",
    );
    fs::write(at("bad.gz"), [0x1F, 0x8B, 8, 0, 0, 0]).unwrap();
    refused(&[&at("bad.gz")], "gzip");
    for input in [&b""[..], b"\n\n", b"no octets"] {
        let output = piped(&["-"], input);
        assert_eq!(output.status.code(), Some(2));
        let complaint = text(&output.stderr);
        assert!(
            complaint.starts_with("warpline: standard input: "),
            "{complaint}"
        );
        assert_eq!(complaint.lines().count(), 1);
    }
}

/// A connection that the Responder rejects carries no FPDU; its start frames are explained all the same.
#[test]
fn a_rejected_connection_is_explained() {
    let copy = Copy::of("crc1-rev2-sends");
    copy.edit("wire.pcap", |octets| {
        let key = b"MPA ID Rep Frame";
        let at = octets.windows(key.len()).position(|window| window == key);
        octets[at.unwrap() + 16] |= 0x20;
    });
    let output = explain(&[copy.path().to_str().unwrap()]);
    let told = said(&output, 0);
    assert!(
        told.contains("note: the Responder rejects the connection"),
        "{told}"
    );
    assert!(
        told.ends_with("\n2 start frames, 0 FPDUs: no fault, 1 note\n"),
        "{told}"
    );
    assert!(text(&output.stderr).contains("the Reply frame rejects the connection"));
}

/// A reader that has seen enough ends it without a word.
#[test]
fn a_closed_pipe_is_no_error() {
    let capture = recorded("crc1-rev2-writes");
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.arg("explain").arg(capture);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn help_has_examples_that_run() {
    let help = explain(&["--help"]);
    let told = said(&help, 0);
    let examples = told.split("Examples:\n").nth(1).unwrap();
    let examples: Vec<_> = examples
        .lines()
        .take_while(|line| !line.is_empty())
        .collect();
    assert_eq!(examples.len(), 5, "{examples:?}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // the last one asks for a capture of the reader's own
    for (example, code) in [(0, 0), (1, 0), (3, 0), (4, 2)] {
        let example = examples[example];
        let words = example.split_whitespace().skip(1);
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
        let output = command.args(words).current_dir(&root).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{example}: {}",
            text(&output.stderr)
        );
    }
    let options: Vec<_> = examples[2]
        .split('|')
        .nth(1)
        .unwrap()
        .split_whitespace()
        .skip(2)
        .collect();
    let output = piped(&options, FIGURE6.as_bytes());
    assert_eq!(said(&output, 0).lines().count(), 1);
}

#[test]
fn chunks_of_sctp_are_explained() {
    let initiate = explain(&["--sctp", "control", "00000001686921"]);
    let said_of_it = said(&initiate, 0);
    assert!(
        said_of_it.contains("Function Code       0x0001"),
        "{said_of_it}"
    );
    assert!(
        said_of_it.ends_with("\n1 chunk: no fault\n"),
        "{said_of_it}"
    );
    let unknown = explain(&["--sctp", "control", "00000005"]);
    let said_of_it = said(&unknown, 1);
    assert!(
        said_of_it.ends_with("\n1 chunk: 1 fault in 1 chunk\n"),
        "{said_of_it}"
    );
    // V-SCTP-7.
    let chunk = "00070028010203040003000000000010000141430000000000000000000000010000000070696e67";
    let document = json(&explain(&["--json", "--sctp", "chunks", chunk]));
    assert_eq!(document["units"][0]["unit"], "chunk");
    assert_eq!(document["tally"]["chunks"], 1);
    assert_eq!(document["tally"]["faults"], 0);
    refused(
        &["--sctp", "chunks", "--markers", chunk],
        "cannot be used with",
    );
    let capture = recorded("crc1-rev2-sends").join("wire.pcap");
    let capture = capture.to_str().unwrap();
    refused(
        &["--sctp", "control", capture],
        "--sctp control is for octets",
    );
    refused(
        &["--sctp", "chunks", capture],
        "no DATA chunk of SCTP in this capture",
    );
}

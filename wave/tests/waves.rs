//! What a diagram shows is what its file holds: waveforms with known values are drawn, and read back from the drawing.

mod drawing;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use drawing::Drawing;
use warpline_wave::{Diagram, Error, Level, Line, Row, Trace, rows};

/// Values of a port by cycle.
struct Port {
    valid: Vec<u8>,
    ready: Vec<u8>,
    data: Vec<u16>,
}

impl Port {
    fn example() -> Self {
        Self {
            valid: vec![0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0],
            ready: vec![1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
            data: vec![
                0, 0xA5, 0xA5, 0xA5, 7, 7, 0x1FF, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 9, 9,
            ],
        }
    }

    fn cycles(&self) -> u64 {
        self.valid.len() as u64
    }

    /// As a file. Values change just behind the edge that begins their cycle, as registers do.
    fn vcd(&self) -> String {
        let mut text = "$timescale 1ns $end\n$scope module top $end\n$var wire 1 ! aclk $end\n\
            $scope module port $end\n$var wire 1 v x_tvalid $end\n$var wire 1 r x_tready $end\n\
            $var wire 9 d x_tdata $end\n$var wire 1 q other $end\n$var real 64 f share $end\n$upscope $end\n\
            $scope module copy $end\n$var wire 1 v x_tvalid $end\n$var wire 1 s other $end\n$upscope $end\n\
            $upscope $end\n$enddefinitions $end\n"
            .to_owned();
        for cycle in 0..self.valid.len() {
            let at = 10 * cycle;
            let _ = writeln!(text, "#{at}");
            if cycle > 0 {
                text += "1!\n";
            }
            let (valid, ready, data) = (self.valid[cycle], self.ready[cycle], self.data[cycle]);
            let _ = writeln!(
                text,
                "{valid}v\n{ready}r\nb{data:b} d\n0q\n1s\n#{}\n0!",
                at + 5
            );
        }
        let _ = writeln!(
            text,
            "#{}\n1!\nxv\n#{}\n0!",
            10 * self.valid.len(),
            10 * self.valid.len() + 5
        );
        text
    }

    /// Where the drawing differs.
    fn differences(&self, drawing: &Drawing, cycles: impl IntoIterator<Item = u64>) -> Vec<String> {
        let mut differences = Vec::new();
        for cycle in cycles {
            let at = cycle as usize;
            let (valid, ready) = (self.valid[at] == 1, self.ready[at] == 1);
            let drawn = ["x_tvalid", "x_tready"].map(|name| drawing.high(name, cycle));
            if drawn != [Some(valid), Some(ready)] {
                differences.push(format!("{cycle}: {drawn:?}"));
            }
            let value = drawing.value("x_tdata", cycle).map(|value| &value.title);
            let expected = format!("x_tdata 0x{:03x}", self.data[at]);
            if value.is_some() != valid || value.is_some_and(|value| *value != expected) {
                differences.push(format!("{cycle}: {value:?}, not {expected}"));
            }
        }
        differences
    }
}

const NAMES: [&str; 3] = ["x_tvalid", "x_tready", "x_tdata"];

fn file(text: impl AsRef<[u8]>) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wave.vcd");
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn draw(text: &str, from: u64, to: u64, cut: bool) -> String {
    let (_folder, path) = file(text);
    let mut trace = Trace::open(&path, None).unwrap();
    let mut diagram = Diagram::new("A port", trace.window(from, to).unwrap());
    diagram.cut = cut;
    diagram.rows = rows(&mut trace, &NAMES, true).unwrap();
    diagram.svg()
}

#[test]
fn a_drawing_has_the_values_of_its_file() {
    let port = Port::example();
    let vcd = port.vcd();
    let (_folder, path) = file(&vcd);
    let trace = Trace::open(&path, None).unwrap();
    assert_eq!(trace.cycles(), port.cycles());
    for (from, to) in [(0, 19), (0, 7), (3, 18), (16, 19)] {
        let drawing = Drawing::read(&draw(&vcd, from, to, false));
        assert_eq!(drawing.drawn(0, 19), (from..=to).collect::<Vec<_>>());
        assert_eq!(port.differences(&drawing, from..=to), [""; 0]);
        assert_eq!(drawing.untidy(), [""; 0]);
    }
    let transfers = (0..20)
        .filter(|at| port.valid[*at] & port.ready[*at] == 1)
        .count();
    let drawing = Drawing::read(&draw(&vcd, 0, 19, false));
    let drawn = (0..20).filter(|cycle| {
        NAMES[..2]
            .iter()
            .all(|name| drawing.high(name, *cycle) == Some(true))
    });
    assert_eq!((drawn.count(), transfers), (4, 4));
}

#[test]
fn a_cut_leaves_out_quiet_cycles_only_and_says_how_many() {
    let port = Port::example();
    let drawing = Drawing::read(&draw(&port.vcd(), 0, 19, true));
    let drawn = drawing.drawn(0, 19);
    assert_eq!(port.differences(&drawing, drawn.iter().copied()), [""; 0]);
    let left_out: u64 = drawing.cuts.iter().map(|(_, count)| count).sum();
    assert_eq!((drawing.cuts.len(), left_out), (1, 6));
    assert_eq!(drawn.len() as u64 + left_out, 20);
    assert_eq!(drawing.untidy(), [""; 0]);
}

/// The comparison fails when a wave, a value or a cycle is another one.
#[test]
fn planted_faults_are_noticed() {
    let port = Port::example();
    let good = draw(&port.vcd(), 0, 19, false);
    let differences = |svg: &str| port.differences(&Drawing::read(svg), 0..20).len();
    assert_eq!(differences(&good), 0);
    // a shape that is elsewhere
    let wave = good.find("class=\"wave\" d=\"").unwrap();
    let (head, tail) = good.split_at(wave);
    let edge = tail.find('L').unwrap();
    let from: f64 = tail[edge + 1..].split(' ').next().unwrap().parse().unwrap();
    let later = tail.replacen(&format!("L{from:.1} "), &format!("L{:.1} ", from - 44.0), 1);
    let later = later.replacen(
        &format!("L{:.1} ", from + 4.0),
        &format!("L{:.1} ", from - 40.0),
        1,
    );
    assert!(differences(&format!("{head}{later}")) > 0);
    let other = good.replacen("x_tdata 0x1ff", "x_tdata 0x1fe", 1);
    assert!(other != good && differences(&other) == 1);
    // another file
    for (cycle, row) in [(4, 0), (12, 1), (17, 2)] {
        let mut wrong = Port::example();
        match row {
            0 => wrong.valid[cycle] ^= 1,
            1 => wrong.ready[cycle] ^= 1,
            _ => wrong.data[cycle] ^= 1,
        }
        assert!(differences(&draw(&wrong.vcd(), 0, 19, false)) > 0, "{row}");
    }
    // all a cycle later
    let mut shifted = Port::example();
    shifted.valid.rotate_right(1);
    assert!(differences(&draw(&shifted.vcd(), 0, 19, false)) > 0);
    // text that does not fit
    let long = good.replacen(
        ">x_tready<",
        ">x_tready_and_a_name_that_is_far_too_long_for_it<",
        1,
    );
    assert_ne!(Drawing::read(&long).untidy(), [""; 0]);
}

#[test]
fn values_without_meaning_are_neither_high_nor_low() {
    let levels = [
        Level::Low,
        Level::Unknown,
        Level::High,
        Level::High,
        Level::Low,
    ];
    let mut diagram = Diagram::new("Levels", 0..5);
    diagram.rows = vec![Row::Line(Line::new("line", levels))];
    let drawing = Drawing::read(&diagram.svg());
    let drawn = [0, 1, 2, 3, 4].map(|cycle| drawing.high("line", cycle));
    let (high, low) = (Some(true), Some(false));
    assert_eq!(drawn, [low, None, high, high, low]);
}

#[test]
fn signals_are_found_by_the_end_of_their_name() {
    let (_folder, path) = file(Port::example().vcd());
    let trace = Trace::open(&path, None).unwrap();
    let name = |asked| trace.signal(asked).map(|signal| signal.name);
    assert_eq!(name("aclk").unwrap(), "top.aclk");
    assert_eq!(name("port.x_tdata").unwrap(), "top.port.x_tdata");
    assert_eq!(name("top.port.x_tready").unwrap(), "top.port.x_tready");
    // one signal under two names
    assert_eq!(name("x_tvalid").unwrap(), "top.port.x_tvalid");
    let several = name("other").unwrap_err().to_string();
    assert_eq!(
        several,
        "other: 2 signals have this name, top.port.other, top.copy.other among them"
    );
    let unknown = name("port.x_tdatum").unwrap_err().to_string();
    assert!(
        unknown.starts_with("port.x_tdatum: no such signal; the nearest are port.x_tdata, "),
        "{unknown}"
    );
    assert!(matches!(name("x_t"), Err(Error::Unknown { .. })));
    assert!(matches!(name(""), Err(Error::Unknown { .. })));
    assert!(matches!(name("share"), Err(Error::NotBits { .. })));
    let beyond = trace.window(5, 20).unwrap_err().to_string();
    assert_eq!(
        beyond,
        "cycles 5 to 20 are not there: the waveform has cycles 0 to 19"
    );
    assert!(matches!(trace.window(5, 4), Err(Error::Cycles { .. })));
    assert!(matches!(
        trace.window(0, u64::MAX),
        Err(Error::Cycles { .. })
    ));
}

/// Names of vectors may look like times, and a comment may hold anything.
#[test]
fn what_looks_like_a_time_is_none() {
    let text = "$timescale 1ns $end\n$scope module t $end\n$var wire 1 ! clk $end\n$var wire 4 #0 v $end\n\
                $upscope $end\n$enddefinitions $end\n#1\n0!\nb0101 #0\n$comment\n#0 back\n$end\n#5\n1!\n\
                #6\n0!\nb1 #0\n#7\n1!\n";
    let (_folder, path) = file(text);
    assert_eq!(Trace::open(&path, None).unwrap().cycles(), 2);
}

#[test]
fn a_signal_that_is_too_wide_is_refused() {
    for (width, fits) in [
        (1 << 16, true),
        ((1 << 16) + 1, false),
        (4_000_000_000_u32, false),
    ] {
        let text = format!(
            "$timescale 1ns $end\n$scope module t $end\n$var wire 1 ! clk $end\n$var wire {width} v v $end\n\
             $upscope $end\n$enddefinitions $end\n#0\n0!\n#5\n1!\n"
        );
        let (_folder, path) = file(text);
        let trace = Trace::open(&path, None).unwrap();
        match trace.signal("v") {
            Ok(_) => assert!(fits, "{width}"),
            Err(error) => {
                assert!(!fits, "{error}");
                let said = format!("v: has {width} bits; signals of up to 65536 bits can be drawn");
                assert_eq!(error.to_string(), said);
            }
        }
    }
}

#[test]
fn bits_of_a_signal_have_a_row_of_their_own() {
    let port = Port::example();
    let (_folder, path) = file(port.vcd());
    let mut trace = Trace::open(&path, None).unwrap();
    let names = ["x_tdata[8]", "x_tdata[7:4]", "x_tready"];
    let mut diagram = Diagram::new("Bits", trace.window(0, 19).unwrap());
    diagram.rows = rows(&mut trace, &names, false).unwrap();
    diagram.cut = false;
    let drawing = Drawing::read(&diagram.svg());
    for cycle in 0..20 {
        let data = port.data[cycle as usize];
        assert_eq!(drawing.high("x_tdata[8]", cycle), Some(data >> 8 == 1));
        let value = drawing.value("x_tdata[7:4]", cycle).unwrap();
        assert_eq!(value.title, format!("x_tdata[7:4] 0x{:x}", data >> 4 & 15));
    }
    let said = |name: &str| {
        rows(&mut Trace::open(&path, None).unwrap(), &[name], false)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(said("x_tdata[9]"), "x_tdata[9]: x_tdata has bits 8 to 0");
    assert_eq!(
        said("x_tdata[0:1]"),
        "x_tdata[0:1]: x_tdata has bits 8 to 0"
    );
    assert!(said("x_data[0]").starts_with("x_data: no such signal"));
}

#[test]
fn another_clock_can_be_named() {
    let (_folder, path) = file(Port::example().vcd());
    let by_ready = Trace::open(&path, Some("x_tready")).unwrap();
    assert_eq!(by_ready.cycles(), 2, "it rises twice");
    let missing = Trace::open(&path, Some("clk2")).err().unwrap();
    assert!(matches!(missing, Error::Unknown { .. }));
    let still = Trace::open(&path, Some("port.other")).err().unwrap();
    assert_eq!(
        still.to_string().split(": ").nth(1),
        Some("top.port.other never rises")
    );
    let (_folder, path) = file(Port::example().vcd().replace("aclk", "tick"));
    let none = Trace::open(&path, None).err().unwrap();
    assert!(matches!(none, Error::NoClock { .. }), "{none}");
}

/// Files that are no waveform, or a part of one, give an error of one line.
#[test]
fn foreign_files_are_refused() {
    let refused = |path: &Path| {
        let error = Trace::open(path, None).err().expect("it is refused");
        let said = error.to_string();
        assert!(!said.contains('\n'), "{said}");
        said
    };
    let folder = tempfile::tempdir().unwrap();
    assert!(refused(&folder.path().join("none.fst")).contains("cannot read: No such file"));
    assert!(refused(folder.path()).contains("cannot read"));
    for garbage in [&b""[..], b"GIF89a", &[0; 400], &[0xFF; 400], b"$var wire 1"] {
        let (_folder, path) = file(garbage);
        let said = refused(&path);
        assert!(said.contains("waveform") || said.contains("aclk"), "{said}");
    }
    let vcd = Port::example().vcd();
    let again = format!("{vcd}#0\n");
    let beyond = format!("{vcd}#{}\n", u128::MAX);
    for (text, reason) in [
        (&again, "time 0 behind"),
        (&beyond, "is no time of 64 bits"),
    ] {
        let (_folder, path) = file(text);
        let said = refused(&path);
        assert!(said.contains(reason), "{said}");
    }
    for length in (0..vcd.len()).step_by(7) {
        let (_folder, path) = file(&vcd[..length]);
        let _ = Trace::open(&path, None); // a part of a text may be one
    }
}

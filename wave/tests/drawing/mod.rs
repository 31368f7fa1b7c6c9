//! Reads a diagram back from its SVG: where cycles lie, by the numbers on the axis, and what is drawn there. It knows shapes
//! and texts only, nothing of the code that drew them.
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;

use roxmltree::{Document, Node};

/// Width of a character of a fixed font, as a share of its size.
const CHARACTER: f64 = 0.602;
/// The widest of sans-serif fonts, on average.
const SENTENCE: f64 = 0.6;

/// A hexagon in a lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Hexagon {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    /// Class of the drawing.
    pub ink: String,
    /// What a pointer shows.
    pub title: String,
}

/// A text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    pub left: f64,
    pub right: f64,
    pub y: f64,
    pub class: String,
    pub text: String,
}

/// A diagram as it is drawn.
pub struct Drawing {
    pub width: f64,
    pub height: f64,
    /// Where the first cycle begins, and the last one ends.
    pub left: f64,
    pub right: f64,
    /// Middle and number of drawn cycles that have a number.
    pub numbers: Vec<(f64, u64)>,
    /// Middle and count of the cuts.
    pub cuts: Vec<(f64, u64)>,
    lines: BTreeMap<String, Vec<(f64, f64)>>,
    pub lanes: BTreeMap<String, Vec<Hexagon>>,
    pub texts: Vec<Text>,
    pub title: String,
}

/// Numbers of a path, by pairs; `H` repeats the height.
fn points(path: &str) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let starts: Vec<_> = path
        .char_indices()
        .filter(|(_, c)| c.is_ascii_alphabetic())
        .map(|(at, _)| at)
        .collect();
    for (i, &at) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(path.len());
        let numbers: Vec<f64> = path[at + 1..end]
            .split_whitespace()
            .map(|number| number.parse().unwrap())
            .collect();
        match (&path[at..=at], &numbers[..]) {
            ("M" | "L", [x, y]) => points.push((*x, *y)),
            ("H", [x]) => points.push((*x, points.last().unwrap().1)),
            ("V", [y]) => points.push((points.last().unwrap().0, *y)),
            ("Z", []) => {}
            other => panic!("{other:?} in {path}"),
        }
    }
    points
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

/// Size and width of a character, by the class of a text.
fn measure(class: &str) -> (f64, f64) {
    let is = |name| class.split(' ').any(|class| class == name);
    match () {
        () if is("title") => (15.0, SENTENCE),
        () if is("note") => (12.0, SENTENCE),
        () if is("axis") || is("label") => (11.0, CHARACTER),
        () => (12.0, CHARACTER),
    }
}

impl Drawing {
    pub fn read(svg: &str) -> Self {
        let document = Document::parse(svg).unwrap();
        let root = document.root_element();
        assert_eq!(root.tag_name().name(), "svg");
        let mut drawing = Self {
            width: number(root, "width"),
            height: number(root, "height"),
            left: 0.0,
            right: 0.0,
            numbers: Vec::new(),
            cuts: Vec::new(),
            lines: BTreeMap::new(),
            lanes: BTreeMap::new(),
            texts: Vec::new(),
            title: String::new(),
        };
        for node in root.descendants().filter(Node::is_element) {
            match node.tag_name().name() {
                "script" | "image" | "use" | "foreignObject" | "a" => panic!("{node:?}"),
                "title" if node.parent() == Some(root) => {
                    drawing.title = node.text().unwrap_or_default().into();
                }
                "text" => drawing.text(node),
                "g" => drawing.row(node),
                "path" if node.attribute("class") == Some("rule") => {
                    let rule = points(node.attribute("d").unwrap());
                    (drawing.left, drawing.right) = (rule[0].0, rule[1].0);
                }
                _ => {}
            }
            for attribute in node.attributes() {
                assert!(!attribute.name().contains("href"), "{node:?}");
            }
        }
        drawing
    }

    fn text(&mut self, node: Node<'_, '_>) {
        let class = node.attribute("class").unwrap_or_default().to_owned();
        let text = node.text().unwrap_or_default().to_owned();
        let (x, y) = (number(node, "x"), number(node, "y"));
        let (size, share) = measure(&class);
        let wide = text.chars().count() as f64 * size * share;
        let left = match class.contains("mid") {
            true => x - wide / 2.0,
            false => x,
        };
        if class == "axis mid" {
            match text.strip_prefix('+') {
                Some(count) => self.cuts.push((x, count.parse().unwrap())),
                None => self.numbers.push((x, text.parse().unwrap())),
            }
        }
        self.texts.push(Text {
            left,
            right: left + wide,
            y,
            class,
            text,
        });
    }

    fn row(&mut self, node: Node<'_, '_>) {
        let paths = node.children().filter(|child| child.has_tag_name("path"));
        if let Some(name) = node.attribute("data-line") {
            let wave = paths
                .clone()
                .filter(|path| path.attribute("class") == Some("wave"));
            let all: Vec<_> = wave.collect();
            let [wave] = all[..] else { panic!("{name}") };
            let points = points(wave.attribute("d").unwrap());
            let before = self.lines.insert(name.into(), points);
            assert_eq!(before, None, "{name} twice");
        }
        if let Some(name) = node.attribute("data-lane") {
            let shapes = paths.filter(|path| path.attribute("class") != Some("idle"));
            let hexagons = shapes.map(|path| {
                let points = points(path.attribute("d").unwrap());
                let [xs, ys] = [0, 1].map(|axis| {
                    let of = points
                        .iter()
                        .map(|point| if axis == 0 { point.0 } else { point.1 });
                    let mut all: Vec<f64> = of.collect();
                    all.sort_by(f64::total_cmp);
                    all
                });
                Hexagon {
                    left: xs[0],
                    right: xs[xs.len() - 1],
                    top: ys[0],
                    bottom: ys[ys.len() - 1],
                    ink: path.attribute("class").unwrap().into(),
                    title: path
                        .children()
                        .find(|child| child.has_tag_name("title"))
                        .and_then(|t| t.text())
                        .unwrap_or_default()
                        .into(),
                }
            });
            let hexagons = hexagons.collect();
            assert_eq!(
                self.lanes.insert(name.into(), hexagons),
                None,
                "{name} twice"
            );
        }
    }

    /// Width of a cycle: numbered ones that lie closest, without a cut between them.
    pub fn cell(&self) -> f64 {
        let pairs = self.numbers.windows(2).filter(|pair| {
            let between = |(x, _): &&(f64, u64)| *x > pair[0].0 && *x < pair[1].0;
            !self.cuts.iter().any(|cut| between(&cut))
        });
        let widths = pairs.map(|pair| (pair[1].0 - pair[0].0) / (pair[1].1 - pair[0].1) as f64);
        let widths: Vec<f64> = widths.collect();
        let first = *widths
            .first()
            .expect("two numbers without a cut between them");
        assert!(
            widths.iter().all(|width| (width - first).abs() < 0.2),
            "{widths:?}"
        );
        first
    }

    /// Middle of a cycle; `None` where it is not drawn.
    pub fn middle(&self, cycle: u64) -> Option<f64> {
        let cell = self.cell();
        let behind = self.numbers.iter().rfind(|(_, number)| *number <= cycle)?;
        let x = behind.0 + (cycle - behind.1) as f64 * cell;
        let cut = |(at, _): &(f64, u64)| *at > behind.0 && *at < x + cell / 2.0;
        (x < self.right && !self.cuts.iter().any(cut)).then_some(x)
    }

    /// Level of a line in a drawn cycle: high or low, or in between.
    pub fn level(&self, line: &str, cycle: u64) -> Option<f64> {
        let x = self.middle(cycle)?;
        let points = &self.lines[line];
        let pair = points
            .windows(2)
            .find(|pair| pair[0].0 <= x && x <= pair[1].0);
        let [from, to] = pair.unwrap_or_else(|| panic!("{line} is not drawn at {cycle}")) else {
            unreachable!()
        };
        assert_eq!(from.1, to.1, "{line} changes in the middle of {cycle}");
        Some(from.1)
    }

    /// Whether a line is high in a drawn cycle; its row has both levels, or the text of its name says where they are.
    pub fn high(&self, line: &str, cycle: u64) -> Option<bool> {
        let y = self.level(line, cycle)?;
        let name = self
            .texts
            .iter()
            .find(|text| text.class == "name" && text.text == line);
        let base = name.unwrap().y; // inside the wave, nearer to its low level
        match y - base {
            0.0..5.0 => Some(false),
            -14.0..-8.0 => Some(true),
            _ => None,
        }
    }

    pub fn has_line(&self, line: &str) -> bool {
        self.lines.contains_key(line)
    }

    /// The hexagon of a lane in a drawn cycle.
    pub fn value(&self, lane: &str, cycle: u64) -> Option<&Hexagon> {
        let x = self.middle(cycle)?;
        self.lanes[lane]
            .iter()
            .find(|hexagon| hexagon.left < x && x < hexagon.right)
    }

    /// Cycles that are drawn, of a range.
    pub fn drawn(&self, from: u64, to: u64) -> Vec<u64> {
        (from..=to)
            .filter(|cycle| self.middle(*cycle).is_some())
            .collect()
    }

    /// Texts outside of the picture, on top of each other, or wider than the value that they belong to.
    pub fn untidy(&self) -> Vec<String> {
        let mut untidy = Vec::new();
        for (i, text) in self.texts.iter().enumerate() {
            if text.left < 0.0 || text.right > self.width || text.y > self.height || text.y < 8.0 {
                untidy.push(format!("outside: {text:?}"));
            }
            if text.class == "name" && text.right > self.left {
                untidy.push(format!("over the cycles: {text:?}"));
            }
            let over = self.texts[i + 1..].iter().filter(|other| {
                (other.y - text.y).abs() < 9.0 && other.left < text.right && text.left < other.right
            });
            untidy.extend(over.map(|other| format!("on each other: {text:?} {other:?}")));
            if text.class.contains("label") {
                let inside = self.lanes.values().flatten().any(|hexagon| {
                    hexagon.left <= text.left
                        && text.right <= hexagon.right
                        && hexagon.top < text.y
                        && text.y < hexagon.bottom
                });
                if !inside {
                    untidy.push(format!("in no value: {text:?}"));
                }
            }
        }
        untidy
    }
}

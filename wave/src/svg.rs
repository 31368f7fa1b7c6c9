//! Draws a diagram as SVG: one file, without scripts, fonts or images of others, for light and dark pages.

use std::fmt::Write;
use std::ops::Range;

use crate::columns::{Column, columns};
use crate::diagram::{Diagram, Ink, Lane, Level, Line, Row, Span};

/// Space around everything.
const MARGIN: f64 = 16.0;
/// Height of a line of text.
const TEXT: f64 = 17.0;
/// Heights of a row, and of a heading.
const ROW: f64 = 24.0;
const GROUP: f64 = 28.0;
/// Height of a wave.
const WAVE: f64 = 14.0;
/// Height of the cycle numbers, and of the counts of cycles left out.
const AXIS: f64 = 34.0;
/// Widths of a cycle.
const CELL: [f64; 2] = [18.0, 44.0];
/// Width of all cycles that makes them wider than the least.
const BODY: f64 = 1100.0;
/// Least width of the picture: headings need room.
const LEAST: f64 = 640.0;
/// Half the width of an edge.
const SLANT: f64 = 2.0;
/// Widths of a character as a share of its size, rounded up: of names, values and numbers, and of sentences.
const FIXED: f64 = 0.61;
const SENTENCE: f64 = 0.6;
/// Sizes of text.
const NAME: f64 = 12.0;
const LABEL: f64 = 11.0;
const TITLE: f64 = 15.0;
const NOTE: f64 = 12.0;
/// Longest name drawn; of a longer one its end.
const NAME_CHARS: usize = 44;

const STYLE: &str = "
text{font:12px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1f2328}
.title,.note{font-family:system-ui,'DejaVu Sans',Arial,sans-serif}
.title{font-size:15px;font-weight:600}
.group{font-weight:700;paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}
.note,.axis{fill:#59636e}.axis,.label{font-size:11px}.mid{text-anchor:middle}
.paper{fill:#fff}.grid{stroke:#dfe4e9;fill:none}.rule{stroke:#8c959f;fill:none}
.wave{stroke:#1f2328;stroke-width:1.5;fill:none}.idle{stroke:#a5adb6;fill:none}
.mark{fill:#cfe6ff}.cut{fill:#fff;stroke:#8c959f}
.label{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}
.plain{fill:#f3f5f7;stroke:#59636e}.label.on-plain{fill:#1f2328;stroke:#f3f5f7}
.subject{fill:#cfe6ff;stroke:#0b5cad}.label.on-subject{fill:#05325c;stroke:#cfe6ff}
.other{fill:#eceff2;stroke:#8c959f}.label.on-other{fill:#424a53;stroke:#eceff2}
.bad{fill:#ffdcd7;stroke:#c0271b}.label.on-bad{fill:#7a1209;stroke:#ffdcd7}
@media(prefers-color-scheme:dark){
text{fill:#e6edf3}.note,.axis{fill:#9ea7b1}
.group{stroke:#0d1117}.paper{fill:#0d1117}.grid{stroke:#262d35}.rule{stroke:#6e7681}
.wave{stroke:#e6edf3}.idle{stroke:#57606a}
.mark{fill:#123f6d}.cut{fill:#0d1117;stroke:#8b949e}
.plain{fill:#1b222a;stroke:#9ea7b1}.label.on-plain{fill:#e6edf3;stroke:#1b222a}
.subject{fill:#123f6d;stroke:#58a6ff}.label.on-subject{fill:#e6f1ff;stroke:#123f6d}
.other{fill:#22282f;stroke:#6e7681}.label.on-other{fill:#c0c7cf;stroke:#22282f}
.bad{fill:#5c1712;stroke:#ff8a80}.label.on-bad{fill:#ffe3e0;stroke:#5c1712}
}
";

impl Diagram {
    /// The diagram as an SVG document. The same diagram gives the same text.
    #[must_use]
    pub fn svg(&self) -> String {
        Picture::new(self).draw()
    }
}

impl Ink {
    fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Subject => "subject",
            Self::Other => "other",
            Self::Bad => "bad",
        }
    }
}

/// A column and where it lies.
struct Place {
    column: Column,
    left: f64,
    right: f64,
}

impl Place {
    /// The cycles of the column.
    fn cycles(&self) -> Range<u64> {
        match &self.column {
            Column::Cycle(cycle) => *cycle..cycle + 1,
            Column::Cut(cycles) => cycles.clone(),
        }
    }

    fn middle(&self) -> f64 {
        f64::midpoint(self.left, self.right)
    }
}

struct Picture<'d> {
    diagram: &'d Diagram,
    places: Vec<Place>,
    cell: f64,
    width: f64,
    /// Where the first cycle begins, and the last one ends.
    left: f64,
    right: f64,
    text: String,
    /// How far down is drawn.
    y: f64,
}

impl<'d> Picture<'d> {
    fn new(diagram: &'d Diagram) -> Self {
        let columns = columns(diagram);
        let names = diagram.rows.iter().map(|row| match row {
            Row::Group(_) => 0, // may pass over the cycles
            Row::Line(line) => chars(&line.name),
            Row::Lane(lane) => chars(&lane.name),
        });
        let name = names.max().unwrap_or(0).clamp(5, NAME_CHARS);
        let left = MARGIN + name as f64 * NAME * FIXED + 10.0;
        let [least, most] = CELL;
        let cell = (BODY / columns.len().max(1) as f64)
            .clamp(least, most)
            .floor();
        let mut at = left;
        let places = columns.into_iter().map(|column| {
            let wide = match &column {
                Column::Cycle(_) => cell,
                Column::Cut(cycles) => {
                    let count = format!("+{}", cycles.end - cycles.start);
                    (chars(&count) as f64 * LABEL * FIXED + 8.0).max(cell)
                }
            };
            let from = at;
            at += wide;
            Place {
                column,
                left: from,
                right: at,
            }
        });
        let places: Vec<_> = places.collect();
        let right = places.last().map_or(left, |place| place.right);
        Self {
            diagram,
            places,
            cell,
            width: (right + MARGIN).max(LEAST).ceil(),
            left,
            right,
            text: String::new(),
            y: MARGIN,
        }
    }

    fn draw(mut self) -> String {
        self.headings();
        let axis = self.y;
        self.y += AXIS;
        let top = self.y;
        let body = std::mem::take(&mut self.text);
        for row in &self.diagram.rows {
            match row {
                Row::Group(_) => self.y += GROUP,
                Row::Line(line) => self.line(line),
                Row::Lane(lane) => self.lane(lane),
            }
        }
        let bottom = self.y + 4.0;
        let rows = std::mem::take(&mut self.text);
        self.axis(axis, top, bottom);
        let grid = std::mem::take(&mut self.text);
        self.cuts(axis, bottom);
        let cuts = std::mem::take(&mut self.text);
        self.labels(top);
        let labels = std::mem::take(&mut self.text);
        let (width, height) = (self.width, (bottom + MARGIN).ceil());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
             {body}{grid}{rows}{cuts}{labels}</svg>\n",
            title = escape(&self.diagram.title),
        )
    }

    fn put(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let _ = writeln!(
            self.text,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escape(text)
        );
    }

    /// Title, notes and legend, in as many lines as they need.
    fn headings(&mut self) {
        let diagram = self.diagram;
        let room = |size: f64| ((self.width - 2.0 * MARGIN) / (size * SENTENCE)) as usize;
        let (title, note) = (room(TITLE), room(NOTE));
        for line in wrap(&diagram.title, title) {
            self.y += TEXT + 1.0;
            self.put(MARGIN, self.y - 4.0, "title", &line);
        }
        for line in diagram.notes.iter().flat_map(|text| wrap(text, note)) {
            self.y += TEXT;
            self.put(MARGIN, self.y - 4.0, "note", &line);
        }
        let mut x = MARGIN;
        for (i, (ink, text)) in diagram.legend.iter().enumerate() {
            let wide = 22.0 + chars(text) as f64 * NOTE * SENTENCE + 20.0;
            if i == 0 || x + wide > self.width - MARGIN {
                self.y += TEXT;
                x = MARGIN;
            }
            let (class, y) = (ink.class(), self.y - 14.0);
            let _ = writeln!(
                self.text,
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"16\" height=\"11\"/>"
            );
            self.put(x + 22.0, self.y - 4.0, "note", text);
            x += wide;
        }
        self.y += 6.0;
    }

    /// Cycle numbers, and lines below them.
    fn axis(&mut self, y: f64, top: f64, bottom: f64) {
        let widest = self.diagram.window.end.to_string().len() as f64 * LABEL * FIXED + 8.0;
        let steps = [1, 2, 5, 10, 20, 50];
        let step = steps
            .into_iter()
            .find(|step| *step as f64 * self.cell >= widest);
        let step = step.unwrap_or(100);
        self.put(MARGIN, y + 12.0, "axis", "cycle");
        let mut free = self.left - self.cell;
        let mut behind_cut = true;
        let mut lines = String::new();
        let mut numbers = Vec::new();
        for place in &self.places {
            let Column::Cycle(cycle) = place.column else {
                behind_cut = true;
                continue;
            };
            let due = behind_cut || cycle % step == 0;
            behind_cut = false;
            let number = cycle.to_string();
            let half = number.len() as f64 * LABEL * FIXED / 2.0;
            if due && place.middle() - half >= free {
                free = place.middle() + half + 5.0;
                let x = place.left;
                let _ = writeln!(
                    lines,
                    "<path class=\"grid\" d=\"M{x:.1} {:.1}V{bottom:.1}\"/>",
                    y + 18.0
                );
                numbers.push((place.middle(), number));
            }
        }
        self.text += &lines;
        let _ = writeln!(
            self.text,
            "<path class=\"rule\" d=\"M{:.1} {:.1}H{:.1}\"/>",
            self.left,
            top - 2.0,
            self.right
        );
        for (x, number) in numbers {
            self.put(x, y + 12.0, "axis mid", &number);
        }
    }

    /// Where cycles are left out, and how many.
    fn cuts(&mut self, y: f64, bottom: f64) {
        let mut counts = Vec::new();
        for place in &self.places {
            let Column::Cut(cycles) = &place.column else {
                continue;
            };
            let x = place.middle();
            let mut path = format!("M{:.1} {:.1}", x - 3.0, y + 32.0);
            let mut back = String::new();
            let (mut down, mut side) = (y + 32.0, 1.0);
            while down < bottom {
                let next = (down + 8.0).min(bottom);
                let _ = write!(path, "L{:.1} {next:.1}", x - 3.0 + 2.0 * side);
                back.insert_str(0, &format!("L{:.1} {down:.1}", x + 3.0 - 2.0 * side));
                (down, side) = (next, -side);
            }
            let end = format!("L{:.1} {bottom:.1}", x + 3.0 - 2.0 * side);
            let _ = writeln!(self.text, "<path class=\"cut\" d=\"{path}{end}{back}Z\"/>");
            counts.push((x, format!("+{}", cycles.end - cycles.start)));
        }
        for (x, count) in counts {
            self.put(x, y + 27.0, "axis mid", &count);
        }
    }

    fn name(&mut self, name: &str, y: f64) {
        let short = match chars(name) > NAME_CHARS {
            true => {
                let skipped = chars(name) + 1 - NAME_CHARS;
                format!("…{}", name.chars().skip(skipped).collect::<String>())
            }
            false => name.to_owned(),
        };
        self.put(MARGIN, y, "name", &short);
    }

    fn line(&mut self, line: &Line) {
        let (high, low) = (self.y + 5.0, self.y + 5.0 + WAVE);
        let y = |level| match level {
            Level::High => high,
            Level::Low => low,
            Level::Unknown => f64::midpoint(high, low),
        };
        let _ = writeln!(self.text, "<g data-line=\"{}\">", escape(&line.name));
        for place in &self.places {
            let Range { start, end } = place.cycles();
            if line.is_marked(start) && line.is_marked(end - 1) {
                let _ = writeln!(
                    self.text,
                    "<rect class=\"mark\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                    place.left,
                    high - 2.0,
                    place.right - place.left,
                    WAVE + 4.0
                );
            }
        }
        let mut path = String::new();
        let mut last = None;
        for place in &self.places {
            // what happens in a cut is not drawn: the level behind it begins in its middle
            let (x, cycle) = match &place.column {
                Column::Cycle(cycle) => (place.left, *cycle),
                Column::Cut(cycles) if last.is_some() => (place.middle(), cycles.end),
                Column::Cut(cycles) => (place.left, cycles.end),
            };
            let level = line.level(cycle);
            match last {
                None => {
                    let _ = write!(path, "M{x:.1} {:.1}", y(level));
                }
                Some(before) if before != level => {
                    let _ = write!(path, "L{:.1} {:.1}", x - SLANT, y(before));
                    let _ = write!(path, "L{:.1} {:.1}", x + SLANT, y(level));
                }
                Some(_) => {}
            }
            last = Some(level);
        }
        if let Some(level) = last {
            let _ = write!(path, "L{:.1} {:.1}", self.right, y(level));
        }
        let _ = writeln!(self.text, "<path class=\"wave\" d=\"{path}\"/>");
        self.name(&line.name, low - 3.0);
        self.text += "</g>\n";
        self.y += ROW;
    }

    fn lane(&mut self, lane: &Lane) {
        let (high, low) = (self.y + 4.0, self.y + 6.0 + WAVE);
        let middle = f64::midpoint(high, low);
        let _ = writeln!(
            self.text,
            "<g data-lane=\"{}\">\n<path class=\"idle\" d=\"M{:.1} {middle:.1}H{:.1}\"/>",
            escape(&lane.name),
            self.left,
            self.right
        );
        for span in &lane.spans {
            let Some((left, right)) = self.extent(span) else {
                continue;
            };
            let slope = 4.0_f64.min((right - left) / 4.0);
            // a value that goes on outside of the window has no end there
            let begin = if span.cycles.start < self.diagram.window.start {
                0.0
            } else {
                slope
            };
            let end = if span.cycles.end > self.diagram.window.end {
                0.0
            } else {
                slope
            };
            let _ = writeln!(
                self.text,
                "<path class=\"{}\" d=\"M{left:.1} {middle:.1}L{:.1} {high:.1}H{:.1}L{right:.1} {middle:.1}L{:.1} {low:.1}H{:.1}Z\"><title>{}</title></path>",
                span.ink.class(),
                left + begin,
                right - end,
                right - end,
                left + begin,
                escape(&span.full),
            );
        }
        self.name(&lane.name, low - 4.0);
        self.text += "</g>\n";
        self.y += ROW;
    }

    /// Left and right end of a value, if some cycle of it is drawn.
    fn extent(&self, span: &Span) -> Option<(f64, f64)> {
        let Range { start, end } = span.cycles;
        // places are in the order of their cycles
        let places = &self.places;
        let from = places.partition_point(|place| place.cycles().end <= start);
        let to = places.partition_point(|place| place.cycles().start < end);
        let inside = |place: &&Place| matches!(place.column, Column::Cycle(_));
        let mut drawn = places.get(from..to)?.iter().filter(inside);
        let first = drawn.next()?;
        let last = drawn.next_back().unwrap_or(first);
        Some((first.left, last.right))
    }

    /// The texts of headings and values, on top of the cuts.
    fn labels(&mut self, top: f64) {
        let diagram = self.diagram;
        let mut y = top;
        for row in &diagram.rows {
            let lane = match row {
                Row::Group(name) => {
                    y += GROUP;
                    self.put(MARGIN, y - 8.0, "group", name);
                    continue;
                }
                Row::Line(_) => {
                    y += ROW;
                    continue;
                }
                Row::Lane(lane) => lane,
            };
            for span in &lane.spans {
                let Some((left, right)) = self.extent(span) else {
                    continue;
                };
                let room = ((right - left - 8.0) / (LABEL * FIXED)).max(0.0) as usize;
                if let Some(label) = span.labels.iter().find(|label| chars(label) <= room) {
                    let class = format!("label mid on-{}", span.ink.class());
                    self.put(f64::midpoint(left, right), y + 16.0, &class, label);
                }
            }
            y += ROW;
        }
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Lines of at most so many characters; a longer word is cut.
fn wrap(text: &str, most: usize) -> Vec<String> {
    let most = most.max(8);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        loop {
            let last = lines.last_mut().expect("one line at least");
            let used = chars(last);
            let space = usize::from(used > 0);
            if used + space + word.len() <= most {
                last.extend(" ".chars().take(space));
                last.extend(word);
                break;
            }
            match used {
                0 => last.extend(word.drain(..most)),
                _ => lines.push(String::new()),
            }
        }
    }
    lines
}

/// Text for XML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_and_long_words_cut() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefghijkl mn", 8), ["abcdefgh", "ijkl mn"]);
        assert_eq!(wrap("", 8), [""]);
    }

    #[test]
    fn foreign_text_is_escaped() {
        assert_eq!(escape("a<b>&\"\u{1b}"), "a&lt;b&gt;&amp;&quot;\u{fffd}");
    }
}

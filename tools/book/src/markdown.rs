//! What the checks need of Markdown: headings, links, fences and code, line by line.

/// A link: where its target stands in the text, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Number of its line, from 1 on.
    pub line: usize,
    /// Where the brackets of its words begin, if they begin in the line.
    pub words: Option<usize>,
    /// Where the target begins.
    pub begin: usize,
    /// Where the target ends: at the closing parenthesis.
    pub end: usize,
}

/// A block between fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence<'t> {
    /// Number of its first line behind the fence, from 1 on.
    pub line: usize,
    /// What stands behind the opening fence: `sh`, `rust`, `text`.
    pub kind: &'t str,
    /// The lines in between.
    pub text: &'t str,
}

/// Code between backticks in a line of prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code<'t> {
    /// Number of its line, from 1 on.
    pub line: usize,
    /// The text between the backticks.
    pub text: &'t str,
}

/// What stands in a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts<'t> {
    /// Headings: level and words.
    pub headings: Vec<(usize, &'t str)>,
    /// Links in prose and tables, images among them.
    pub links: Vec<Link>,
    /// Blocks between fences.
    pub fences: Vec<Fence<'t>>,
    /// Code in prose and tables.
    pub codes: Vec<Code<'t>>,
}

impl<'t> Parts<'t> {
    /// Reads a document.
    pub fn of(text: &'t str) -> Self {
        let mut parts = Self::default();
        let mut open: Option<(&str, &str, usize, usize)> = None; // fence, kind, begin, line
        let mut at = 0;
        for (number, whole) in text.split_inclusive('\n').enumerate() {
            let line = whole.trim_end_matches(['\n', '\r']);
            let begin = at;
            at += whole.len();
            let bare = line.trim_start();
            match open {
                Some((fence, kind, from, first)) => {
                    if bare.starts_with(fence) && bare.trim_end().chars().all(|c| fence.contains(c))
                    {
                        parts.fences.push(Fence {
                            line: first,
                            kind,
                            text: &text[from..begin],
                        });
                        open = None;
                    }
                }
                None if bare.starts_with("```") || bare.starts_with("~~~") => {
                    let run = bare.len() - bare.trim_start_matches(&bare[..1]).len();
                    open = Some((&bare[..run], bare[run..].trim(), at, number + 2));
                }
                None => parts.prose(line, begin, number + 1),
            }
        }
        parts
    }

    fn prose(&mut self, line: &'t str, begin: usize, number: usize) {
        let level = line.len() - line.trim_start_matches('#').len();
        if (1..=6).contains(&level) && line[level..].starts_with(' ') {
            self.headings.push((level, line[level..].trim()));
        }
        let octets = line.as_bytes();
        let mut brackets = Vec::new();
        let mut at = 0;
        while at < octets.len() {
            match octets[at] {
                b'\\' => {
                    if octets.get(at + 1) == Some(&b'[') {
                        brackets.push(None);
                    }
                    at += 2;
                }
                b'`' => {
                    let run = octets[at..].iter().take_while(|c| **c == b'`').count();
                    let from = at + run;
                    match code_end(&octets[from..], run) {
                        Some(length) => {
                            self.codes.push(Code {
                                line: number,
                                text: &line[from..from + length],
                            });
                            at = from + length + run;
                        }
                        None => at = from,
                    }
                }
                b'[' => {
                    brackets.push(Some(at));
                    at += 1;
                }
                b']' => {
                    // A link's words may begin in the line before.
                    let opened = brackets.pop();
                    at += 1;
                    if opened != Some(None)
                        && octets.get(at) == Some(&b'(')
                        && let Some(length) = line[at + 1..].find(')')
                    {
                        self.links.push(Link {
                            line: number,
                            words: opened.flatten().map(|words| begin + words),
                            begin: begin + at + 1,
                            end: begin + at + 1 + length,
                        });
                        at += length + 2;
                    }
                }
                _ => at += 1,
            }
        }
    }

    /// The names by which links reach the headings, as mdBook and forges make them: repeated ones are numbered.
    pub fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = vec![];
        let mut plain: Vec<String> = vec![];
        for (_, words) in &self.headings {
            let anchor = anchor(words);
            let before = plain.iter().filter(|other| **other == anchor).count();
            anchors.push(match before {
                0 => anchor.clone(),
                _ => format!("{anchor}-{before}"),
            });
            plain.push(anchor);
        }
        anchors
    }
}

/// Length of code that ends with a run of exactly `run` backticks.
fn code_end(octets: &[u8], run: usize) -> Option<usize> {
    let mut at = 0;
    while at < octets.len() {
        let here = octets[at..].iter().take_while(|c| **c == b'`').count();
        if here == run {
            return Some(at);
        }
        at += here.max(1);
    }
    None
}

/// A heading's anchor: letters, digits, `-` and `_`, in small letters, blanks as `-`. Of a link in it its words count.
fn anchor(words: &str) -> String {
    let mut text = String::new();
    let mut rest = words;
    while let Some((before, after)) = rest.split_once("](") {
        text += before;
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    text += rest;
    let kept = text.trim().chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# One `two` [three](four.md)\n\
        a [`b`](c.md#d), `[no](link)`, ![e](f.svg) \\[g](h)\n\
        ```sh\n[no](link) `no`\n```\n\
        ## Again\n## Again\n";

    #[test]
    fn the_parts_of_a_document() {
        let parts = Parts::of(TEXT);
        let targets: Vec<_> = parts.links.iter().map(|l| &TEXT[l.begin..l.end]).collect();
        assert_eq!(targets, ["four.md", "c.md#d", "f.svg"]);
        assert_eq!(parts.links[1].line, 2);
        let codes: Vec<_> = parts.codes.iter().map(|code| code.text).collect();
        assert_eq!(codes, ["two", "b", "[no](link)"]);
        let fence = Fence {
            line: 4,
            kind: "sh",
            text: "[no](link) `no`\n",
        };
        assert_eq!(parts.fences, [fence]);
        assert_eq!(parts.anchors(), ["one-two-three", "again", "again-1"]);
    }
}

//! Rust documentation as comments of the text: no links, no fences, only what a reader of SystemVerilog can use.

/// What the name of a namespace begins with that holds documentation: the derive's word.
pub const MARK: &str = "doc:";

/// Lines of comment without their `//`; trailing and repeated blank lines are dropped.
pub fn plain(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for line in text.lines() {
        let line = line.strip_prefix(' ').unwrap_or(line).trim_end();
        if line.trim_start().starts_with("```") {
            continue;
        }
        if line.is_empty() && lines.last().is_none_or(String::is_empty) {
            continue;
        }
        lines.push(without_links(line));
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// `[text](target)` is `text`; other brackets stay.
fn without_links(line: &str) -> String {
    let (mut plain, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once('[') {
        plain += before;
        let link = after.split_once("](").and_then(|(text, tail)| {
            let (_, tail) = tail.split_once(')')?;
            (!text.contains('[')).then_some((text, tail))
        });
        let bare = after
            .strip_prefix('`')
            .and_then(|code| code.split_once("`]"))
            .filter(|(code, _)| !code.contains('`'));
        match (link, bare) {
            (Some((text, tail)), _) => {
                plain += text;
                rest = tail;
            }
            (None, Some((code, tail))) => {
                plain += &format!("`{code}`");
                rest = tail;
            }
            (None, None) => {
                plain.push('[');
                rest = after;
            }
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_fences_and_blank_lines_go() {
        let text =
            " A [`Dff`](crate::Dff) and a [`Queue`].\n\n\n ```text\n  a[3:0] ──► b\n ```\n\n";
        let expected = ["A `Dff` and a `Queue`.", "", " a[3:0] ──► b"];
        assert_eq!(plain(text), expected);
        assert_eq!(plain(" see [a](b) of [x] and [y"), ["see a of [x] and [y"]);
    }
}

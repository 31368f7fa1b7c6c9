//! What the keys of the view have set.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Order of the streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By number.
    #[default]
    Number,
    /// The one that receives most first.
    Rate,
    /// The one with the fullest ring first.
    Ring,
}

impl Sort {
    /// The order in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Rate => "octets/s",
            Self::Ring => "ring",
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Number => Self::Rate,
            Self::Rate => Self::Ring,
            Self::Ring => Self::Number,
        }
    }
}

/// What the keys have set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Controls {
    /// The view stands still. The card does not.
    pub paused: bool,
    /// Lines that are scrolled away at the top.
    pub scroll: usize,
    /// Order of the streams.
    pub sort: Sort,
    /// The card is to end.
    pub quit: bool,
}

/// Lines of a page.
const PAGE: usize = 10;

impl Controls {
    /// A key was pressed. Scrolling ends at the last of `lines`.
    pub fn press(&mut self, key: KeyEvent, lines: usize) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        let last = lines.saturating_sub(1);
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => self.quit = true,
            KeyCode::Char('q') | KeyCode::Esc => self.quit = true,
            KeyCode::Char('p') => self.paused = !self.paused,
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Up => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::Down => self.scroll = (self.scroll + 1).min(last),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(PAGE),
            KeyCode::PageDown => self.scroll = (self.scroll + PAGE).min(last),
            KeyCode::Home => self.scroll = 0,
            KeyCode::End => self.scroll = last,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(keys: &[(KeyCode, KeyModifiers)]) -> Controls {
        let mut controls = Controls::default();
        for &(code, modifiers) in keys {
            controls.press(KeyEvent::new(code, modifiers), 6);
        }
        controls
    }

    #[test]
    fn keys_do_what_the_last_line_says() {
        let plain = |code| (code, KeyModifiers::NONE);
        for quit in [
            plain(KeyCode::Char('q')),
            plain(KeyCode::Esc),
            (KeyCode::Char('c'), KeyModifiers::CONTROL),
        ] {
            assert!(pressed(&[quit]).quit, "{quit:?}");
        }
        assert!(!pressed(&[plain(KeyCode::Char('c')), plain(KeyCode::Enter)]).quit);
        let p = plain(KeyCode::Char('p'));
        assert!(pressed(&[p]).paused && !pressed(&[p, p]).paused);
        let s = plain(KeyCode::Char('s'));
        let orders = [&[s][..], &[s, s], &[s, s, s]].map(|keys| pressed(keys).sort);
        assert_eq!(orders, [Sort::Rate, Sort::Ring, Sort::Number]);
        let (up, down) = (plain(KeyCode::Up), plain(KeyCode::Down));
        assert_eq!(pressed(&[down, down, up]).scroll, 1);
        assert_eq!(pressed(&[up]).scroll, 0);
        assert_eq!(pressed(&[down; 9]).scroll, 5, "not beyond the last line");
        assert_eq!(pressed(&[plain(KeyCode::PageDown)]).scroll, 5);
        assert_eq!(
            pressed(&[plain(KeyCode::End), plain(KeyCode::PageUp)]).scroll,
            0
        );
    }

    #[test]
    fn nothing_to_scroll_is_not_scrolled() {
        let mut controls = Controls::default();
        for code in [KeyCode::Down, KeyCode::End, KeyCode::PageDown] {
            controls.press(KeyEvent::from(code), 0);
            assert_eq!(controls.scroll, 0);
        }
    }
}

//! The page as a reader of HTML sees it: tables by the heads of rows and columns.

use scraper::{ElementRef, Html, Selector};

/// A page.
pub struct Sheet(Html);

/// A cell: its text, and the smaller line below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub text: String,
    pub note: String,
    /// It holds a figure, not words.
    pub figure: bool,
}

/// A cell with its place: table, head of its row, head of its column.
pub type Placed = ([String; 3], Cell);

fn selector(text: &str) -> Selector {
    Selector::parse(text).unwrap()
}

fn text(of: ElementRef<'_>) -> String {
    let text: String = of.text().collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Sheet {
    pub fn parse(page: &str) -> Self {
        Self(Html::parse_document(page))
    }

    /// Texts of all elements that `path` selects.
    pub fn texts(&self, path: &str) -> Vec<String> {
        self.0.select(&selector(path)).map(text).collect()
    }

    /// All elements that `path` selects.
    pub fn elements(&self, path: &str) -> Vec<String> {
        let path = selector(path);
        let all = self.0.select(&path);
        all.map(|element| element.html()).collect()
    }

    /// Cells of all tables, in their order.
    pub fn cells(&self) -> Vec<Placed> {
        let [table, column, row, head, cell, note] = [
            "table",
            "thead th",
            "tbody tr",
            "th[scope=row]",
            "td",
            "small",
        ]
        .map(selector);
        let mut all = vec![];
        for table in self.0.select(&table) {
            let id = table.attr("id").unwrap();
            let columns: Vec<_> = table.select(&column).skip(1).map(text).collect();
            for row in table.select(&row) {
                let head = text(row.select(&head).next().unwrap());
                let cells: Vec<_> = row.select(&cell).collect();
                assert_eq!(cells.len(), columns.len(), "{id}, {head}");
                for (cell, column) in cells.into_iter().zip(&columns) {
                    let note = cell.select(&note).next().map(text).unwrap_or_default();
                    let whole = text(cell);
                    let main = whole.strip_suffix(&note).unwrap().trim();
                    let found = Cell {
                        text: main.to_owned(),
                        note,
                        figure: cell.attr("class") == Some("n"),
                    };
                    all.push(([id.to_owned(), head.clone(), column.clone()], found));
                }
            }
        }
        all
    }

    pub fn cell(&self, table: &str, row: &str, column: &str) -> Option<Cell> {
        let all = self.cells();
        let mut found = all
            .into_iter()
            .filter(|(place, _)| place == &[table, row, column]);
        found.next().map(|(_, cell)| cell)
    }

    /// Number of figures in tables.
    pub fn figures(&self) -> usize {
        self.cells().iter().filter(|(_, cell)| cell.figure).count()
    }
}

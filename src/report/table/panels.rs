//! Text for terminals: wide tables in panels, one under the other.

use super::Table;

/// The blanks between two columns.
const BETWEEN: usize = 2;

impl Table {
    /// The text of [`Table::to_text`], in panels where it is wider than `width`.
    ///
    /// Every panel starts with the first column, which names the rows. A column that does not fit
    /// beside the first goes without it, and one that is wider than `width` stands alone.
    ///
    /// ```
    /// use hushmesh::report::{Column, Table};
    /// let names = ["topology", "rounds", "messages", "accuracy"];
    /// let mut table = Table::new(names.map(Column::text));
    /// table.row(["ring", "100", "2000", "97 %"].map(Into::into));
    /// assert_eq!(table.to_text_within(18), "\
    /// topology  rounds
    /// ────────  ──────
    /// ring      100
    ///
    /// topology  messages
    /// ────────  ────────
    /// ring      2000
    ///
    /// topology  accuracy
    /// ────────  ────────
    /// ring      97 %
    /// ");
    /// ```
    pub fn to_text_within(&self, width: usize) -> String {
        let (widths, columns) = self.laid_out(|text| text);
        let panels = panels(&widths, width);
        let shown = panels.iter().map(|panel| {
            let line =
                |cells: Vec<&str>| cells.join(&" ".repeat(BETWEEN)).trim_end().to_owned() + "\n";
            let rules: Vec<String> = panel.iter().map(|&c| "─".repeat(widths[c])).collect();
            let row = |row: usize| line(panel.iter().map(|&c| columns[c][row].as_str()).collect());
            let mut out = row(0) + &line(rules.iter().map(String::as_str).collect());
            out.extend((1..=self.rows.len()).map(row));
            out
        });
        shown.collect::<Vec<_>>().join("\n")
    }
}

/// Which columns stand in which panel, so that none is wider than `width` if that can be.
fn panels(widths: &[usize], width: usize) -> Vec<Vec<usize>> {
    let fits = |panel: &[usize], column: usize| {
        let columns = panel.iter().chain([&column]).map(|&c| widths[c]).sum::<usize>();
        columns + BETWEEN * panel.len() <= width
    };
    let mut panels: Vec<Vec<usize>> = Vec::new();
    let mut panel: Vec<usize> = (0..widths.len().min(1)).collect();
    for column in 1..widths.len() {
        let is_named = panel[0] == 0;
        let beside_the_first = fits(&[0], column);
        if fits(&panel, column) && (is_named || !beside_the_first) {
            panel.push(column);
        } else {
            let next = if beside_the_first { vec![0, column] } else { vec![column] };
            panels.push(std::mem::replace(&mut panel, next));
        }
    }
    panels.push(panel);
    panels
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, Column, width};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_column_that_does_not_fit_beside_the_first_is_not_lost() {
        assert_eq!(panels(&[5, 3, 3, 3], 100), [vec![0, 1, 2, 3]]);
        assert_eq!(panels(&[5, 3, 3, 3], 15), [vec![0, 1, 2], vec![0, 3]]);
        assert_eq!(panels(&[5, 20, 3], 10), [vec![0], vec![1], vec![0, 2]]);
        assert_eq!(panels(&[30, 3, 3, 9], 10), [vec![0], vec![1, 2], vec![3]]);
        assert_eq!(panels(&[], 10), [Vec::<usize>::new()]);
    }

    proptest! {
        #[test]
        fn every_cell_appears_and_no_panel_is_too_wide(
            words in proptest::collection::vec(proptest::collection::vec("[a-zé]{1,12}", 6), 0..4),
            count in 1_usize..6,
            room in 0_usize..60,
        ) {
            // Marks that no other cell contains make cells findable.
            let mark = |row: usize, c: usize, word: &str| format!("{word}{row}-{c}.");
            let heads = (0..count).map(|c| Column::text(format!("head-{c}.")));
            let mut table = Table::new(heads);
            for (row, words) in words.iter().enumerate() {
                table.row((0..count).map(|c| Cell::Text(mark(row, c, &words[c]))));
            }
            let text = table.to_text_within(room);
            let widest_column = (0..count).map(|c| {
                let cells = words.iter().enumerate().map(|(row, words)| mark(row, c, &words[c]));
                cells.map(|cell| width(&cell)).chain([width("head-0.")]).max().unwrap()
            });
            let allowed = room.max(widest_column.max().unwrap());
            for line in text.lines() {
                prop_assert!(width(line) <= allowed, "{room}:\n{text}");
            }
            for c in 0..count {
                let head = format!("head-{c}.");
                prop_assert!(text.contains(&head));
                for (row, words) in words.iter().enumerate() {
                    prop_assert!(text.contains(&mark(row, c, &words[c])), "{text}");
                }
            }
            if width(table.to_text().lines().nth(1).unwrap()) <= room {
                prop_assert_eq!(text, table.to_text());
            }
        }
    }
}

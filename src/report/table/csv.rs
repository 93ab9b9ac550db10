//! Tables for programs.

use ::csv::{Terminator, WriterBuilder};

use super::super::number::exact;
use super::{Cell, Table};

/// What a column of the table becomes: one field, or several.
#[derive(Clone, Copy)]
struct Fields {
    interval: bool,
    difference: bool,
}

impl Table {
    /// RFC 4180: commas, quotes where they must be, lines that end in CR LF.
    ///
    /// Numbers are as short as they can be read back exactly, amounts are in bytes and seconds, what
    /// is missing is empty, and what is infinite is `inf`. A column with an interval has two more
    /// beside it, `name_low` and `name_high`; with a difference, also `name_significant`.
    ///
    /// ```
    /// use hushmesh::report::{Cell, Column, Table};
    /// let mut table = Table::new([Column::text("graph"), Column::number("accuracy").unit("%")]);
    /// table.row(["ring".into(), Cell::Interval { mean: 97.25, low: 97.0, high: 97.5 }]);
    /// assert_eq!(
    ///     table.to_csv(),
    ///     "graph,accuracy (%),accuracy_low (%),accuracy_high (%)\r\nring,97.25,97,97.5\r\n"
    /// );
    /// ```
    pub fn to_csv(&self) -> String {
        let kinds: Vec<Fields> = (0..self.columns.len())
            .map(|c| {
                let any = |is: fn(&Cell) -> bool| self.rows.iter().any(|row| is(&row[c]));
                let difference = any(|cell| matches!(cell, Cell::Difference { .. }));
                let interval = any(|cell| matches!(cell, Cell::Interval { .. }));
                Fields { interval: interval || difference, difference }
            })
            .collect();
        let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
        let head = self.columns.iter().zip(&kinds).flat_map(|(column, fields)| {
            fields.of([
                column.titled(""),
                column.titled("_low"),
                column.titled("_high"),
                // True or false, whatever the unit.
                format!("{}_significant", column.name),
            ])
        });
        let rows = self.rows.iter().map(|row| {
            row.iter().zip(&kinds).flat_map(|(cell, kinds)| kinds.of(fields(cell))).collect()
        });
        for line in std::iter::once(head.collect::<Vec<String>>()).chain(rows) {
            // A line of no fields could not be told from one of an empty field.
            if !line.is_empty() {
                writer.write_record(&line).expect("memory takes lines of equal length");
            }
        }
        let bytes = writer.into_inner().expect("memory can be flushed");
        String::from_utf8(bytes).expect("all fields are text")
    }
}

impl Fields {
    fn of(self, [value, low, high, significant]: [String; 4]) -> impl Iterator<Item = String> {
        let interval = self.interval.then_some([low, high]);
        let significant = self.difference.then_some(significant);
        std::iter::once(value).chain(interval.into_iter().flatten()).chain(significant)
    }
}

/// The value of a cell, the ends of its interval, and whether it is significant.
pub(super) fn fields(cell: &Cell) -> [String; 4] {
    let alone = |value: String| [value, String::new(), String::new(), String::new()];
    match *cell {
        Cell::Text(ref text) => alone(text.clone()),
        Cell::Number(value) | Cell::Seconds(value) => alone(exact(value)),
        Cell::Bytes(count) => alone(count.to_string()),
        Cell::Interval { mean, low, high } => [exact(mean), exact(low), exact(high), String::new()],
        Cell::Difference { mean, low, high, significant } => {
            [exact(mean), exact(low), exact(high), significant.to_string()]
        }
        Cell::Missing => alone(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Column;
    use super::*;
    use ::csv::Reader;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<Vec<String>> {
        let mut reader = Reader::from_reader(text.as_bytes());
        let head = reader.headers().unwrap().iter().map(str::to_owned).collect();
        let rows = reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect());
        std::iter::once(head).chain(rows).collect()
    }

    #[test]
    fn columns_with_intervals_have_their_ends_beside_them() {
        let mut table = Table::new([
            Column::text("graph"),
            Column::number("accuracy").unit("%"),
            Column::number("more").unit("%"),
            Column::amount("sent"),
            Column::amount("time"),
        ]);
        let more = Cell::Difference { mean: -2.5, low: -3.0, high: -2.0, significant: true };
        let accuracy = Cell::Interval { mean: 97.5, low: 97.0, high: 98.0 };
        table.row(["a \"b\",\nc".into(), accuracy, more, Cell::Bytes(1_234_567)]);
        table.row([
            "d".into(),
            8.0.into(),
            f64::INFINITY.into(),
            0_usize.into(),
            Cell::Seconds(90.5),
        ]);
        table.row([Cell::Missing, f64::NAN.into(), f64::NEG_INFINITY.into()]);
        let expected = [
            "graph|accuracy (%)|accuracy_low (%)|accuracy_high (%)|more (%)|more_low (%)|\
             more_high (%)|more_significant|sent|time",
            "a \"b\",\nc|97.5|97|98|-2.5|-3|-2|true|1234567|",
            "d|8|||inf||||0|90.5",
            "||||-inf|||||",
        ];
        let rows: Vec<String> = read(&table.to_csv()).iter().map(|row| row.join("|")).collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_single_empty_field_is_a_line() {
        let mut table = Table::new([Column::text("alone")]);
        table.row([Cell::Missing]).row(["x".into()]);
        assert_eq!(read(&table.to_csv()), [["alone"], [""], ["x"]]);
        assert_eq!(Table::new([]).to_csv(), "");
    }

    proptest! {
        #[test]
        fn what_is_read_back_is_what_was_there(
            rows in proptest::collection::vec((any::<String>(), any::<[f64; 3]>(), any::<u64>()), 1..8),
        ) {
            let names = ["text", "interval", "amount", "number"];
            let mut table = Table::new(names.map(Column::number));
            for (text, [mean, low, high], count) in &rows {
                let interval = Cell::Interval { mean: *mean, low: *low, high: *high };
                let text = text.as_str().into();
                table.row([text, interval, Cell::Bytes(*count), Cell::Number(*high)]);
            }
            let back = read(&table.to_csv());
            prop_assert_eq!(back.len(), rows.len() + 1);
            for (fields, (text, [mean, low, high], count)) in back[1..].iter().zip(&rows) {
                prop_assert_eq!(&fields[0], text);
                for (field, value) in fields[1..4].iter().chain([&fields[5]]).zip([mean, low, high, high]) {
                    match value.is_nan() {
                        true => prop_assert_eq!(field, ""),
                        false => prop_assert_eq!(field.parse::<f64>().unwrap().to_bits(), value.to_bits()),
                    }
                }
                prop_assert_eq!(fields[4].parse::<u64>().unwrap(), *count);
            }
        }
    }
}

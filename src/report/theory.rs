//! Theory beside measurement as a table.

use crate::experiment::{Prediction, Reading};
use crate::report::{Cell, Column, Table};

/// The items that a run measured something of, without what they rest on.
pub fn theory_in_brief(prediction: &Prediction) -> Option<Table> {
    let mut table = Table::new([
        Column::text("theory"),
        Column::text(""),
        Column::number("predicted"),
        Column::number("measured"),
        Column::number("ratio"),
    ]);
    for item in prediction.items.iter().filter(|item| item.measured.is_some()) {
        table.row([
            item.what.clone().into(),
            item.reading.sign().into(),
            number(item.predicted),
            number(item.measured),
            number(item.ratio),
        ]);
    }
    (!table.is_empty()).then_some(table)
}

fn number(value: Option<f64>) -> Cell {
    value.map_or(Cell::Missing, Cell::Number)
}

/// The items; with what was measured, if anything was.
pub fn theory(prediction: &Prediction) -> Table {
    let measured = prediction.items.iter().any(|item| item.measured.is_some());
    let mut columns = vec![Column::text("theory"), Column::text(""), Column::number("predicted")];
    if measured {
        columns.push(Column::number("measured"));
        columns.push(Column::number("ratio"));
    }
    columns.push(Column::text("rests on"));
    let mut table = Table::new(columns);
    for item in &prediction.items {
        let mut cells =
            vec![item.what.clone().into(), item.reading.sign().into(), number(item.predicted)];
        if measured {
            cells.push(number(item.measured));
            cells.push(number(item.ratio));
        }
        let doubt = if item.holds || item.predicted.is_none() || item.reading == Reading::Given {
            ""
        } else {
            " (does not hold here)"
        };
        cells.push(format!("{}{doubt}", item.rests_on).into());
        table.row(cells);
    }
    table
}

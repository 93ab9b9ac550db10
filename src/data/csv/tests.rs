use ndarray::array;
use proptest::prelude::*;

use super::*;
use crate::data::Table;

fn file() -> CsvFile {
    CsvFile::new("rows.csv", "class")
}

fn parse(file: &CsvFile, text: impl AsRef<[u8]>) -> Result<Table, String> {
    let stored = file.parse(Path::new("rows.csv"), text.as_ref());
    stored.map(|stored| stored.to_table()).map_err(|error| error.to_string())
}

fn refusal(file: &CsvFile, text: impl AsRef<[u8]>) -> String {
    parse(file, text).unwrap_err()
}

#[test]
fn a_plain_file() {
    let table = parse(&file(), "a,class,b\n1,1,2.5\n-3e2,-1,+4\n").unwrap();
    assert_eq!(table.x, array![[1.0, 2.5], [-300.0, 4.0]]);
    assert_eq!(table.y, [1.0, -1.0]);
    assert_eq!(table.features, ["a", "b"]);
}

#[test]
fn spaces_blank_lines_quotes_carriage_returns_and_a_byte_order_mark_do_not_matter() {
    let text = "\u{feff}a ,\"class\", b\r\n\r\n 1 ,1,\"2.5\"\r\n\n\"-300\",0 ,4\r\n \n\r\n\n";
    let table = parse(&file(), text).unwrap();
    assert_eq!(table.x, array![[1.0, 2.5], [-300.0, 4.0]]);
    assert_eq!(table.y, [1.0, -1.0], "0 becomes -1");
    assert_eq!(table.features, ["a", "b"]);
}

#[test]
fn chosen_features_come_in_the_order_asked_for() {
    let chosen = CsvFile { features: Some(vec!["b".to_string(), "a".to_string()]), ..file() };
    let table = parse(&chosen, "a,name,class,b\n1,Ann,1,2\n3,Bob,0,4").unwrap();
    assert_eq!(table.x, array![[2.0, 1.0], [4.0, 3.0]]);
    assert_eq!(table.features, ["b", "a"]);
}

#[test]
fn a_positive_label_stands_against_all_others() {
    let yes = CsvFile { positive: Some("yes".to_string()), ..file() };
    let table = parse(&yes, "a,class\n1,yes\n2,no\n3,maybe\n").unwrap();
    assert_eq!(table.y, [1.0, -1.0, -1.0]);
    assert_eq!(
        refusal(&yes, "a,class\n1,Yes\n"),
        "rows.csv, line 1, column \"class\": found no row labelled \"yes\", expected the positive \
         label"
    );
}

#[test]
fn every_label_of_a_multi_class_file_is_a_class() {
    let classes = CsvFile { task: Task::MultiClass, ..file() };
    let read = |text: &str| {
        let stored = classes.parse(Path::new("rows.csv"), text.as_bytes()).unwrap();
        (stored.y, stored.classes)
    };
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    assert_eq!(
        read("a,class\n1,pear\n2,apple\n3, pear\n4,fig\n"),
        (vec![2.0, 0.0, 2.0, 1.0], names(&["apple", "fig", "pear"]))
    );
    assert_eq!(
        read("a,class\n1,10\n2,9\n3,-1\n"),
        (vec![2.0, 1.0, 0.0], names(&["-1", "9", "10"]))
    );
    assert_eq!(
        refusal(&classes, "a,class\n1,x\n2,x\n"),
        "rows.csv, line 1, column \"class\": every row is labelled \"x\", expected at least two \
         classes"
    );
    let wrong = CsvFile { positive: Some("x".to_string()), ..classes };
    let expected = "each label of a multi-class task is a class: expected no positive label";
    assert_eq!(wrong.check(), [("positive".to_string(), expected.to_string())]);
}

#[test]
fn labels_of_a_regression_are_any_finite_numbers() {
    let regression = CsvFile { task: Task::Regression, ..file() };
    assert_eq!(parse(&regression, "a,class\n1,2.5\n1,-7\n").unwrap().y, [2.5, -7.0]);
    assert_eq!(
        refusal(&regression, "a,class\n1,inf\n"),
        "rows.csv, line 2, column \"class\": found \"inf\", expected a finite number"
    );
}

#[test]
fn wrong_values_are_located() {
    assert_eq!(
        refusal(&file(), "a,class\n1,1\n?,0\n\n2,-1\nNaN,2\n1\n1e999,1\n"),
        "rows.csv, line 3, column \"a\": found \"?\", expected a finite number, or \
         `missing: drop-row`\n\
         rows.csv, line 5, column \"class\": found \"-1\", expected 0 or 1 as before\n\
         rows.csv, line 6, column \"a\": found \"NaN\", expected a finite number\n\
         rows.csv, line 6, column \"class\": found \"2\", expected 0 or 1 as before\n\
         rows.csv, line 7: number of fields: found 1, expected 2\n\
         rows.csv, line 8, column \"a\": found \"1e999\", expected a finite number"
    );
    assert_eq!(
        refusal(&file(), "a,class\n1,yes\n"),
        "rows.csv, line 2, column \"class\": found \"yes\", expected -1 or 1, or 0 or 1"
    );
}

#[test]
fn lines_are_those_of_the_file_whatever_their_ends() {
    let chosen = CsvFile { features: Some(vec!["a".to_string()]), ..file() };
    for text in [
        "\n\na,note,class\n1,\"two\nlines\",1\n\n\n?,,1",
        "\r\n\r\na,note,class\r\n1,\"two\r\nlines\",1\r\n\r\n  \r\n?,,1\r\n",
    ] {
        let expected = "rows.csv, line 8, column \"a\": found \"?\", expected a finite number, or \
         `missing: drop-row`";
        assert_eq!(refusal(&chosen, text), expected, "{text:?}");
    }
    assert_eq!(
        refusal(&file(), "a,class\n1,1\n\"1,1\n2,0\n"),
        "rows.csv, line 3: number of fields: found 1, expected 2",
        "a quote that is never closed"
    );
}

#[test]
fn bytes_that_are_no_text_are_located() {
    assert_eq!(
        refusal(&file(), b"a,class\n1,1\n\xff,1\n1,\xfe"),
        "rows.csv, line 3, column \"a\": found bytes that are not UTF-8, expected a finite number\n\
         rows.csv, line 4, column \"class\": found bytes that are not UTF-8, expected text"
    );
    assert_eq!(
        refusal(&file(), b"a\xff,class\n1,1\n"),
        "rows.csv, line 1: found bytes that are not UTF-8, expected a header in UTF-8"
    );
}

#[test]
fn long_lists_of_problems_are_cut() {
    let text = format!("a,class\n{}", "x,1\n".repeat(50));
    let refusal = refusal(&file(), text);
    assert_eq!(refusal.lines().count(), 11);
    assert!(refusal.ends_with(
        "line 11, column \"a\": found \"x\", expected a finite number\n\
        gave up after 10 problems"
    ));
    let long = format!("a,class\n{},1\n", "é".repeat(50));
    assert_eq!(
        self::refusal(&file(), long),
        format!(
            "rows.csv, line 2, column \"a\": found \"{}\"…, expected a finite number",
            "é".repeat(40)
        )
    );
}

#[test]
fn headers_that_do_not_fit() {
    for (text, expected) in [
        ("", "line 1: the file is empty, expected a header"),
        ("\n \n", "line 1: the file is empty, expected a header"),
        ("a,class\n\n", "line 1: no rows after the header, expected at least one"),
        ("a,clas\n1,1\n", "line 1: no column \"class\": did you mean \"clas\"?"),
        ("a,b\n1,1\n", "line 1: no column \"class\": expected one of \"a\", \"b\""),
        ("a,a,class\n1,1,1\n", "line 1: column \"a\" is there 2 times, expected it once"),
        ("class\n1\n", "line 1: no column but \"class\", expected features"),
        (",class\n0,1\n", "line 1: column 1 has no name, expected one or a list of features"),
    ] {
        assert_eq!(refusal(&file(), text), format!("rows.csv, {expected}"), "{text:?}");
    }
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| name.to_string()).collect()
}

fn with_categories(list: &[(&str, Categories)]) -> CsvFile {
    let categorical = list.iter().map(|(name, values)| (name.to_string(), values.clone()));
    CsvFile { categorical: categorical.collect(), ..file() }
}

#[test]
fn categories_become_one_feature_per_value() {
    let given = Categories::Values(names(&["Male", "Female", "Other"]));
    let file = with_categories(&[("sex", given), ("work", Categories::Found)]);
    let table =
        parse(&file, "sex,age,work,class\nFemale,30,state,1\n Male,40,private,0\n").unwrap();
    assert_eq!(
        table.features,
        ["sex=Male", "sex=Female", "sex=Other", "age", "work=private", "work=state"]
    );
    assert_eq!(table.x, array![[0.0, 1.0, 0.0, 30.0, 0.0, 1.0], [1.0, 0.0, 0.0, 40.0, 1.0, 0.0]]);
    assert_eq!(
        file.declarations(),
        ["csv: the values of \"work\", found in all rows, held-out ones included"]
    );
    assert_eq!(
        refusal(&file, "sex,age,work,class\nfemale,30,state,1\n?,x,,0\n"),
        "rows.csv, line 2, column \"sex\": found \"female\", expected one of \"Male\", \"Female\", \
         \"Other\"\n\
         rows.csv, line 3, column \"sex\": found \"?\", expected one of \"Male\", \"Female\", \
         \"Other\", or `missing: drop-row`\n\
         rows.csv, line 3, column \"age\": found \"x\", expected a finite number\n\
         rows.csv, line 3, column \"work\": found \"\", expected a category, or \
         `missing: drop-row`"
    );
    assert_eq!(
        refusal(&file, "sex,age,class\nMale,30,1\n"),
        "rows.csv, line 1: no column \"work\": expected one of \"sex\", \"age\", \"class\""
    );
}

#[test]
fn too_many_values_are_no_category() {
    let file = with_categories(&[("id", Categories::Found)]);
    let rows: String = (0..10_001).map(|i| format!("{i},{}\n", i % 2)).collect();
    assert_eq!(
        refusal(&file, format!("id,class\n{rows}")),
        "rows.csv, line 10002, column \"id\": found \"10000\", expected at most 10000 different \
         values"
    );
}

#[test]
fn incomplete_rows_are_dropped_where_that_is_asked_for() {
    let drop = CsvFile {
        missing: Missing::DropRow,
        features: Some(names(&["a", "c"])),
        ..with_categories(&[("c", Categories::Found)])
    };
    // What an unused column lacks does not matter, and a dropped row adds no category.
    let text = "a,unused,c,class\n1,?,u,1\n?,1,v,1\n2,1,,0\n3,1,w,?\n4,,z,0\n";
    let table = parse(&drop, text).unwrap();
    assert_eq!(table.features, ["a", "c=u", "c=z"]);
    assert_eq!(table.x, array![[1.0, 1.0, 0.0], [4.0, 0.0, 1.0]]);
    assert_eq!(table.y, [1.0, -1.0]);

    let tokens = CsvFile { missing_tokens: names(&["NA", "-"]), ..drop.clone() };
    let table = parse(&tokens, "a,c,class\nNA,u,1\n1,-,1\n2,?,0\n").unwrap();
    assert_eq!(table.features, ["a", "c=?"]);
    assert_eq!(table.y, [-1.0]);
    assert_eq!(
        refusal(&drop, "a,c,class\n?,u,1\n1,,1\n"),
        "rows.csv, line 1: each of 2 rows lacks a value, expected a complete one"
    );
    assert_eq!(
        refusal(&file(), "a,class\n1,?\n"),
        "rows.csv, line 2, column \"class\": found \"?\", expected a label, or `missing: drop-row`"
    );
}

#[test]
fn other_delimiters_and_files_without_a_header() {
    let bare = CsvFile {
        delimiter: ';',
        header: false,
        columns: Some(names(&["a", "class", "b"])),
        ..file()
    };
    let table = parse(&bare, "1;0;2,5\n".replace(',', ".")).unwrap();
    assert_eq!((table.x, table.y), (array![[1.0, 2.5]], vec![-1.0]));
    assert_eq!(table.features, ["a", "b"]);
    assert_eq!(
        refusal(&bare, "\n1;0\n"),
        "rows.csv, line 2: number of fields: found 2, expected 3"
    );
    assert_eq!(
        refusal(&bare, ""),
        "rows.csv, line 1: the file is empty, expected at least one row"
    );
    let elsewhere = CsvFile { columns: Some(names(&["a", "b"])), ..bare };
    assert_eq!(
        refusal(&elsewhere, "1;2\n"),
        "rows.csv, line 1: no column \"class\": expected one of \"a\", \"b\""
    );
}

#[test]
fn a_compressed_file_is_read_as_it_is_and_a_damaged_one_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("a,class\n{}", "1,1\n2,0\n".repeat(500));
    let packed = crate::data::file::testing::gzip(&text);
    std::fs::write(folder.path().join("rows.csv"), &packed).unwrap();
    let table = file().read(folder.path()).unwrap().to_table();
    assert_eq!(table, parse(&file(), &text).unwrap());
    assert_eq!(file().shape(folder.path()), Ok((1_000, 1, 0)));
    std::fs::write(folder.path().join("rows.csv"), &packed[..packed.len() - 3]).unwrap();
    let error = file().read(folder.path()).err().unwrap();
    assert!(matches!(error, DataError::Unreadable { .. }), "{error}");
}

#[test]
fn contradictions_about_columns_are_named() {
    let file = CsvFile {
        features: Some(names(&["a"])),
        delimiter: 'é',
        header: false,
        ..with_categories(&[
            ("a", Categories::Values(names(&["u", "?", "u "]))),
            ("b", Categories::Values(Vec::new())),
        ])
    };
    let listed: Vec<_> = file.check().iter().map(|(f, m)| format!("{f}: {m}")).collect();
    assert_eq!(
        listed,
        [
            "categorical.a.values.1: found \"?\", which missing_tokens says is missing: expected a \
             value",
            "categorical.a.values.2: found \"u \" twice, expected it once",
            "categorical.b: no feature has this name, expected one",
            "categorical.b.values: found 0 values, expected 1 to 10000",
            "delimiter: found 'é', expected an ASCII character such as ','",
            "columns: missing, expected the names of all columns, or header: true",
        ]
    );
    let named = CsvFile { columns: Some(names(&["a"])), ..self::file() };
    assert_eq!(named.check()[0].1, "the header names the columns: expected none, or header: false");
}

#[test]
fn contradictions_in_the_section_are_named() {
    let file = CsvFile {
        features: Some(["class", "a", "a"].map(String::from).to_vec()),
        positive: Some("1".to_string()),
        task: Task::Regression,
        ..file()
    };
    assert_eq!(
        file.check(),
        [
            ("positive", "labels of a regression are numbers: expected no positive label"),
            ("features", "found the label's column \"class\", expected only features"),
            ("features", "found \"a\" twice, expected it once"),
        ]
        .map(|(field, message)| (field.to_string(), message.to_string()))
    );
}

#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    for path in ["nothing.csv", "."] {
        let file = CsvFile { path: path.into(), ..file() };
        let error = file.read(folder.path()).err().unwrap();
        assert!(matches!(error, DataError::Unreadable { .. }), "{error}");
        assert!(error.to_string().starts_with("cannot read "), "{error}");
        assert_eq!(file.shape(folder.path()), Err(error));
    }
}

#[test]
fn the_shape_is_that_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rows.csv"), "a,class,b\r\n1,1,2\r\n\r\n3,0,4\r\n").unwrap();
    assert_eq!(file().shape(folder.path()), Ok((2, 2, 0)));
    assert_eq!(file().read(folder.path()).unwrap().to_table().x.dim(), (2, 2));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), header: bool) {
        let start: &[u8] = if header { b"a,class\n" } else { b"" };
        let _ = parse(&file(), [start, &bytes].concat());
    }

    /// Text that looks like a table more often: what is accepted is whole and finite.
    #[test]
    fn what_is_accepted_is_finite(rows in r#"([0-9a-]{0,3}[,"]?[01]?[\r\n]{0,2}){0,8}"#) {
        if let Ok(table) = parse(&file(), format!("a,class\n{rows}")) {
            prop_assert_eq!(table.x.dim(), (table.y.len(), 1));
            prop_assert!(table.x.iter().all(|value| value.is_finite()));
            prop_assert!(table.y.iter().all(|&label| label == 1.0 || label == -1.0));
        }
    }
}

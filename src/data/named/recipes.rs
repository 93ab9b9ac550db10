//! How the files of a package become tables: text in, text out.

use std::collections::BTreeSet;

/// A table's text from the texts of its members.
pub(in crate::data) type Recipe = fn(&[String]) -> String;

const ADULT: &str = "age,workclass,fnlwgt,education,education-num,marital-status,occupation,\
                     relationship,race,sex,capital-gain,capital-loss,hours-per-week,\
                     native-country,income";
const GERMAN: &str = "checking,duration,history,purpose,amount,savings,employment,rate,status,\
                      debtors,residence,property,age,plans,housing,credits,job,liable,telephone,\
                      foreign,class";
const BREAST_CANCER: &str =
    "clump,size,shape,adhesion,epithelial,nuclei,chromatin,nucleoli,mitoses,class";

/// The training part, then the held-out part, which begins with a line that is no row and has a dot
/// behind each label.
pub(super) fn adult(members: &[String]) -> String {
    let rows = members.iter().flat_map(|member| fields(member, ','));
    let rows = rows.filter(|row| row.len() > 1).map(|mut row| {
        if let Some(label) = row.last_mut() {
            *label = label.trim_end_matches('.');
        }
        row.join(",")
    });
    table(ADULT, rows)
}

/// Blanks between fields.
pub(super) fn german(members: &[String]) -> String {
    let rows = members.iter().flat_map(|member| member.lines());
    let rows = rows.map(|line| line.split_ascii_whitespace().collect::<Vec<_>>().join(","));
    table(GERMAN, rows.filter(|row| !row.is_empty()))
}

/// The labels are 0 and 1; the benchmark's are −1 and 1.
pub(super) fn twonorm(members: &[String]) -> String {
    let rows = members.iter().flat_map(|member| fields(member, ',')).map(|mut row| {
        if let Some(label) = row.last_mut().filter(|label| **label == "0") {
            *label = "-1";
        }
        row.join(",")
    });
    table(&header(20), rows)
}

/// The benchmark leaves out the third column, which is 9 everywhere, and rows that came up before,
/// and sets the classes 1, 2, 3 and 6 against the others.
pub(super) fn image(members: &[String]) -> String {
    let mut seen = BTreeSet::new();
    let rows = members.iter().flat_map(|member| fields(member, ',')).filter_map(|mut row| {
        if row.len() > 2 {
            row.remove(2);
        }
        if let Some(label) = row.last_mut() {
            *label = if matches!(*label, "1" | "2" | "3" | "6") { "1" } else { "-1" };
        }
        let row = row.join(",");
        seen.insert(row.clone()).then_some(row)
    });
    table(&header(18), rows)
}

/// As it is, under a header.
pub(super) fn banana(members: &[String]) -> String {
    table(
        &header(2),
        members.iter().flat_map(|member| fields(member, ',')).map(|row| row.join(",")),
    )
}

/// As it is, under a header.
pub(super) fn breast_cancer(members: &[String]) -> String {
    let rows = members.iter().flat_map(|member| fields(member, ','));
    table(BREAST_CANCER, rows.map(|row| row.join(",")))
}

/// The fields of each line that is not blank, without the spaces around them.
fn fields(text: &str, delimiter: char) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.lines().filter(|line| !line.trim_ascii().is_empty());
    lines.map(move |line| line.split(delimiter).map(str::trim_ascii).collect())
}

fn header(features: usize) -> String {
    let mut names = crate::data::numbered("x", features);
    names.push("label".to_string());
    names.join(",")
}

fn table(header: &str, rows: impl Iterator<Item = String>) -> String {
    let mut text = format!("{header}\n");
    for row in rows {
        text += &row;
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(recipe: Recipe, members: &[&str]) -> Vec<String> {
        let members: Vec<_> = members.iter().map(|member| member.to_string()).collect();
        recipe(&members).lines().skip(1).map(String::from).collect()
    }

    #[test]
    fn the_parts_of_adult_are_one_table() {
        let rows =
            made(adult, &["39, State-gov, <=50K\n\n", "|1x3 Cross validator\n25, ?, >50K.\n\n"]);
        assert_eq!(rows, ["39,State-gov,<=50K", "25,?,>50K"]);
        assert!(adult(&[]).starts_with("age,workclass,") && adult(&[]).ends_with(",income\n"));
    }

    #[test]
    fn blanks_become_commas() {
        assert_eq!(
            made(german, &["A11 6  A34 1 \nA12 48 A32 2\n"]),
            ["A11,6,A34,1", "A12,48,A32,2"]
        );
    }

    #[test]
    fn labels_of_the_benchmark() {
        assert_eq!(made(twonorm, &[" 0.5, 0, 1\n1, 2, 0\n"]), ["0.5,0,1", "1,2,-1"]);
        let rows = made(image, &["1, 2, 9.0, 3, 6\n1, 2, 9.0, 4, 7\n1, 2, 9.0, 3, 1\n"]);
        assert_eq!(rows, ["1,2,3,1", "1,2,4,-1"], "the third row is the first");
    }

    #[test]
    fn headers_name_every_column() {
        for (recipe, columns) in [
            (adult as Recipe, 15),
            (german, 21),
            (twonorm, 21),
            (image, 19),
            (banana, 3),
            (breast_cancer, 10),
        ] {
            assert_eq!(recipe(&[]).split(',').count(), columns);
        }
        assert_eq!(banana(&["1.14,-0.114,-1.0".to_string()]), "x1,x2,label\n1.14,-0.114,-1.0\n");
        assert_eq!(made(breast_cancer, &["5,1,1,1,2,1,3,1,1,2"]), ["5,1,1,1,2,1,3,1,1,2"]);
    }
}

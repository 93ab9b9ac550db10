use ndarray::{Array1, Array2, ShapeBuilder, array};
use ndarray_npy::WriteNpyExt;
use proptest::prelude::*;

use super::super::file::testing::gzip;
use super::*;

fn files() -> NpyFiles {
    NpyFiles { x: "x".into(), y: "y".into(), positive: None, task: Task::Classification }
}

fn npy(array: &impl WriteNpyExt) -> Vec<u8> {
    let mut bytes = Vec::new();
    array.write_npy(&mut bytes).unwrap();
    bytes
}

fn read(files: &NpyFiles, x: &[u8], y: &[u8]) -> Result<Stored, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x"), x).unwrap();
    std::fs::write(folder.path().join("y"), y).unwrap();
    let shown = format!("{}/", folder.path().display());
    files.read(folder.path()).map_err(|error| error.to_string().replace(&shown, ""))
}

/// Bytes as NumPy writes them.
fn written(header: &str, data: &[u8]) -> Vec<u8> {
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

#[test]
fn what_ndarray_npy_writes_is_read() {
    let expected = array![[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]];
    let y = npy(&array![1_i64, -1]);
    let by_columns = {
        let mut x = Array2::<f64>::zeros((2, 3).f());
        x.assign(&expected);
        npy(&x)
    };
    for x in [
        npy(&expected),
        by_columns,
        npy(&expected.mapv(|v| v as f32)),
        npy(&expected.mapv(|v| v as i8)),
        npy(&expected.mapv(|v| v as i16)),
        npy(&expected.mapv(|v| v as i32)),
        npy(&expected.mapv(|v| v as i64)),
        gzip(npy(&expected)),
    ] {
        let rows = read(&files(), &x, &y).unwrap();
        assert_eq!(rows.y, [1.0, -1.0]);
        assert_eq!(rows.to_table().x, expected);
    }
    let rows = read(&files(), &npy(&array![[true], [false]]), &npy(&array![0_u8, 1])).unwrap();
    assert_eq!(rows.to_table().x, array![[1.0], [0.0]]);
    assert_eq!(rows.to_table().y, [-1.0, 1.0]);
}

#[test]
fn numbers_with_the_highest_byte_first() {
    let header = "{'descr': '>i2', 'fortran_order': False, 'shape': (2, 1), }\n";
    let x = written(header, &[0xff, 0xfe, 1, 0]);
    let rows = read(&files(), &x, &npy(&array![1.0, 0.0])).unwrap();
    assert_eq!(rows.to_table().x, array![[-2.0], [256.0]]);
}

#[test]
fn labels_may_be_a_column_and_any_number() {
    let x = npy(&array![[1.0], [2.0]]);
    let column = npy(&array![[3.0], [7.5]]);
    let three = NpyFiles { positive: Some(3.0), ..files() };
    assert_eq!(read(&three, &x, &column).unwrap().y, [1.0, -1.0]);
    let regression = NpyFiles { task: Task::Regression, ..files() };
    assert_eq!(read(&regression, &x, &column).unwrap().y, [3.0, 7.5]);
    assert_eq!(NpyFiles { positive: Some(1.0), ..regression }.check().len(), 1);
}

#[test]
fn what_does_not_fit_is_named() {
    let (x, y) = (npy(&array![[1.0], [f64::NAN]]), npy(&array![1.0, 2.0]));
    let good = npy(&array![[1.0], [2.0]]);
    let strings = written("{'descr': '<U3', 'fortran_order': False, 'shape': (2, 1), }", &[]);
    let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000, 1000000), }";
    let endless =
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000000, 1000000000), }";
    for (x, y, expected) in [
        (&x, &y, "x: [1, 0]: found NaN, expected a finite number"),
        (&good, &y, "y: [1]: found 2, expected -1 or 1, or 0 or 1"),
        (&good, &npy(&array![1.0]), "y: found 1 labels, expected 2, one for each row"),
        (&good, &npy(&array![[1.0, 2.0]]), "y: shape: found [1, 2], expected one label per row"),
        (&y, &y, "x: shape: found [2], expected rows × columns"),
        (
            &npy(&Array2::<f64>::zeros((0, 3))),
            &npy(&Array1::<f64>::zeros(0)),
            "x: found 0 rows of 3 columns, expected at least one of 1 to 1000000",
        ),
        (&strings, &y, "x: elements: found \"<U3\", expected f4, f8, i1 to u8 or b1"),
        (&b"PK".to_vec(), &y, "x: no NumPy array of version 1 to 3, expected one"),
        (&written("{}", &[]), &y, "x: the header is damaged, expected that of a NumPy array"),
        (&good[..good.len() - 1].to_vec(), &y, "x: found 15 bytes of data, expected 16"),
        (&written(huge, &[0; 8]), &y, "x: found 8 bytes of data, expected 32000000000000000"),
        (&written(endless, &[0; 8]), &y, "x: the shape is too large, expected what fits in memory"),
    ] {
        assert_eq!(read(&files(), x, y).err().unwrap(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_make_it_panic(
        junk in prop::collection::vec(any::<u8>(), 0..80),
        shape in r"\(?[0-9]{0,20},? ?[0-9]{0,3}\)?",
        descr in "'?[<>|=]?[fiub][0-9]'?",
    ) {
        let y = npy(&array![1.0, -1.0]);
        let header = format!("{{'descr': {descr}, 'fortran_order': True, 'shape': {shape}, }}");
        for x in [junk.clone(), written(&header, &junk), [b"\x93NUMPY\x02\x00", &junk[..]].concat()] {
            let _ = read(&files(), &x, &y);
        }
    }
}

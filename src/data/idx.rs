//! Rows from a pair of files in the idx format of MNIST.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::DataError;
use super::file::{MOST_COLUMNS, malformed, open, read_rest, read_up_to};
use super::labels::sign;
use super::numbered;
use super::source::{Cells, Stored};

/// Images and their labels in the idx format of MNIST, each plain or gzip-compressed. A feature is
/// a pixel from 0 to 255 as it is in the file: scaling is a matter of preprocessing, such as
/// `divide: {by: 255}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdxFiles {
    /// The file of images (unsigned bytes, any number of dimensions), relative to the scenario's.
    pub images: PathBuf,
    /// The file of labels (unsigned bytes, one dimension), relative to the scenario's.
    pub labels: PathBuf,
    /// The labels that become +1, 0 to 255 each; every other becomes −1. At least one.
    pub positive: Vec<u8>,
}

impl IdxFiles {
    pub(super) fn check(&self) -> Vec<(String, String)> {
        let repeated = |i: usize| self.positive[..i].contains(&self.positive[i]);
        let message = if self.positive.is_empty() {
            "found an empty list, expected a label".to_string()
        } else if let Some(i) = (0..self.positive.len()).find(|&i| repeated(i)) {
            format!("found {} twice, expected it once", self.positive[i])
        } else {
            return Vec::new();
        };
        vec![("positive".to_string(), message)]
    }

    pub(super) fn read(&self, base: &Path) -> Result<Stored, DataError> {
        let (image_path, label_path) = (base.join(&self.images), base.join(&self.labels));
        let (shape, pixels) = read(&image_path)?;
        let (label_shape, labels) = read(&label_path)?;
        if label_shape.len() != 1 {
            let message =
                format!("found {} dimensions, expected 1: labels are a list", label_shape.len());
            return Err(malformed(&label_path, message));
        }
        let (rows, width) = (shape[0], shape[1..].iter().product());
        if labels.len() != rows {
            let found = labels.len();
            let message = format!("found {found} labels, expected {rows}, one for each image");
            return Err(malformed(&label_path, message));
        }
        if rows == 0 || !(1..=MOST_COLUMNS).contains(&width) {
            let message = format!(
                "found {rows} images of {width} pixels, expected at least one of 1 to {MOST_COLUMNS}"
            );
            return Err(malformed(&image_path, message));
        }
        let y: Vec<f64> = labels.iter().map(|label| sign(self.positive.contains(label))).collect();
        if !y.contains(&1.0) {
            let message =
                format!("found no row labelled {:?}, expected a positive label", self.positive);
            return Err(malformed(&label_path, message));
        }
        Ok(Stored { features: numbered("x", width), x: Box::new(Pixels { pixels, width }), y })
    }
}

/// One byte per pixel.
struct Pixels {
    pixels: Vec<u8>,
    width: usize,
}

impl Cells for Pixels {
    fn write(&self, row: usize, x: &mut [f64]) {
        let pixels = &self.pixels[row * self.width..];
        x.iter_mut().zip(pixels).for_each(|(x, &pixel)| *x = f64::from(pixel));
    }
}

/// Shape and bytes of an idx file: two zero bytes, the type 8 for unsigned bytes, the number of
/// dimensions, each as four bytes with the highest first, then the data.
fn read(path: &Path) -> Result<(Vec<usize>, Vec<u8>), DataError> {
    let refuse = |message: String| Err(malformed(path, message));
    let mut input = open(path)?;
    let magic = read_up_to(path, &mut *input, 4)?;
    let &[0, 0, 8, dimensions] = magic.as_slice() else {
        let found: Vec<_> = magic.iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = "00 00 08 and the number of dimensions (idx with unsigned bytes)";
        return refuse(format!("begins with {}, expected {expected}", found.join(" ")));
    };
    let sizes = read_up_to(path, &mut *input, 4 * usize::from(dimensions))?;
    if dimensions == 0 || sizes.len() < 4 * usize::from(dimensions) {
        return refuse(format!("ends before its {dimensions} sizes, expected at least one"));
    }
    let size = |bytes: &[u8]| bytes.iter().fold(0, |size, &byte| size << 8 | usize::from(byte));
    let shape: Vec<usize> = sizes.chunks_exact(4).map(size).collect();
    let Some(count) = shape.iter().try_fold(1_usize, |count, &size| count.checked_mul(size)) else {
        return refuse(format!("sizes {shape:?} are too large, expected what fits in memory"));
    };
    let bytes = read_rest(path, &mut *input, count)?;
    Ok((shape, bytes))
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::super::file::testing::gzip;
    use super::*;

    const IMAGES: &[u8] = &[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 128, 255, 7];
    const LABELS: &[u8] = &[0, 0, 8, 1, 0, 0, 0, 2, 4, 9];

    fn read(images: &[u8], labels: &[u8], positive: &[u8]) -> Result<Stored, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("images"), images).unwrap();
        std::fs::write(folder.path().join("labels"), labels).unwrap();
        let positive = positive.to_vec();
        let files = IdxFiles { images: "images".into(), labels: "labels".into(), positive };
        let shown = format!("{}/", folder.path().display());
        files.read(folder.path()).map_err(|error| error.to_string().replace(&shown, ""))
    }

    #[test]
    fn raw_pixels_and_a_digit_against_the_rest() {
        for (images, labels) in [(IMAGES.to_vec(), LABELS.to_vec()), (gzip(IMAGES), gzip(LABELS))] {
            let rows = read(&images, &labels, &[9, 3]).unwrap();
            assert_eq!(rows.y, [-1.0, 1.0]);
            let table = rows.to_table();
            assert_eq!(table.x, array![[0.0, 128.0], [255.0, 7.0]]);
            assert_eq!(table.features, ["x1", "x2"]);
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let three: &[u8] = &[0, 0, 8, 1, 0, 0, 0, 3, 4, 9, 9];
        let huge: &[u8] = &[0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255];
        let large: &[u8] = &[0, 0, 8, 2, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        for (images, labels, positive, expected) in [
            (IMAGES, three, 9, "labels: found 3 labels, expected 2, one for each image"),
            (IMAGES, IMAGES, 9, "labels: found 3 dimensions, expected 1: labels are a list"),
            (IMAGES, LABELS, 5, "labels: found no row labelled [5], expected a positive label"),
            (&IMAGES[..19], LABELS, 9, "images: found 3 bytes of data, expected 4"),
            (&[IMAGES, b"x"].concat(), LABELS, 9, "images: found more bytes of data, expected 4"),
            (&IMAGES[..9], LABELS, 9, "images: ends before its 3 sizes, expected at least one"),
            (
                b"PNG",
                LABELS,
                9,
                "images: begins with 50 4e 47, expected 00 00 08 and the number of dimensions (idx with unsigned bytes)",
            ),
            (
                huge,
                LABELS,
                9,
                "images: sizes [4294967295, 4294967295, 4294967295] are too large, expected what fits in memory",
            ),
            (large, LABELS, 9, "images: found 1 bytes of data, expected 18446744065119617025"),
        ] {
            assert_eq!(read(images, labels, &[positive]).err().unwrap(), expected);
        }
        let files = |positive: &[u8]| IdxFiles {
            images: PathBuf::new(),
            labels: PathBuf::new(),
            positive: positive.to_vec(),
        };
        assert_eq!(files(&[]).check()[0].1, "found an empty list, expected a label");
        assert_eq!(files(&[1, 2, 1]).check()[0].1, "found 1 twice, expected it once");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_bytes_make_it_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..60),
            header: bool,
            dimensions in 0_u8..5,
        ) {
            if header {
                bytes.splice(0..0, [0, 0, 8, dimensions]);
            }
            let _ = read(&bytes, LABELS, &[9]);
            let _ = read(IMAGES, &bytes, &[9]);
        }
    }
}

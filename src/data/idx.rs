//! Rows from a pair of files in the idx format of MNIST.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::DataError;
use super::file::{MOST_COLUMNS, malformed, open, read_rest, read_up_to};
use super::labels::{Labels, found_classes, sign};
use super::source::{Cells, Stored};
use super::{Task, numbered};

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
    /// The labels that become +1, 0 to 255 each; every other becomes −1. At least one. Without it
    /// every different label is a class, in ascending order, and there must be two; the list is
    /// taken from private rows and declared as such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<Vec<u8>>,
    /// Files of the rows that are held out, all of them; `test_share` must then be 0, and all rows of
    /// the files above are trained on. Default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<IdxPair>,
}

/// Held-out images and their labels, in files like those that are trained on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdxPair {
    /// The file of images, as large as those that are trained on; relative to the scenario's.
    pub images: PathBuf,
    /// The file of labels, relative to the scenario's.
    pub labels: PathBuf,
}

impl IdxFiles {
    pub(super) fn check(&self) -> Vec<(String, String)> {
        let Some(positive) = &self.positive else { return Vec::new() };
        let repeated = |i: usize| positive[..i].contains(&positive[i]);
        let message = if positive.is_empty() {
            "found an empty list, expected a label".to_string()
        } else if let Some(i) = (0..positive.len()).find(|&i| repeated(i)) {
            format!("found {} twice, expected it once", positive[i])
        } else {
            return Vec::new();
        };
        vec![("positive".to_string(), message)]
    }

    /// What the labels mean.
    pub(super) fn task(&self) -> Task {
        if self.positive.is_some() { Task::Classification } else { Task::MultiClass }
    }

    /// What the list of classes tells about the files' rows.
    pub(super) fn declarations(&self) -> Vec<String> {
        (self.task() == Task::MultiClass).then(|| found_classes("idx")).into_iter().collect()
    }

    pub(super) fn read(&self, base: &Path) -> Result<Stored, DataError> {
        let label_path = base.join(&self.labels);
        let (mut x, mut labels) = read_pair(&base.join(&self.images), &label_path)?;
        let trained = labels.len();
        if let Some(test) = &self.test {
            let image_path = base.join(&test.images);
            let (held_out, of_held_out) = read_pair(&image_path, &base.join(&test.labels))?;
            if held_out.width != x.width {
                let message = format!(
                    "found images of {} pixels, expected {} as in the training part",
                    held_out.width, x.width
                );
                return Err(malformed(&image_path, message));
            }
            x.pixels.extend_from_slice(&held_out.pixels);
            labels.extend_from_slice(&of_held_out);
        }
        let (y, classes) = match &self.positive {
            Some(positive) => {
                if !labels[..trained].iter().any(|label| positive.contains(label)) {
                    let message =
                        format!("found no row labelled {positive:?}, expected a positive label");
                    return Err(malformed(&label_path, message));
                }
                (labels.iter().map(|label| sign(positive.contains(label))).collect(), Vec::new())
            }
            None => {
                let mut reading = Labels::numbers(None, Task::MultiClass);
                let classes = labels.iter().map(|&label| reading.accept(label.into()));
                let mut y = classes
                    .collect::<Result<Vec<f64>, _>>()
                    .expect("there are no more classes than bytes");
                if let Some(message) = reading.unseen() {
                    return Err(malformed(&label_path, message));
                }
                let classes = reading.number(&mut y);
                (y, classes)
            }
        };
        let held_out = self.test.as_ref().map(|_| y.len() - trained);
        Ok(Stored { features: numbered("x", x.width), x: Box::new(x), y, classes, held_out })
    }
}

/// The images of one file and their labels in another.
fn read_pair(image_path: &Path, label_path: &Path) -> Result<(Pixels, Vec<u8>), DataError> {
    let (shape, pixels) = read(image_path)?;
    let (label_shape, labels) = read(label_path)?;
    if label_shape.len() != 1 {
        let message =
            format!("found {} dimensions, expected 1: labels are a list", label_shape.len());
        return Err(malformed(label_path, message));
    }
    let (rows, width) = (shape[0], shape[1..].iter().product());
    if labels.len() != rows {
        let found = labels.len();
        let message = format!("found {found} labels, expected {rows}, one for each image");
        return Err(malformed(label_path, message));
    }
    if rows == 0 || !(1..=MOST_COLUMNS).contains(&width) {
        let message = format!(
            "found {rows} images of {width} pixels, expected at least one of 1 to {MOST_COLUMNS}"
        );
        return Err(malformed(image_path, message));
    }
    Ok((Pixels { pixels, width }, labels))
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
        read_with(images, labels, Some(positive), None)
    }

    fn read_with(
        images: &[u8],
        labels: &[u8],
        positive: Option<&[u8]>,
        test: Option<(&[u8], &[u8])>,
    ) -> Result<Stored, String> {
        let folder = tempfile::tempdir().unwrap();
        let write = |name, bytes| std::fs::write(folder.path().join(name), bytes).unwrap();
        write("images", images);
        write("labels", labels);
        if let Some((images, labels)) = test {
            write("more-images", images);
            write("more-labels", labels);
        }
        let files = IdxFiles {
            images: "images".into(),
            labels: "labels".into(),
            positive: positive.map(<[u8]>::to_vec),
            test: test
                .map(|_| IdxPair { images: "more-images".into(), labels: "more-labels".into() }),
        };
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
            positive: Some(positive.to_vec()),
            test: None,
        };
        assert_eq!(files(&[]).check()[0].1, "found an empty list, expected a label");
        assert_eq!(files(&[1, 2, 1]).check()[0].1, "found 1 twice, expected it once");
    }

    /// One image of 1 × 2 pixels, and its label 7.
    const MORE_IMAGES: &[u8] = &[0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 33, 44];
    const MORE_LABELS: &[u8] = &[0, 0, 8, 1, 0, 0, 0, 1, 7];

    #[test]
    fn without_a_positive_label_each_is_a_class() {
        let rows = read_with(IMAGES, &[0, 0, 8, 1, 0, 0, 0, 2, 9, 4], None, None).unwrap();
        assert_eq!(rows.classes, ["4", "9"]);
        assert_eq!((rows.y, rows.held_out), (vec![1.0, 0.0], None));
        let one = read_with(IMAGES, &[0, 0, 8, 1, 0, 0, 0, 2, 4, 4], None, None);
        assert_eq!(
            one.err().unwrap(),
            "labels: every row is labelled \"4\", expected at least two classes"
        );
    }

    #[test]
    fn held_out_files_follow_and_share_the_classes() {
        let rows = read_with(IMAGES, LABELS, None, Some((MORE_IMAGES, MORE_LABELS))).unwrap();
        assert_eq!(rows.classes, ["4", "7", "9"], "7 is among the held-out rows only");
        assert_eq!(rows.y, [0.0, 2.0, 1.0]);
        assert_eq!(rows.held_out, Some(1));
        assert_eq!(rows.to_table().x, array![[0.0, 128.0], [255.0, 7.0], [33.0, 44.0]]);

        let seven = read_with(IMAGES, LABELS, Some(&[7]), Some((MORE_IMAGES, MORE_LABELS)));
        assert_eq!(
            seven.err().unwrap(),
            "labels: found no row labelled [7], expected a positive label",
            "there is none to train on"
        );
        let narrow: &[u8] = &[0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 1, 5];
        let error = read_with(IMAGES, LABELS, None, Some((narrow, MORE_LABELS))).err().unwrap();
        let expected = "more-images: found images of 1 pixels, expected 2 as in the training part";
        assert_eq!(error, expected);
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

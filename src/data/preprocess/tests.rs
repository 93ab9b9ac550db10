use ndarray::{Array2, array};
use proptest::prelude::*;

use super::*;

/// Runs a step on matrices with columns x1, x2, … and tells the names that come out.
fn run(
    step: &Step,
    train: &mut Array2<f64>,
    test: Option<&mut Array2<f64>>,
) -> Result<Vec<String>, DataError> {
    let mut features = numbered("x", train.ncols());
    let width = step.width(features.len())?;
    let frame = |x: &Array2<f64>| {
        let mut frame = Frame::new(x.nrows(), x.ncols().max(width)).unwrap();
        frame.narrow(x.ncols());
        frame.view_mut().assign(x);
        frame
    };
    let (mut train_frame, mut test_frame) = (frame(train), test.as_deref().map(frame));
    step.run(&mut train_frame, test_frame.as_mut(), &mut features)?;
    assert_eq!(features.len(), width);
    *train = train_frame.into_matrix();
    test.zip(test_frame).into_iter().for_each(|(test, frame)| *test = frame.into_matrix());
    Ok(features)
}

#[test]
fn standardise_in_closed_form() {
    // Means 2 and 0.1; deviations 1 and 0: the constant column is centred only.
    let mut train = array![[1.0, 0.1], [3.0, 0.1], [1.0, 0.1], [3.0, 0.1]];
    let mut test = array![[5.0, 1.1]];
    run(&Step::Standardise, &mut train, Some(&mut test)).unwrap();
    assert_eq!(train, array![[-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]]);
    assert_eq!(test, array![[3.0, 1.0]]);
}

#[test]
fn a_constant_column_is_exactly_zero_whatever_its_mean_rounds_to() {
    let mut train = Array2::from_elem((10_007, 1), 0.1);
    run(&Step::Standardise, &mut train, None).unwrap();
    assert!(train.iter().all(|&value| value == 0.0));
}

#[test]
fn unit_ball_in_closed_form() {
    let mut train = array![[3.0, 4.0], [0.0, 1.0]];
    let mut test = array![[6.0, 8.0]];
    run(&Step::UnitBall, &mut train, Some(&mut test)).unwrap();
    assert_eq!(train, array![[0.6, 0.8], [0.0, 0.2]]);
    assert_eq!(test, array![[1.2, 1.6]], "a longer held-out row keeps its length");

    let mut zeros = Array2::zeros((2, 2));
    run(&Step::UnitBall, &mut zeros, None).unwrap();
    assert_eq!(zeros, Array2::<f64>::zeros((2, 2)));
}

#[test]
fn what_overflows_is_refused_by_name() {
    let mut train = array![[1.0, 1e308], [2.0, -1e308]];
    let error = run(&Step::Standardise, &mut train, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "standardise: feature \"x2\" leaves the range of finite numbers: rescale it first"
    );
    run(&Step::UnitBall, &mut train, None).unwrap();
    assert_eq!(train, array![[1e-308, 1.0], [2e-308, -1.0]]);
}

#[test]
fn max_scale_in_closed_form() {
    let original = array![[2.0, -8.0, 0.0], [1.0, 4.0, 0.0]];
    let (mut train, mut test) = (original.clone(), array![[4.0, 2.0, 3.0]]);
    run(&Step::MaxScale(Scaled::All), &mut train, Some(&mut test)).unwrap();
    assert_eq!(train, array![[1.0, -1.0, 0.0], [0.5, 0.5, 0.0]]);
    assert_eq!(test, array![[2.0, 0.25, 3.0]], "what is 0 in training is left alone");

    let columns = |names: &[&str]| {
        Step::MaxScale(Scaled::Columns(names.iter().map(|name| name.to_string()).collect()))
    };
    let mut train = original.clone();
    run(&columns(&["x2"]), &mut train, None).unwrap();
    assert_eq!(train, array![[2.0, -1.0, 0.0], [1.0, 0.5, 0.0]]);
    assert_eq!(
        columns(&["x2", "x3"]).declaration().unwrap(),
        "max-scale: largest absolute value of x2, x3 over the training part"
    );
    let error = run(&columns(&["y2"]), &mut train, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "max-scale: no column \"y2\": expected one of \"x1\", \"x2\", \"x3\""
    );
}

#[test]
fn a_constant_divides_both_parts() {
    let (mut train, mut test) = (array![[0.0, 255.0]], array![[51.0, 510.0]]);
    let step = Step::Divide(Divide { by: 255.0 });
    run(&step, &mut train, Some(&mut test)).unwrap();
    assert_eq!((train, test), (array![[0.0, 1.0]], array![[0.2, 2.0]]));
    assert_eq!(step.declaration(), None);
}

#[test]
fn unit_sphere_in_closed_form() {
    let mut train = array![[3.0, 4.0], [0.0, 0.0], [-1e300, 0.0]];
    let mut test = array![[0.0, -1e-300]];
    run(&Step::UnitSphere, &mut train, Some(&mut test)).unwrap();
    assert_eq!(train, array![[0.6, 0.8], [0.0, 0.0], [-1.0, 0.0]]);
    assert_eq!(test, array![[0.0, -1.0]]);
    assert_eq!(Step::UnitSphere.declaration(), None);
}

#[test]
fn clipping_shortens_long_rows_and_leaves_the_others() {
    let mut train = array![[3.0, 4.0], [1.5, 2.0], [0.1, -0.2], [0.0, 0.0], [0.0, -1e300]];
    let mut test = array![[-30.0, 40.0], [0.7, 0.3]];
    let step = Step::Clip(Clip::to(2.5));
    run(&step, &mut train, Some(&mut test)).unwrap();
    assert_eq!(train, array![[1.5, 2.0], [1.5, 2.0], [0.1, -0.2], [0.0, 0.0], [0.0, -2.5]]);
    assert_eq!(test, array![[-1.5, 2.0], [0.7, 0.3]], "held-out rows are clipped as well");
    assert_eq!(step.declaration(), None);

    let mut tiny = array![[3e-200, 4e-200], [3e200, 4e200]];
    run(&Step::Clip(Clip::to(1e-250)), &mut tiny, None).unwrap();
    for (found, expected) in tiny.iter().zip([0.6e-250, 0.8e-250, 0.6e-250, 0.8e-250]) {
        assert!((found / expected - 1.0).abs() < 1e-12, "{found}");
    }
    let error = run(&step, &mut array![[1.7e308, 1.7e308]], None).unwrap_err();
    assert!(error.to_string().starts_with("clip: feature \"x1\" leaves the range"), "{error}");
}

#[test]
fn the_intercept_is_a_column_of_ones() {
    let (mut train, mut test) = (array![[3.0], [4.0]], array![[5.0]]);
    let names = run(&Step::Intercept, &mut train, Some(&mut test)).unwrap();
    assert_eq!(names, ["x1", "intercept"]);
    assert_eq!(train, array![[3.0, 1.0], [4.0, 1.0]]);
    assert_eq!(test, array![[5.0, 1.0]]);
}

#[test]
fn principal_components_replace_the_features_of_both_parts() {
    // Variance 4 along the second feature and 1 along the first, about the mean (1, 2).
    let mut train = array![[0.0, 2.0], [2.0, 2.0], [1.0, 0.0], [1.0, 4.0]];
    let mut test = array![[6.0, 5.0]];
    let names =
        run(&Step::Pca(Pca { dimension: 1, centre: true }), &mut train, Some(&mut test)).unwrap();
    assert_eq!(names, ["pc1"]);
    assert_eq!(train, array![[0.0], [0.0], [-2.0], [2.0]]);
    assert_eq!(test, array![[3.0]], "centred by the mean of the training part");

    let step = Step::Pca(Pca { dimension: 2, centre: true });
    assert_eq!(
        step.declaration().unwrap(),
        "pca: mean of each feature and 2 principal axes over the training part"
    );
    assert_eq!(
        run(&step, &mut train, None).unwrap_err().to_string(),
        "pca: dimension 2, expected at most the 1 features"
    );
    assert_eq!(
        step.width(5_000).unwrap_err().to_string(),
        "pca: 5000 features, expected at most 4096"
    );
    let mut extreme = array![[1.0, 1e200], [2.0, -1e200]];
    assert_eq!(
        run(&step, &mut extreme, None).unwrap_err().to_string(),
        "pca: feature \"x2\" leaves the range of finite numbers: rescale it first"
    );
}

#[test]
fn lists_of_steps_that_contradict_themselves() {
    let steps = [
        Step::Pca(Pca { dimension: 0, centre: true }),
        Step::MaxScale(Scaled::Columns(Vec::new())),
        Step::Intercept,
        Step::UnitSphere,
        Step::Standardise,
        Step::Pca(Pca { dimension: 3, centre: true }),
        Step::Intercept,
        Step::Divide(Divide { by: 0.0 }),
        Step::Clip(Clip::to(0.0)),
        Step::Clip(Clip::to(f64::INFINITY)),
    ];
    let listed: Vec<_> = Step::check(&steps).iter().map(|(f, m)| format!("{f}: {m}")).collect();
    assert_eq!(
        listed,
        [
            "0.pca.dimension: found 0, expected at least 1",
            "1.max-scale.columns: found an empty list, expected a column",
            "4: makes the intercept 0: expected it before the intercept",
            "5: takes the intercept away: expected it before the intercept",
            "6: the intercept is there already, expected it once",
            "7.divide.by: found 0, expected a finite number above 0",
            "8.clip.norm: found 0, expected a finite number above 0",
            "9.clip.norm: found inf, expected a finite number above 0",
        ]
    );
}

proptest! {
    #[test]
    fn standardised_columns_have_mean_zero_and_deviation_one(
        values in prop::collection::vec(-1e3..1e3, 6..6_000),
    ) {
        let rows = values.len() / 3;
        let mut x = Array2::from_shape_vec((rows, 3), values[..3 * rows].to_vec()).unwrap();
        run(&Step::Standardise, &mut x, None).unwrap();
        for column in x.columns() {
            let mean = column.sum() / rows as f64;
            let variance = column.iter().map(|v| v * v).sum::<f64>() / rows as f64;
            prop_assert!(mean.abs() < 1e-9, "mean {mean}");
            prop_assert!((variance - 1.0).abs() < 1e-9, "variance {variance}");
        }
    }

    #[test]
    fn training_rows_end_in_the_unit_ball(values in prop::collection::vec(-1e3..1e3, 2..200)) {
        let rows = values.len() / 2;
        let mut x = Array2::from_shape_vec((rows, 2), values[..2 * rows].to_vec()).unwrap();
        run(&Step::UnitBall, &mut x, None).unwrap();
        let norms: Vec<f64> = x.rows().into_iter().map(|row| row.dot(&row).sqrt()).collect();
        let largest = norms.iter().copied().fold(0.0, f64::max);
        prop_assert!((largest - 1.0).abs() < 1e-12, "{largest}");
    }

    #[test]
    fn no_row_is_longer_than_the_clip(
        values in prop::collection::vec(-1e3..1e3, 2..200),
        norm in 1e-3..2e3,
    ) {
        let rows = values.len() / 2;
        let mut x = Array2::from_shape_vec((rows, 2), values[..2 * rows].to_vec()).unwrap();
        let before = x.clone();
        run(&Step::Clip(Clip::to(norm)), &mut x, None).unwrap();
        for (row, before) in x.rows().into_iter().zip(before.rows()) {
            let (length, was) = (row.dot(&row).sqrt(), before.dot(&before).sqrt());
            prop_assert!((length - was.min(norm)).abs() <= 1e-12 * was.min(norm));
            let along = row.dot(&before);
            prop_assert!((along - length * was).abs() <= 1e-9 * along, "the direction stays");
        }
    }

    #[test]
    fn held_out_rows_do_not_influence_the_statistics(other in -1e6_f64..1e6) {
        for step in [
            Step::Standardise,
            Step::UnitBall,
            Step::UnitSphere,
            Step::Clip(Clip::to(1.5)),
            Step::MaxScale(Scaled::All),
            Step::Pca(Pca { dimension: 1, centre: true }),
        ] {
            let mut alone = array![[1.0, 2.0], [4.0, -1.0]];
            let mut beside = alone.clone();
            let mut test = array![[other, -other]];
            run(&step, &mut alone, None).unwrap();
            run(&step, &mut beside, Some(&mut test)).unwrap();
            prop_assert_eq!(&alone, &beside);
        }
    }
}

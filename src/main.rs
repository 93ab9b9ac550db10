//! The command line of hushmesh.

fn main() -> std::process::ExitCode {
    hushmesh::cli::main()
}

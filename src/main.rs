//! The command line of hushmesh.

/// Blocks of one size lie one after the other: peers are gone through in the order in which they were made.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    hushmesh::cli::main()
}

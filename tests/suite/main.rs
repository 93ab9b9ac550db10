//! The command line as a user types it, and the promises that hold across the whole program.

mod architecture;
mod bad_input;
mod browser;
mod check;
mod comparison;
mod convergence;
mod determinism;
mod extremes;
mod golden;
mod golden_server;
mod golden_walk;
mod interrupt;
mod labels;
mod output;
mod private;
mod quickstart;
mod real_data;
mod report;
mod round_trip;
mod schema;
mod server;
mod sums;
mod walk;
mod workbench;

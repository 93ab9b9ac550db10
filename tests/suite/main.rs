//! The command line as a user types it, and the promises that hold across the whole program.

mod architecture;
mod bad_input;
mod check;
mod comparison;
mod convergence;
mod data_sets;
mod determinism;
mod extremes;
mod golden;
mod golden_server;
mod golden_walk;
mod habits;
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
mod sweeps;
mod walk;
mod workbench;

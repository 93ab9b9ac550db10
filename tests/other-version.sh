#!/bin/sh
# Builds this program under another version, for tests/mpi.sh to start beside it, and says where it is.
# It is built without optimisation, apart from everything else.
#
#   OTHER=$(tests/other-version.sh) tests/mpi.sh target/release/hushmesh
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
place=${1:-$root/target/other-version}
mkdir -p "$place/source"
# Everything that the program is compiled from, as it is, but for the version.
for name in src docs benches examples tests scenarios README.md; do
    ln -sfn "$root/$name" "$place/source/$name"
done
cp "$root/Cargo.lock" "$place/source/Cargo.lock"
sed '0,/^version = .*/s//version = "0.0.0-other"/' "$root/Cargo.toml" > "$place/source/Cargo.toml"
cd "$place/source"
CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=0 \
    cargo build --quiet --features mpi --bin hushmesh --target-dir "$place/target" >&2
echo "$place/target/debug/hushmesh"

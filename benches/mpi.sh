#!/bin/sh
# ADMM on 2 ranks of one worker beside one process of 2 workers, on this machine: rings and random
# 4-regular graphs of 10⁵ and 10⁶ peers, dimension 20, five samples each. Of each case a short and a long
# run by turns, so that what rounds take is the difference: what comes before and after them is left out.
# Prints Markdown.
#
#   cargo build --release --features mpi && benches/mpi.sh [PROGRAM [PEERS…]]
set -eu

program=${1:-target/release/hushmesh}
[ "$#" -lt 1 ] || shift
[ "$#" -gt 0 ] || set -- 100000 1000000
mpirun=${MPIRUN:-mpirun --allow-run-as-root --oversubscribe --bind-to core}
few=${FEW:-5} many=${MANY:-25} times=${TIMES:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

cat > "$work/case.yaml" << END
name: case
seed: 1
topology: {ring: {peers: 3}}
data:
  source: {linear-logistic: {dimension: 20, norm: 3}}
  samples: {per-peer: 5}
model: {loss: logistic, regularisation: 10000}
protocol: {admm: {penalty: 0.1, rounds: 5}}
measure: {what: [consensus], every: 1000}
END

# figure FILE KEY: a number of timing.json.
figure() { sed -n "s/^ *\"$2\": \([0-9.e-]*\),*\$/\1/p" "$1"; }

# timed OUT ROUNDS WORKERS LAUNCHER…: a run; its figures on one line.
timed() {
    out=$work/$1 rounds=$2 workers=$3
    shift 3
    rm -rf "$out"
    "$@" "$program" run "$work/case.yaml" --set topology="$topology" \
        --set protocol.admm.rounds="$rounds" --workers "$workers" --quiet --out "$out"
    for key in wall_seconds exchanges bytes_sent exchange_seconds; do
        found=$(figure "$out/timing.json" "$key")
        printf '%s ' "${found:-0}"
    done
    echo
}

# Everything is least of so many times: what else the machine does only adds.
least() { sort -g | head -n 1; }

echo "| graph | peers | ms per round, 1 process × 2 workers | ms per round, 2 ranks × 1 worker | ratio | bytes per window and rank | share of time in exchanges |"
echo "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
for peers in "$@"; do
    for graph in ring random-regular; do
        case $graph in
            ring) topology="{ring: {peers: $peers}}" ;;
            *) topology="{random-regular: {peers: $peers, degree: 4}}" ;;
        esac
        for home in process ranks; do : > "$work/$home-$few" && : > "$work/$home-$many"; done
        turn=0
        while [ "$turn" -lt "$times" ]; do
            turn=$((turn + 1))
            for rounds in "$few" "$many"; do
                timed process "$rounds" 2 env >> "$work/process-$rounds"
                # shellcheck disable=SC2086
                timed ranks "$rounds" 1 $mpirun -n 2 >> "$work/ranks-$rounds"
            done
        done
        cmp -s "$work/process/complete" "$work/ranks/complete" || { echo "fingerprints differ" >&2; exit 1; }
        for file in process ranks; do
            for rounds in "$few" "$many"; do least < "$work/$file-$rounds"; done
        done | awk -v graph="$graph" -v peers="$peers" -v rounds="$((many - few))" '
            { for (k = 1; k <= 4; k++) at[NR, k] = $k }
            END {
                one = at[2, 1] - at[1, 1]; two = at[4, 1] - at[3, 1]
                windows = at[4, 2] - at[3, 2]
                printf "| %s | %d | %.1f | %.1f | %.2f | %.0f | %.0f %% |\n", graph, peers, 1000 * one / rounds,
                    1000 * two / rounds, two / one, (at[4, 3] - at[3, 3]) / (windows ? windows : 1),
                    100 * (at[4, 4] - at[3, 4]) / two
            }'
    done
done

#!/bin/sh
# One result on one process, on two workers, and on 1 to 4 ranks under mpirun: every file but the
# clock's must be the same, for a shipped scenario of every protocol. Then what goes wrong: a rank that
# dies, scenarios that differ, an engine that knows no ranks.
#
#   cargo build --release --features mpi && tests/mpi.sh target/release/hushmesh
#
# OTHER names a program of another version, to be refused beside this one; tests/other-version.sh builds one.
set -eu

program=${1:-target/release/hushmesh}
mpirun=${MPIRUN:-mpirun --allow-run-as-root --oversubscribe}
if ! command -v "${mpirun%% *}" > /dev/null; then
    echo "skipped: there is no ${mpirun%% *} here"
    exit 0
fi
root=$(cd "$(dirname "$0")/.." && pwd)
program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# Everything but the clock's file is a function of scenario and seed.
same() {
    if diff -rq -x timing.json "$work/one" "$work/$1" > "$work/differences" 2>&1; then
        return 0
    fi
    echo "  $1 differs:"
    sed 's/^/    /' "$work/differences"
    failed=1
}

# agree NAME SCENARIO [--set …]: the same files whoever runs it.
agree() {
    name=$1 scenario=$root/$2
    shift 2
    rm -rf "$work/one" "$work"/workers* "$work"/ranks*
    "$program" run "$scenario" "$@" --workers 1 --quiet --out "$work/one"
    "$program" run "$scenario" "$@" --workers 2 --quiet --out "$work/workers-2"
    same workers-2
    "$program" run "$scenario" "$@" --workers 1 --portable --quiet --out "$work/portable"
    if ! cmp -s "$work/one/complete" "$work/portable/complete"; then
        echo "  portable differs"
        failed=1
    fi
    rm -rf "$work/portable"
    for ranks in 1 2 3 4; do
        for workers in ${WORKERS:-1}; do
            out=ranks-$ranks-of-$workers
            $mpirun -n "$ranks" "$program" run "$scenario" "$@" --workers "$workers" --quiet \
                --out "$work/$out" || failed=1
            same "$out"
        done
    done
    echo "$name: $(cat "$work/one/complete")"
}

agree "admm, logistic loss" scenarios/quickstart.yaml \
    --set repeat=2 --set protocol.admm.rounds=30
agree "admm, uneven samples" scenarios/uneven.yaml \
    --set repeat=1 --set protocol.admm.rounds=30
agree "admm, a large ring" scenarios/large-ring.yaml \
    --set topology.ring.peers=3000 --set protocol.admm.rounds=10
agree "admm, many peers in other places than their numbers" scenarios/large-ring.yaml \
    --set 'topology={random-geometric: {peers: 1500, radius: 0.07}}' --set protocol.admm.rounds=6
{
    echo "links:"
    for k in 0 1 2 3 4 5 6 7 8 9 10; do
        echo "  - [p$((k * 5 % 11)), p$(((k + 1) * 5 % 11)), {latency: 0.00$((1 + k % 7))}]"
        echo "  - [p$k, p$(((k + 2) % 11))]"
    done
} > "$work/links.yaml"
{ echo "peers: [p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10]"; cat "$work/links.yaml"; } > "$work/graph.yaml"
agree "admm, a file with latencies of its own" scenarios/quickstart.yaml \
    --set repeat=1 --set protocol.admm.rounds=20 --set "topology={file: $work/graph.yaml}"
agree "gradient tracking" scenarios/quickstart.yaml \
    --set repeat=1 --set 'protocol={gradient-tracking: {rounds: 40}}'
agree "gradient descent" scenarios/quickstart.yaml \
    --set repeat=1 --set 'protocol={gradient-descent: {step: 0.1, rounds: 40}}'
agree "admm with every noise, labels randomised" scenarios/pdml/own-levels.yaml \
    --set repeat=1 --set protocol.admm.rounds=15 --set data.samples.total=800
agree "admm until a budget is spent, averages" scenarios/pdml/budget.yaml \
    --set repeat=1 --set protocol.admm.rounds=30 --set data.samples.total=1000 \
    --set measure.stop.epsilon=10
agree "a walk, simple" scenarios/walk/barabasi-albert.yaml \
    --set repeat=2 --set data.samples.per-peer=100 --set protocol.walk-sgd.batch=5
agree "a walk, uniform" scenarios/walk/bounds.yaml \
    --set repeat=1 --set data.samples.per-peer=100 --set protocol.walk-sgd.batch=5
agree "a walk with decisions" scenarios/walk/policies.yaml \
    --set repeat=1 --set data.samples.per-peer=100 --set protocol.walk-sgd.batch=10
agree "a walk among many peers" scenarios/walk/barabasi-albert.yaml \
    --set repeat=2 --set 'topology={random-geometric: {peers: 1500, radius: 0.07}}' \
    --set data.samples.per-peer=4 --set protocol.walk-sgd.batch=2 --set protocol.walk-sgd.updates=200 \
    --set protocol.walk-sgd.walk=metropolis
agree "weighted ERM, masked sums on a tree" scenarios/weighted-erm/masked-gradient.yaml \
    --set repeat=1 --set data.samples.per-peer=40
agree "weighted ERM by gossip" scenarios/weighted-erm/gossip.yaml \
    --set repeat=1 --set data.samples.per-peer=40 --set protocol.weighted-erm.steps=5
agree "federated, steps by theory" scenarios/federated/auto.yaml \
    --set repeat=1 --set data.samples.per-peer=40
agree "federated by gossip" scenarios/federated/gossip.yaml \
    --set repeat=1 --set data.samples.per-peer=40 --set protocol.federated.communications=4
agree "federated, many parties" scenarios/federated/gossip.yaml \
    --set repeat=1 --set 'topology={torus: {rows: 34, columns: 32}}' --set data.samples.per-peer=4 \
    --set protocol.federated.communications=2
agree "weighted ERM, masks along wires of many parties" scenarios/weighted-erm/masked-gradient.yaml \
    --set repeat=1 --set 'topology={random-geometric: {peers: 1500, radius: 0.07}}' \
    --set data.samples.per-peer=4 --set protocol.weighted-erm.steps=3 \
    --set 'protocol.weighted-erm.sum={root: 700, masks: wires}'
agree "queries of several learners" scenarios/queries/several-learners.yaml \
    --set repeat=1 --set data.samples.per-peer=40

# refuses NAME CODE WORDS COMMAND…: it ends within seconds, with that code, says so, and leaves nothing.
refuses() {
    name=$1 code=$2 words=$3
    shift 3
    rm -rf "$work/refused" "$work/refused.unfinished"
    status=0
    timeout 60 "$@" > "$work/said" 2>&1 || status=$?
    if [ "$status" != "$code" ] || ! grep -q "$words" "$work/said" || [ -e "$work/refused" ]; then
        echo "$name: expected code $code and \"$words\", found code $status:"
        sed 's/^/    /' "$work/said"
        failed=1
    else
        echo "$name: $(grep -m1 "$words" "$work/said")"
    fi
}

quick=$root/scenarios/large-ring.yaml
sed 's/^seed: .*/seed: 99/' "$quick" > "$work/other.yaml"
cp "$quick" "$work/quick.yaml"
refuses "scenarios that differ" 3 "rank 1 has read another scenario" \
    $mpirun -n 1 "$program" run "$work/quick.yaml" --out "$work/refused" \
    : -n 1 "$program" run "$work/other.yaml" --out "$work/refused"
refuses "a scenario that one rank has not" 3 "rank 1:" \
    $mpirun -n 1 "$program" run "$work/quick.yaml" --out "$work/refused" \
    : -n 1 "$program" run "$work/missing.yaml" --out "$work/refused"
if [ -n "${OTHER:-}" ]; then
    refuses "another version" 2 "rank 1 is version" \
        $mpirun -n 1 "$program" run "$work/quick.yaml" --out "$work/refused" \
        : -n 1 "$OTHER" run "$work/quick.yaml" --out "$work/refused"
fi
refuses "threads" 3 "network.engine: expected simulated on several ranks" \
    $mpirun -n 2 "$program" run "$quick" --engine threads \
    --set topology.ring.peers=20 --out "$work/refused"

# A rank that is killed takes all down, and the launcher says which it was.
# shellcheck disable=SC2016
refuses "a rank that dies" 137 "rank 1" \
    $mpirun -n 3 sh -c 'if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ]; then
            "$0" "$@" & sleep 3; kill -9 $!; kill -9 $$
        else exec "$0" "$@"; fi' \
    "$program" run "$root/scenarios/large-ring.yaml" --set protocol.admm.rounds=1000000 \
    --set topology.ring.peers=2000 --out "$work/refused"

exit "$failed"

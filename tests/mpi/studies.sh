#!/bin/sh
# Sweeps and comparisons whose runs are handed out to ranks: every file but the clock's must be the same
# as from one process, on 2 to 4 ranks, after a rank was killed, after an interrupt, and where a run
# fails. Then what goes wrong: scenarios that differ, ranks that do not see one directory.
#
#   cargo build --features mpi && tests/mpi/studies.sh target/debug/hushmesh
set -eu

program=${1:-target/debug/hushmesh}
mpirun=${MPIRUN:-mpirun --allow-run-as-root --oversubscribe}
if ! command -v "${mpirun%% *}" > /dev/null; then
    echo "skipped, studies on ranks: there is no ${mpirun%% *} here"
    exit 0
fi
program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"

# Six points of some tenths of a second each.
cat > swept.yaml << END
name: swept
seed: 7
repeat: 3
topology: {erdos-renyi: {peers: 120, links: 300, resample: true}}
data:
  source: {linear-logistic: {dimension: 8, norm: 3}}
  samples: {per-peer: 20}
  test_share: 0.2
model: {loss: logistic, regularisation: 1}
protocol: {admm: {rounds: 200}}
sweep:
  grid:
    protocol.admm.penalty: {log: {from: 0.1, to: 1, points: 3}}
    model.regularisation: {list: [1, 10]}
END

wrong() {
    echo "studies on ranks: $1"
    [ ! -s said ] || sed 's/^/    /' said
    exit 1
}
# on RANKS COMMAND…: bounded in time; what is said goes to a file.
on() {
    ranks=$1
    shift
    # shellcheck disable=SC2086
    timeout 120 $mpirun -n "$ranks" "$program" "$@" > said 2>&1
}
same() {
    diff -rq -x timing.json "$1" "$2" > said 2>&1 || wrong "$3: the files differ from those of one process"
}
# refuses CODE WORDS COMMAND…: it ends within seconds, says so and leaves nothing.
refuses() {
    code=$1 words=$2
    shift 2
    status=0
    timeout 60 "$@" > said 2>&1 || status=$?
    [ "$status" = "$code" ] && grep -q "$words" said && [ ! -e refused ] && [ ! -e refused.unfinished ] \
        || wrong "expected code $code and \"$words\", found code $status"
    echo "refused: $(grep -m1 "$words" said)"
}

"$program" run swept.yaml --out one --quiet
for ranks in 2 3 4; do
    on "$ranks" run swept.yaml --workers 1 --quiet --out "ranks-$ranks" || wrong "a sweep on $ranks ranks"
    same one "ranks-$ranks" "a sweep on $ranks ranks"
done
on 2 run swept.yaml --workers 1 --jobs 2 --out jobs || wrong "two runs at a time on each rank"
same one jobs "two runs at a time on each rank"
[ "$(grep -c fingerprint said)" -le 1 ] || wrong "more than one rank speaks"
echo "a sweep on 2, 3 and 4 ranks: $(cat one/complete)"

graphs="{ring:_{peers:_6}} {star:_{peers:_6}} {path:_{peers:_6}}"
compare() {
    set -- "$@" --topology
    for graph in $graphs; do set -- "$@" "$(echo "$graph" | tr _ ' ')"; done
    "$@" --set sweep=null --set protocol.admm.rounds=50 --quiet
}
compare "$program" compare swept.yaml --out compared
compare on 3 compare swept.yaml --out compared-3 || wrong "a comparison on 3 ranks"
same compared compared-3 "a comparison on 3 ranks"
echo "a comparison on 3 ranks: $(cat compared/complete)"

# A run that fails does not end the others, and is run again: here its file comes later.
rows() { awk 'BEGIN { print "u,v,y"; for (k = 0; k < 40; k++) print k % 7 "," (k * k) % 11 "," k % 2 }'; }
rows > a.csv
sed '/^data:/,/test_share/d; /^topology:/d; /^sweep:/,$d' swept.yaml > files.yaml
echo "topology: {ring: {peers: 5}}" >> files.yaml
echo "data: {source: {csv: {path: a.csv, label: y}}}" >> files.yaml
files="data.source.csv.path=b.csv,a.csv,c.csv"
code=0
on 2 run files.yaml --sweep "$files" --out failing || code=$?
[ "$code" = 1 ] && grep -q "error: path=b.csv: data: " said && grep -q "2 of 3 runs failed: --resume" said \
    || wrong "runs that fail: code $code"
[ -f failing.unfinished/points/path=a.csv/complete ] || wrong "runs that fail: the other is not there"
rows > b.csv
rows > c.csv
on 3 run --resume failing --quiet || wrong "runs that failed, resumed"
"$program" run files.yaml --sweep "$files" --out whole --quiet
same whole failing "runs that failed, resumed"
echo "runs that fail: the others are done, --resume runs them again"

# long OUT: starts a sweep on 3 ranks in the background, and waits until one of its points is done.
long() {
    # shellcheck disable=SC2086
    $mpirun -n 3 "$program" run swept.yaml --workers 1 --quiet --out "$1" > said 2>&1 &
    launcher=$!
    tries=0
    until ls "$1".unfinished/points/*/complete > /dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 1200 ] && kill -0 "$launcher" 2> /dev/null || wrong "no point of $1 in a minute"
        sleep 0.05
    done
}
# signal SIGNAL RANK: to one of the launcher's processes.
signal() {
    for process in /proc/[0-9]*; do
        if grep -qs "^PPid:[[:space:]]*$launcher\$" "$process/status" \
            && tr '\0' '\n' < "$process/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$2"; then
            kill "$1" "${process#/proc/}"
        fi
    done
}

long killed
signal -9 2
code=0
wait "$launcher" || code=$?
[ "$code" = 137 ] && grep -q "rank 2" said && [ ! -e killed ] || wrong "a rank that dies: code $code"
echo "a rank that dies: $(grep -m1 "rank 2" said)"
on 2 run --resume killed --quiet || wrong "a sweep whose rank died, resumed"
same one killed "a sweep whose rank died, resumed"

long stopped
signal -INT 0
code=0
wait "$launcher" || code=$?
[ "$code" = 130 ] && [ -f stopped.unfinished/results.csv ] || wrong "an interrupt: code $code"
grep -q not-run stopped.unfinished/results.csv || wrong "an interrupt after everything was done"
"$program" run --resume stopped --quiet
same one stopped "an interrupted sweep, resumed"
echo "a sweep that was interrupted, and one whose rank died: resumed, the same"

sed 's/^seed: .*/seed: 8/' swept.yaml > other.yaml
# shellcheck disable=SC2086
refuses 3 "rank 1 has read another scenario" \
    $mpirun -n 1 "$program" run swept.yaml --out refused : -n 1 "$program" run other.yaml --out refused
# shellcheck disable=SC2086
refuses 3 "rank 1 has read another scenario" $mpirun -n 1 "$program" run swept.yaml --out refused \
    : -n 1 "$program" run swept.yaml --sweep seed=1,2 --out refused
mkdir elsewhere
cp swept.yaml elsewhere
# shellcheck disable=SC2086
refuses 1 "rank 1: sees nothing of refused.unfinished" $mpirun -n 1 "$program" run swept.yaml --out refused \
    : -n 1 -wdir "$work/elsewhere" "$program" run swept.yaml --out refused
# shellcheck disable=SC2086
refuses 2 "target" $mpirun -n 2 "$program" run swept.yaml --target nonsense=1 --out refused

#!/bin/sh
# One run on two hosts: two network namespaces of this machine, each with a host name and one network
# card, and a cable between them. MPI goes over TCP through the cable; every file but the clock's must be
# the same as from one process, of a run and of a sweep. Then a rank on the other host dies.
#
#      one: 198.18.77.1 ══════ cable ══════ 198.18.77.2 :two
#      mpirun, rank 0                            rank 1
#
#   cargo build --features mpi && tests/mpi/two_hosts.sh target/debug/hushmesh
set -eu

program=${1:-target/debug/hushmesh}
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")

skip() {
    echo "skipped, two hosts: $1"
    exit 0
}
for needed in mpirun ip unshare hostname timeout; do
    command -v "$needed" > /dev/null || skip "there is no $needed here"
done

one=hushmesh-one-$$ two=hushmesh-two-$$
work=$(mktemp -d)
tidy() {
    for host in "$one" "$two"; do
        for process in $(ip netns pids "$host" 2> /dev/null); do
            kill -9 "$process" 2> /dev/null || true
        done
        # The cable goes with its ends.
        ip netns del "$host" 2> /dev/null || true
    done
    rm -rf "$work"
}
trap tidy EXIT
trap 'exit 1' HUP INT TERM

{
    ip netns add "$one" && ip netns add "$two" \
        && ip -n "$one" link add cable type veth peer name cable netns "$two" \
        && ip -n "$one" address add 198.18.77.1/24 dev cable \
        && ip -n "$two" address add 198.18.77.2/24 dev cable \
        && for host in "$one" "$two"; do
            ip -n "$host" link set lo up && ip -n "$host" link set cable up || exit 1
        done && ip netns exec "$one" unshare --uts true
} > "$work/said" 2>&1 || skip "no network namespaces can be made ($(head -n 1 "$work/said"))"

# on HOST COMMAND…: what a host runs sees its own network, under its own name.
on() {
    host=$1
    shift
    # shellcheck disable=SC2016
    timeout 120 ip netns exec "$host" unshare --uts \
        sh -c 'hostname "$0" && exec "$@"' "${host%-*}" "$@"
}

# In the place of ssh: HOST COMMAND, as one text.
cat > "$work/reach" << END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
[ "\$1" = 198.18.77.2 ] || { echo "no such host: \$1" >&2; exit 1; }
shift
exec ip netns exec $two unshare --uts sh -c "hostname hushmesh-two && \$*"
END
chmod +x "$work/reach"

across() {
    on "$one" mpirun --allow-run-as-root --host 198.18.77.1,198.18.77.2 -n 2 --map-by node \
        --mca plm_rsh_agent "$work/reach" --mca oob_tcp_if_include cable \
        --mca btl tcp,self --mca btl_tcp_if_include cable --mca pml ob1 "$@"
}

# Bytes that have gone through the cable, both ways together.
carried() {
    ip netns exec "$one" cat /sys/class/net/cable/statistics/rx_bytes \
        /sys/class/net/cable/statistics/tx_bytes | { read -r in && read -r out && echo $((in + out)); }
}

across hostname > "$work/names"
if [ "$(sort "$work/names" | tr '\n' ' ')" != "hushmesh-one hushmesh-two " ]; then
    echo "two hosts: expected a rank on each, found $(tr '\n' ' ' < "$work/names")"
    exit 1
fi
# What it takes to start and end two ranks; what peers say comes on top.
before=$(carried)
across true
start=$(($(carried) - before))

# run OUT LAUNCHER…: 100 peers, of whose 1,000 links half cross the cable.
run() {
    out=$work/$1
    shift
    "$@" "$program" run "$root/scenarios/quickstart.yaml" --set repeat=1 \
        --set 'topology={erdos-renyi: {peers: 100, links: 1000}}' \
        --set protocol.admm.rounds=30 --set data.samples.total=2000 --workers 1 --quiet --out "$out"
}

run alone env
before=$(carried)
run hosts across || { echo "two hosts: the run failed, or took more than two minutes"; exit 1; }
said=$(($(carried) - before))
if ! diff -rq -x timing.json "$work/alone" "$work/hosts"; then
    echo "two hosts: the files differ from those of one process"
    exit 1
fi
if [ "$said" -lt $((10 * start)) ]; then
    echo "two hosts: $said bytes went through the cable, of which $start to start: peers did not use it"
    exit 1
fi
echo "two hosts: $(cat "$work/hosts/complete"), $said bytes through the cable, $start to start and end"

# A sweep: its runs are handed out to both hosts.
sweep() {
    out=$work/$1
    shift
    "$@" "$program" run "$root/scenarios/quickstart.yaml" --set repeat=2 --set protocol.admm.rounds=30 \
        --sweep seed=1,2,3,4 --workers 1 --quiet --out "$out"
}
sweep swept-alone env
sweep swept across || { echo "two hosts: the sweep failed, or took more than two minutes"; exit 1; }
if ! diff -rq -x timing.json "$work/swept-alone" "$work/swept"; then
    echo "two hosts: the files of the sweep differ from those of one process"
    exit 1
fi
echo "two hosts, a sweep: $(cat "$work/swept/complete")"

# A rank on the other host dies: all end within seconds, the launcher names it, nothing is left.
(
    sleep 4
    for process in $(ip netns pids "$two"); do
        [ "$(readlink "/proc/$process/exe")" != "$program" ] || kill -9 "$process"
    done
) &
began=$(date +%s)
code=0
across "$program" run "$root/scenarios/large-ring.yaml" --set protocol.admm.rounds=1000000 \
    --set topology.ring.peers=2000 --workers 1 --quiet --out "$work/dies" > "$work/said" 2>&1 || code=$?
took=$(($(date +%s) - began))
wait
if [ "$code" = 0 ] || [ "$took" -gt 30 ] || [ -e "$work/dies" ] || ! grep -q "rank 1" "$work/said"; then
    echo "two hosts: a rank that dies: code $code after $took s, and it was said:"
    sed 's/^/    /' "$work/said"
    exit 1
fi
echo "two hosts, a rank that dies: code $code after $took s: $(grep -m1 "rank 1" "$work/said")"

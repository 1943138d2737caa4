#!/usr/bin/env bash
# Installs the command for the action, into a virtual environment of its own.
#
# Reads INPUT_VERSION, INPUT_REQUIREMENTS, INPUT_WORKING_DIRECTORY, and RUNNER_TEMP; appends to GITHUB_PATH.
set -euo pipefail

version=${INPUT_VERSION:-}
if [ -n "$version" ] && ! [[ $version =~ ^[0-9]+(\.[0-9]+)*([abrcdevpost.+]*[0-9]+)*$ ]]; then
    echo "error: the input \`version\` is no version such as 1.2.0" >&2
    exit 2
fi
python=$(command -v python3 || command -v python) || {
    echo "error: no Python on this runner; add a step with actions/setup-python, or name an installed command in the input \`command\`" >&2
    exit 2
}

folder=${RUNNER_TEMP:?}/probity-venv
"$python" -m venv "$folder"
bin=$folder/bin
[ -d "$bin" ] || bin=$folder/Scripts
pip=("$bin/python" -m pip install --quiet --disable-pip-version-check)
"${pip[@]}" --only-binary probity-eval "probity-eval${version:+==$version}"
if [ -n "${INPUT_REQUIREMENTS:-}" ]; then
    cd "${INPUT_WORKING_DIRECTORY:-.}"
    "${pip[@]}" --requirement "$INPUT_REQUIREMENTS"
fi
"$bin/probity" --version
echo "$bin" >>"${GITHUB_PATH:?}"

#!/usr/bin/env bash
# Installs BertViz for benchmarks/browser/minilm.py, and the scripts that its pages load, into a folder outside of the
# repository. The environment of the app is not changed.
#
#     bash benchmarks/browser/bertviz.sh FOLDER && .venv/bin/python -m benchmarks minilm --bertviz FOLDER
set -euo pipefail
folder=${1:?usage: bash benchmarks/browser/bertviz.sh FOLDER}
python=$(realpath --no-symlinks "${PYTHON:-.venv/bin/python}")
mkdir -p "$folder/site" "$folder/scripts"
cd "$folder"
pip=("$python" -m pip install --quiet --disable-pip-version-check --upgrade --target site)
"${pip[@]}" --no-deps bertviz==1.4.1  # torch and transformers are installed; boto3 and others are only for older views
"${pip[@]}" ipython                   # bertviz returns its page as an IPython HTML object
# The versions that the page requests; npm does not have jquery 2.0.0, and 2.1.0 is the next version.
for script in requirejs@2.3.6:require.js d3@5.7.0:dist/d3.min.js jquery@2.1.0:dist/jquery.min.js; do
  packed=$(npm pack --silent "${script%%:*}")
  tar -xzf "$packed" -O "package/${script#*:}" > "scripts/$(basename "${script#*:}")"
  rm "$packed"
done

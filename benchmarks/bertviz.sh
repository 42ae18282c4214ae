#!/usr/bin/env bash
# BertViz for benchmarks/minilm.py: its package, and the scripts that its pages fetch, into a folder outside of the
# repository; nothing is installed beside what the app uses.
#
#     bash benchmarks/bertviz.sh FOLDER && .venv/bin/python -m benchmarks minilm --bertviz FOLDER
set -euo pipefail
folder=${1:?usage: bash benchmarks/bertviz.sh FOLDER}
python=$(realpath --no-symlinks "${PYTHON:-.venv/bin/python}")
mkdir -p "$folder/site" "$folder/scripts"
cd "$folder"
pip=("$python" -m pip install --quiet --disable-pip-version-check --upgrade --target site)
"${pip[@]}" --no-deps bertviz==1.4.1  # torch and transformers are here; boto3 and others are for its older views
"${pip[@]}" ipython                   # bertviz returns its page as IPython's HTML
# The versions that the page names; npm has no jquery 2.0.0, and 2.1.0 is the next one.
for script in requirejs@2.3.6:require.js d3@5.7.0:dist/d3.min.js jquery@2.1.0:dist/jquery.min.js; do
  packed=$(npm pack --silent "${script%%:*}")
  tar -xzf "$packed" -O "package/${script#*:}" > "scripts/$(basename "${script#*:}")"
  rm "$packed"
done

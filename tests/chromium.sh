#!/usr/bin/env bash
# Finds Chromium for the browser tests, or installs Debian's where that is possible.
set -euo pipefail
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then exit 0; fi
done
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends chromium fonts-dejavu fonts-noto-color-emoji >/dev/null
else
  echo "The browser tests need Chromium: install it (on Debian: sudo apt-get install chromium)" >&2
  exit 1
fi

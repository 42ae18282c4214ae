#!/usr/bin/env bash
# Finds Chromium for the browser tests, and a font with Chinese letters, or installs Debian's where that is possible.
# Without such a font a letter is a thin box: pages in Chinese then have other widths than anybody sees.
set -euo pipefail
missing=(chromium fonts-dejavu fonts-noto-color-emoji)
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then missing=(); fi
done
if [ -z "$(fc-list :lang=zh 2>/dev/null || true)" ]; then missing+=(fonts-wqy-zenhei); fi
if [ ${#missing[@]} = 0 ]; then exit 0; fi
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  # The font alone is not worth a failure.
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; } ||
    [ "${missing[0]}" != chromium ]
elif [ "${missing[0]}" = chromium ]; then
  echo "The browser tests need Chromium: install it (on Debian: sudo apt-get install chromium)" >&2
  exit 1
fi

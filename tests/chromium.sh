#!/usr/bin/env bash
# Finds Chromium for the browser tests, and a font with Chinese letters, or installs Debian's where that is possible.
# Without such a font a letter is a thin box: pages in Chinese then have other widths than anybody sees.
# In Chromium's headless shell a page takes half of the processor time, so the shell is added where Debian has it.
set -euo pipefail
needed=(chromium fonts-dejavu fonts-noto-color-emoji)
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then needed=(); fi
done
useful=()
if ! command -v chromium-headless-shell >/dev/null; then useful+=(chromium-headless-shell); fi
if [ -z "$(fc-list :lang=zh 2>/dev/null || true)" ]; then useful+=(fonts-wqy-zenhei); fi
if [ $((${#needed[@]} + ${#useful[@]})) = 0 ]; then exit 0; fi
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq || [ ${#needed[@]} = 0 ]
  if [ ${#needed[@]} != 0 ]; then apt-get install -y -qq --no-install-recommends "${needed[@]}" >/dev/null; fi
  for package in "${useful[@]}"; do # the tests also pass without it
    apt-get install -y -qq --no-install-recommends "$package" >/dev/null || true
  done
elif [ ${#needed[@]} != 0 ]; then
  echo "The browser tests need Chromium: install it (on Debian: sudo apt-get install chromium)" >&2
  exit 1
fi

# Sourced by the other scripts: makes .venv in the checkout, and renews it only when pyproject.toml has changed.
# shellcheck shell=bash

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
VENV="$ROOT/.venv"

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

# A name on PATH may be a shim with nothing behind it (pyenv), so each candidate has to show that it runs.
find_python() {
  local name
  for name in "${PYTHON:-}" python3.11 python3.12 python3.13 python3.14 python3 python; do
    [ -n "$name" ] || continue
    "$name" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$name"; return; }
  done
  die "no Python 3.11 or newer with venv found. Install one (Debian: apt-get install python3.11-venv) or set PYTHON."
}

# One line that changes whenever the environment has to be made anew.
fingerprint() { { echo "$ROOT"; cat "$ROOT/pyproject.toml" "$ROOT/scripts/_env.sh"; } | cksum; }

# install EXTRAS: `all` for running, `all,dev` for working on the code (which includes `all`).
install() {
  local python
  if ! "$VENV/bin/python" -c '' >/dev/null 2>&1; then
    python="$(find_python)"
    say "Making .venv with $("$python" --version)"
    rm -rf "$VENV"
    "$python" -m venv "$VENV"
  fi
  say "Installing moodstream[$1] into .venv (the first time this takes a minute or two)"
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$ROOT[$1]"
  fingerprint >"$VENV/.installed-$1"
}

# need EXTRAS: returns with a working .venv that has them.
need() {
  mkdir -p "$ROOT/.cache"
  exec 9>"$ROOT/.cache/venv.lock"
  if command -v flock >/dev/null; then flock 9; fi
  if ! { [ -x "$VENV/bin/moodstream" ] && fresh "$1"; }; then install "$1"; fi
  exec 9>&-
}

fresh() {
  local now stamp
  now="$(fingerprint)"
  for stamp in "$VENV/.installed-$1" "$VENV/.installed-all,dev"; do
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$now" ] && return 0
  done
  return 1
}

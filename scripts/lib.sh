# Shared by demo, check and test: which Python, which environment. Sourced from the repository's root.

SUPPORTED="3.11 3.12 3.13"

# Whether a command is a Python of that version (or, without one, 3.11 and newer) that can make environments.
# A shim on PATH may exist and still not run, so each candidate is asked.
runs() {
  "$1" -c 'import ensurepip, sys, venv
want = [int(part) for part in sys.argv[1:] for part in part.split(".")]
sys.exit(not (list(sys.version_info[:2]) == want if want else sys.version_info >= (3, 11)))' ${2:-} >/dev/null 2>&1
}

# find_python [3.X]: print the path of a Python that runs, or return 1.
find_python() {
  local name candidate
  local names="python${1:-3}" pyenv="${PYENV_ROOT:-$HOME/.pyenv}/versions"
  [ -n "${1:-}" ] || names="python3 python3.13 python3.12 python3.11 python"
  [ -z "${1:-}" ] || names="$names python3"
  for name in $names; do
    for candidate in $(type -ap "$name"); do
      if runs "$candidate" ${1:-}; then echo "$candidate"; return 0; fi
    done
  done
  for candidate in "$pyenv"/${1:-3.1[1-9]}*/bin/python; do
    if [ -x "$candidate" ] && runs "$candidate" ${1:-}; then echo "$candidate"; return 0; fi
  done
  return 1
}

# quietly LOG COMMAND...: run it, show its output only where it fails.
quietly() {
  local log="$1"
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1 </dev/null; then
    cat "$log"
    echo "failed: $*" >&2
    return 1
  fi
}

# build_wheel PYTHON: build the wheel once, into build/wheel.
build_wheel() {
  rm -rf build/wheel
  quietly build/logs/wheel.log "$1" -m pip wheel --disable-pip-version-check --no-deps -w build/wheel .
}

# environment 3.X EXTRA: make .venvs/3.X from nothing, or keep it where pyproject.toml is unchanged.
# It holds the wheel's dependencies and an extra of ours; the wheel itself is put in again by install_wheel.
environment() {
  local version="$1" extra="$2" python folder=".venvs/$1" key wheel
  python=$(find_python "$version") || return 1
  key="$("$python" -c 'import hashlib, pathlib, sys
print(hashlib.sha256(pathlib.Path("pyproject.toml").read_bytes()).hexdigest(), sys.version, *sys.argv[1:])' "$extra")"
  [ "$(cat "$folder/key" 2>/dev/null)" != "$key" ] || return 0
  rm -rf "$folder"
  "$python" -m venv "$folder" || return 1
  [ -d build/wheel ] || build_wheel "$folder/bin/python" || return 1
  wheel=$(echo build/wheel/*.whl)
  quietly "build/logs/install-$version.log" "$folder/bin/python" -m pip install --disable-pip-version-check \
    "$wheel[$extra]" || return 1
  echo "$key" >"$folder/key"
}

# install_wheel 3.X: put the wheel of build/wheel into .venvs/3.X, and see that it is what is imported.
install_wheel() {
  local python=".venvs/$1/bin/python"
  quietly "build/logs/wheel-$1.log" "$python" -m pip install --disable-pip-version-check --no-deps \
    --force-reinstall build/wheel/*.whl &&
    "$python" -P -c 'import evalengine; assert "site-packages" in evalengine.__file__, evalengine.__file__'
}

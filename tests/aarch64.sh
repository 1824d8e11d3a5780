#!/usr/bin/env bash
# Runs tests as an aarch64 machine would, by QEMU, with the modules that `make cross` compiled: tests/aarch64.sh
# FOLDER PIP TEST... What is of aarch64, Debian's Python and the packages' wheels, is laid out in FOLDER; nothing of
# the system is changed.
set -euo pipefail
folder=$(realpath "$1") pip=$(realpath -s "$2")
shift 2
command -v qemu-aarch64 >/dev/null || { echo "Emulation needs qemu-aarch64 (Debian: qemu-user): install it, and run again." >&2; exit 1; }
command -v apt-get >/dev/null || { echo "Emulation takes the Python of Debian or Ubuntu for aarch64, and there is no apt-get." >&2; exit 1; }
root=$folder/root site=$folder/site
if [ ! -e "$folder/.laid-out" ]; then
  mkdir -p "$folder"/{lists/partial,cache/archives/partial,debs,wheels} "$root" "$site"
  : > "$folder/status"
  apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::Lists="$folder/lists"
    -o Dir::State::Status="$folder/status" -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root)
  "${apt[@]}" update
  packages="python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libc6 libstdc++6 libgcc-s1 zlib1g libexpat1 libssl3
    libffi8 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1 libcrypt1"
  (cd "$folder/debs" && "${apt[@]}" download $packages)
  for package in "$folder"/debs/*.deb; do dpkg -x "$package" "$root"; done
  "$pip" download --quiet --disable-pip-version-check --python-version 3.11 --only-binary :all: --dest "$folder/wheels" \
    $(printf -- '--platform manylinux_%s_aarch64 ' 2_17 2_27 2_28) --platform manylinux2014_aarch64 \
    numpy scipy scikit-learn polars safetensors typer rich hypothesis pytest
  for wheel in "$folder"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$site"; done
  touch "$folder/.laid-out"
fi
rm -rf "$folder/tree"
mkdir -p "$folder/tree"
cp -r src tests conftest.py pyproject.toml "$folder/tree"
rm -f "$folder"/tree/src/opelda/*.so
for module in _native _text; do
  cp "$folder/$module".*.so "$folder/tree/src/opelda/$module.cpython-311-aarch64-linux-gnu.so"
done
cd "$folder/tree"
PYTHONPATH=$folder/tree/src:$site qemu-aarch64 -L "$root" "$root/usr/bin/python3.11" -m pytest -q -p no:cacheprovider \
  -m "not heavy and not cuda" "$@"

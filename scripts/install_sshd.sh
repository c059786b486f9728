#!/usr/bin/env bash
# Unpacks OpenSSH's server, for tests of `holdfast sync ssh://`, into a cache outside the repository:
# $HOLDFAST_SSHD_CACHE or ~/.cache/holdfast-sshd. It installs nothing in the system and needs no root.
# Safe to repeat. Linux with apt; elsewhere install OpenSSH's server as usual.
#   scripts/install_sshd.sh     prints the path of sshd
set -euo pipefail

cache=${HOLDFAST_SSHD_CACHE:-$HOME/.cache/holdfast-sshd}
if [ ! -x "$cache/usr/sbin/sshd" ]; then
    command -v apt-get >/dev/null || { echo "install_sshd.sh: there is no apt-get; install OpenSSH's server" >&2; exit 3; }
    mkdir -p "$(dirname "$cache")"
    scratch=$(mktemp -d "$cache.XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    # A fresh machine may have no package lists yet, which only root can fetch.
    (cd "$scratch" && { apt-get download -qq openssh-server >&2 || { [ "$(id -u)" = 0 ] && apt-get update -qq >&2 &&
        apt-get download -qq openssh-server >&2; }; } && dpkg-deb -x openssh-server_*.deb unpacked)
    # A slim system lacks libraries of the package: they lie beside it, and a script in its place finds them.
    if ldd "$scratch/unpacked/usr/sbin/sshd" | grep -q "not found"; then
        (cd "$scratch" && apt-get download -qq libwrap0 >&2 && dpkg-deb -x libwrap0_*.deb unpacked)
        mv "$scratch/unpacked/usr/sbin/sshd" "$scratch/unpacked/usr/sbin/sshd.real"
        libraries=$(dirname "$(find "$scratch/unpacked" -name 'libwrap.so.0' | head -n 1)")
        cat > "$scratch/unpacked/usr/sbin/sshd" <<SCRIPT
#!/bin/sh
here=\$(CDPATH= cd "\$(dirname "\$0")" && pwd)
LD_LIBRARY_PATH="\$here/../..${libraries#"$scratch/unpacked"}" exec "\$here/sshd.real" "\$@"
SCRIPT
        chmod 755 "$scratch/unpacked/usr/sbin/sshd"
    fi
    "$scratch/unpacked/usr/sbin/sshd" -V 2>&1 | grep -qi openssh ||
        { echo "install_sshd.sh: the sshd of this package does not run here" >&2; exit 3; }
    # The first of two at once wins; the other copy is as good.
    mv -T "$scratch/unpacked" "$cache" 2>/dev/null || true
fi
echo "$cache/usr/sbin/sshd"

"""The scripts that run on the other machine, for any POSIX sh. They read where to work from their standard input.

They are passed in single quotes through the user's login shell, which may be fish or csh: so they have no single
quotes, exclamation marks, doubled backslashes or line ends. `$0` is the mark that begins each line of the answer.
"""

from __future__ import annotations

_BEGIN = (
    "LC_ALL=C",
    "export LC_ALL",
    "unset CDPATH",
    "umask 077",
    "IFS= read -r root",
    "IFS= read -r project",
    'fail() { echo "$0 $1"; exit 1; }',
    '[ -d "$root" ] || fail no-folder',
    'cd "$root" || exit 1',
)

LIST = "; ".join(
    (
        *_BEGIN,
        'echo "$0 ok"',
        "status=0",
        'if [ -d "$project" ]; then cd "$project" && ls -lniR .; status=$?; fi',
        'echo "$0 end $status"',
    )
)

FETCH = "; ".join(
    (
        *_BEGIN,
        "command -v tar >/dev/null || fail no-tar",
        'echo "$0 ok"',
        'if [ -d "$project" ]; then cd "$project" && xargs -n 400 tar cf -; fi',
        'printf "%-512s" "$0 end"',
    )
)

# A cut connection leaves a part of the packs: those that are whole, by their hash, are kept, and no old one is removed.
PUT = "; ".join(
    (
        *_BEGIN,
        "command -v tar >/dev/null || fail no-tar",
        "IFS= read -r author",
        "IFS= read -r machine",
        "IFS= read -r count",
        "mode=600",
        # The folder's group may write to it: then it may read what we write.
        'if [ -n "$(find . -prune -perm -020)" ]; then mode=660; umask 007; fi',
        'place="$project/$author/$machine"',
        'for part in holdfast "$project" "$project/$author" "$place";'
        ' do [ -h "$part" ] && fail link; [ -d "$part" ] || mkdir "$part" || [ -d "$part" ] || exit 1; done',
        'cd "$place" || exit 1',
        'find . -name ".holdfast-*.tmp" -mtime +0 -prune -exec rm -rf {} +',
        'stage=".$0.tmp"',
        'mkdir "$stage" || exit 1',
        'cd "$stage" || exit 1',
        'trap "rm -f ./*.pack ./drop; cd ..; rmdir $stage" EXIT',
        'trap "exit 1" HUP INT TERM PIPE',
        'echo "$0 ok"',
        "tar xmof -",
        "status=$?",
        'sum=""',
        'if command -v sha256sum >/dev/null; then sum="sha256sum"; '
        'elif command -v shasum >/dev/null; then sum="shasum -a 256"; fi',
        'if [ -n "$sum" ]; then find . -type f -name "*.pack" -exec $sum {} + | while read -r hash file; do '
        'name=${file##*/}; name=${name%.pack}; case "$hash" in "$name"*) ;; *) rm -f "$name.pack" ;; esac; done; '
        "elif [ $status -ne 0 ]; then rm -f ./*.pack; fi",
        'here=$(find . -type f -name "*.pack" | wc -l)',
        # What is there already stays as it is, so that nobody takes it for new.
        'for file in *.pack; do [ -f "../$file" ] && cmp -s "$file" "../$file" &&'
        ' { [ -h "../$file" ] || rm -f "$file"; }; done',
        "flush() { sync -f . 2>/dev/null || sync; }",
        'find . -type f -name "*.pack" -exec chmod $mode {} +',
        "flush",
        'find . -type f -name "*.pack" -exec sh -c "mv -f \\"\\$@\\" .." sh {} + || exit 1',
        "flush",
        '[ -z "$(find . -type f -name "*.pack")" ] || exit 1',
        "[ $status -eq 0 ] && [ $here -eq $count ] || exit 1",
        "if [ -s drop ]; then (cd .. && xargs rm -f) <drop || exit 1; flush; fi",
        'echo "$0 done"',
    )
)

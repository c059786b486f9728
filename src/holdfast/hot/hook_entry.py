"""What a host's configuration names: `python -I -S <this file> HOST EVENT`, or `statusline`.

Kept tiny, for it is compiled each time.
"""

import sys

if __name__ == "__main__":
    # -I and -S leave only the standard library to import from. Ours comes last, so that nothing beside it can
    # stand in for a standard module.
    sys.path.append(__file__.replace("\\", "/").rpartition("/holdfast/hot/")[0] or ".")
    try:
        if sys.argv[1:2] == ["statusline"]:
            from holdfast.hooks.statusline import run as show

            show()
        from holdfast.hooks.hook import run

        run(sys.argv[1:])
    except BaseException:  # an upgrade may be replacing our files at this moment
        sys.exit(0)

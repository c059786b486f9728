"""The name under which hooks of 0.1 start `holdfast.flows.capture_child`. Stays until 2.0."""

from holdfast.flows.capture_child import main

if __name__ == "__main__":
    import sys

    raise SystemExit(main(sys.argv[1:]))

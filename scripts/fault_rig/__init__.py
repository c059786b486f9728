"""The fault rig: runs real commands on a disk that fails, is killed or loses power, and checks what is left.

docs/research/fault-rig.md says how it works, what it assumes and what it found.
"""

"""Shared by all packages that store files: project paths, settings, versions, the denylist, the line grammar."""

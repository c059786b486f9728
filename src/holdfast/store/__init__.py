"""What every room's files share: where a project lies, settings, versions, the denylist, the line grammar."""

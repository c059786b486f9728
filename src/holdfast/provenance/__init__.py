"""Which session wrote a line: edits that transcripts record, matched to git's history."""

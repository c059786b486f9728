"""Reads recorded sessions back for a person: `holdfast show`.

find       which session is meant, and where its transcripts lie
story      the session as a sequence of scenes: prompts, answers, calls with results, edits as diffs
as_text, as_markdown, as_html    the same for a terminal, a file, and a page to share
"""

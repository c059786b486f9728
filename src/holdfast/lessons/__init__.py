"""What several sessions teach: rules, the files that hold them, and whether they still hold.

recurring_stumbles   stumbles of several sessions, merged by cause
contradictions       later sessions that speak against a stumble
commands             commands that do a job here, and which of them a session is told
registration         lists in which new files are registered, out of git's history
rules                all of these as lessons in words, and whether two rules are one
extraction           lessons that a model proposes, held against the session
grounds              names and evidence of lessons, and the manifests that a rule depends on
fingerprint, fingerprint_content    whether what a lesson depends on is as it was
proposals            what new lessons add to those that are there
store                the folders of lessons, read and changed under one lock
  markdown, front_matter            one lesson file, read and rewritten
  notes              what a person chose, and what happened to each lesson
states               candidate, active, muted, stale, rejected, untrusted: which lessons count
"""

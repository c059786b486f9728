"""What several sessions teach: rules, the files that hold them, and whether they still hold.

Learned from sessions and from git:
  causes               what each cause of a stumble means for a lesson, and its wording
  recurring_stumbles   stumbles of several sessions, merged by cause
  contradictions       later sessions that speak against a stumble
  commands             commands that do a job here, and those that sessions use lately
  registration         lists in which new files are registered, out of git's history
  rules                all of these as lessons in words
  extraction           lessons that a model proposes, checked against the session
  grounds              names and evidence of lessons, and the manifests that a rule depends on
Kept and checked:
  markdown, front_matter             one lesson file, parsed and rewritten
  choices              what a person chose, and what happened to each lesson
  proposals            new lessons merged into those that are known
  store                the folders of lessons, read and changed under one lock
  fingerprint, fingerprint_content   whether what a lesson depends on is unchanged
  states               candidate, active, muted, stale, rejected, untrusted: which lessons count
  forgetting           lessons without what a person wants forgotten
"""

"""Lessons: rules learned from several sessions, their files, and whether they still apply.

Learned from sessions and from git:
  causes               the causes of stumbles: what each means for a lesson, and its wording
  recurring_stumbles   merges the stumbles of several sessions by cause
  contradictions       weakens stumbles that later sessions contradict
  commands             commands that do a job in this repository, and those that sessions use lately
  registration         finds lists in which new files are registered, from git's history
  rules                writes all of these as lessons
  extraction           checks the lessons that a model proposes against the session
  grounds              names and evidence of lessons, and the manifests that a rule depends on
Kept and checked:
  markdown, front_matter             parse and rewrite a lesson file
  choices              a person's choices, and the statistics of each lesson
  proposals            merges new lessons into the existing ones
  store                reads and changes the folders of lessons under one lock
  fingerprint, fingerprint_content   check whether the files a lesson depends on are unchanged
  deny_rules           a lesson as a rule of a host's own guard
  states               candidate, active, muted, stale, rejected, untrusted: which lessons count
  forgetting           removes from lessons what a person wants forgotten
"""

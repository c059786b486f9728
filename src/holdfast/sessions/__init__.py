"""Turns the events of transcripts into sessions.

reducer              reads events into a digest; calls the harvester and the checks
digest               the running summary of one transcript
session              merges the digests of a session's transcripts; makes its ledger row
outcome, kind, keywords, cost    tasks and outcome, kind of work, keywords of the goal, price
harvest              collects sentences and calls that are worth keeping
  prose              splits text into lines, headings and sentences
  harvest_sentences  finds sentences that state a decision, a finding, an open item or a question
  harvest_commands   finds facts and dead ends in commands
  corrections        finds rules in a person's messages, and commands in the repository's instructions
stumble_watch        finds failed calls with the variant that worked, and commands that do a job in this repository
  checks             tells what the result of a command proves
  command_words      writes a command as a rule shows it
  failure_wording    recognises the messages of tools that were called incorrectly
  failing_calls      finds the wrong word of a failed call, and waits for the remedy
  remedies           tells whether a later call is that remedy
  enforced_rules     reads linter findings, and calls that a hook or a client refused
store                capture.db: cursors, digests, sessions
"""

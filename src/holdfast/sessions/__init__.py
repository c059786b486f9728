"""Turns the events of transcripts into sessions. What a text or a command line says is `language/`'s to tell.

reducer              reads events into a digest; calls the harvester and the checks
digest               the running summary of one transcript
session              merges the digests of a session's transcripts; makes its ledger row
outcome, cost        tasks and outcome, price
summary, left_failing    what a session did, and what it left failing
harvest              collects sentences and calls that are worth keeping
  harvest_commands   finds facts and dead ends in commands
  returned_values    finds values that a command returned
  corrections        finds rules in a person's messages, and commands in the repository's instructions
stumble_watch        finds failed calls with the variant that worked, and commands that do a job in this repository
  failing_calls      finds the wrong word of a failed call, and waits for the remedy
  enforced_rules     reads linter findings, and calls that a hook or a client refused
cursor               how far each transcript was read
store, lookup        capture.db: cursors, digests, sessions; and questions to it
"""

"""Events to session: what one transcript says, and what a session came to.

reducer              events in, digest out; asks the harvester and the checks
digest               what is kept of one transcript while it is read
session              digests of all transcripts of a session -> the session, and its ledger row
outcome, kind, keywords, cost    what is concluded: tasks and outcome, kind, keywords of the goal, price
harvest              words and calls that are worth keeping
  prose              text taken apart into lines, headings and sentences
  harvest_sentences  which sentences decide, find, leave open or ask something
  harvest_commands   facts that commands show, and dead ends
  corrections        rules in a person's words; commands that the repository's instructions name
stumble_watch        calls that teach: failures with the variant that worked, commands that do a job here
  checks             what a command's end proves
  command_words      how a command is written in a rule
  failure_wording    how tools say that they were called in a wrong way
  failing_calls      which word of a call was wrong, and the wait for its remedy
  remedies           whether a call that worked is that remedy
  enforced_rules     what a linter finds, and what a hook or a client refuses
store                capture.db: cursors, digests, sessions
"""

"""Tells what a text or a command line of a session says. Works on one text at a time; knows no session.

prose                splits text into lines, headings and sentences
dialogue             the turns of a conversation
passages             cuts turns into passages; statement_model scores kind and worth
harvest_sentences    finds sentences that state a decision, a finding, an open item or a question
open_items, own_words    what an agent says it left open; what an agent says of its own work
kind, kind_words, keywords    kind of work and keywords of a goal
checks               tells what the result of a command proves
command_words        writes a command as a rule shows it
failure_wording      recognises the messages of tools that were called incorrectly
remedies             tells whether a later call is the remedy of a failed one
"""

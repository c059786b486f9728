"""Runs memory through a repository's own past: what it would have told each session, and what came of it.

run        the whole backtest, from transcripts to a BacktestReport
walk       one session as the steps that it took
past       a scratch memory that knows only what had ended, and a checkout of that time
telling    what the hooks would have told a session at each of its steps
known      what earlier sessions had found out, and what a session then needed of it
judging    which of the lines were used, and which were wrong
deny_rules what a deny rule made of a lesson would have refused
report     the result as a plain value, and its figures in words
"""

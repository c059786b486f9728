"""What a project remembers as markdown: state, log, facts, decisions, questions; merged and superseded."""

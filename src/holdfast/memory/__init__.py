"""The memory of a project as markdown: state, log, facts, decisions and questions."""

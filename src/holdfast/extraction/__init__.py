"""Asks a model, if the person configured one: for the lessons of a session, or for the class of a prompt."""

"""Lessons: learned from sessions, promoted by a person, checked against the checkout, counted for what they bring."""

"""Pure checks on text: secrets, hidden text, private parts."""

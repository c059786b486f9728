"""Pure checks on text and names: secrets, hidden text, safe names."""

"""What readers and hosts of agents are made of: their contracts, files of lines, databases, configurations."""

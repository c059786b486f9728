"""Memory as tools for agents: a surface that parses what an agent asks, calls a flow, and answers."""

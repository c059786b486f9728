"""The demonstration: invented sessions of two agents, imported into a scratch project that has a history."""

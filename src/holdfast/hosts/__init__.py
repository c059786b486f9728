"""Agent hosts: how memory gets into each agent and out of it. One module for each."""

"""Any agent that writes holdfast's own events."""

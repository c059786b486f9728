"""Pure reducers: events in, one distilled session out."""

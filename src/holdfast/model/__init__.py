"""Values only: what every room talks about. Nothing here reads, writes or prints."""

"""Care for what is stored: doctor, the audit of memory and of agents' own files, disk use, and what may go."""

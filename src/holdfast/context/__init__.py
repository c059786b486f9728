"""Live context: what is true of this place now, from small sources that are loaded side by side and compared.

Standard library only, and none of its slow parts when a module is imported: `holdfast context` answers from here
before the application is loaded.
"""

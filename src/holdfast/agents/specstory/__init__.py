"""SpecStory."""

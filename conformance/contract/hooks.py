"""What schemathesis cannot know from the documents alone."""

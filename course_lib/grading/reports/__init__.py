"""Results in words and pictures: for a learner, for a class, and which submissions are alike."""

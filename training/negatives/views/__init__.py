"""Views of difficulty: each rates every article as a negative of a question.

Every module here is a view: its name is what the view is called in settings, and its function
`of` makes it from a law and its questions (`training.negatives.curriculum.ViewInputs`).
"""

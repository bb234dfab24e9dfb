"""What the front end refused, in the user's words: the place, what is wrong there, and what to do.

Nothing here is imported before a compile has failed.
"""

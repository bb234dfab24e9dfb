"""What the front end refused, told in the user's words: the place, what is wrong there, and the way on.

Nothing here is imported before a compile has failed.
"""

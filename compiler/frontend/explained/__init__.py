"""Diagnoses of failed compiles in the user's words: the place, the fault, the way on. Imported when a compile fails."""

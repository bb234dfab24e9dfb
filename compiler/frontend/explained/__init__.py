"""What the front end refused, in the user's words: where, what is wrong, what to do. Imported when a compile fails."""

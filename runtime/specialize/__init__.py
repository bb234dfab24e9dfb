"""The cold path: from a job and a launch to the artifact that is right for it, and the reports about that."""

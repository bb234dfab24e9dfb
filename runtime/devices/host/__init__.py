"""The host device: loads object code made for this computer's processor and runs grids on its threads."""

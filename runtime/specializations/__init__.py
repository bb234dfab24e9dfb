"""A kernel's specializations in memory: the table, how it is searched, counted, explained and shown."""

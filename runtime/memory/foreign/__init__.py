"""Arrays that others own: how each protocol is read, and gridjit's arrays over such memory."""

"""One module a command, imported when it is chosen."""

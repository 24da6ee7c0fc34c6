"""The tables in arrays of this process: for runs over files, which need no server."""

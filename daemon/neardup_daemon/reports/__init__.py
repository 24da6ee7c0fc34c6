"""What a run over files has found, as a page to read: for `dedup --report`."""

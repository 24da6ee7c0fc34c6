"""I have a fingerprint: who is near it?"""

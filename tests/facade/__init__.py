"""The facade as a process, and a backend that does what a test wants; for the tests of several folders."""

PROMPT = 'You are a concise SRE assistant.\nSay "no" to ünsafe things.'

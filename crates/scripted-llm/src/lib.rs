//! An OpenAI-compatible server in the process with scripted user, target and judge, and faults on demand

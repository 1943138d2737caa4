//! From a scenario to a conversation between a simulated user and the model under test

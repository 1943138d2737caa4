//! ChatModel over OpenAI-compatible HTTP, and the layers of policy around it

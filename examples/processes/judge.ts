// A judge in TypeScript: evaluator: {id: questions, command: [node, --experimental-strip-types, judge.ts]}. It finds replies that ask back.
import { createInterface } from "node:readline";

interface Message { n: number; role: string; content: string }

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line) as { id: number; method: string; params: { messages: Message[] } };
  let result: object;
  if (method === "hello") {
    result = { protocol: 1, kind: "judge", name: "questions", version: "1", max_concurrency: 32 };
  } else if (method === "judge") {
    const asked = params.messages.find((message) => message.role === "assistant" && message.content.includes("?"));
    result = { present: asked !== undefined, reason: asked ? `Message ${asked.n} asks.` : "No reply asks." };
  } else {
    continue;
  }
  process.stdout.write(JSON.stringify({ id, result }) + "\n");
}

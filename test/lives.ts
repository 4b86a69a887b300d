// `npm run lives`: random lives of invoices against a model of what is owed; --lives N --seed S.
import { parseArgs } from "node:util";
import { live } from "./lives/lives.ts";
import { startTestServer, TEST_SERVER } from "./server.ts";

const { values } = parseArgs({
  options: { lives: { type: "string", default: "1000000" }, seed: { type: "string", default: "1" } },
});
const server = await startTestServer();
process.env[TEST_SERVER] = JSON.stringify(server.address);
const problems = await live({
  lives: Number(values.lives),
  seed: Number(values.seed),
  print: (line) => console.log(line),
});
await server.stop();
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

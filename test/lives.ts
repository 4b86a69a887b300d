// `npm run proof -- lives`: compares random lives of invoices with a model of the amount owed; --lives N --seed S. With --bugs,
// runs them in copies of the source with one bug each.
import { parseArgs } from "node:util";
import { runLives } from "./lives/invoice-lives.ts";
import { runPlantedBugs } from "./lives/planted-bug-run.ts";
import { startTestServer, TEST_SERVER_VARIABLE } from "./test-server.ts";

const { values } = parseArgs({
  options: {
    lives: { type: "string", default: "1000000" },
    seed: { type: "string", default: "1" },
    bugs: { type: "boolean" },
  },
});
const [lives, seed] = [Number(values.lives), Number(values.seed)];
if (values.bugs) process.exit((await runPlantedBugs(lives, seed, (line) => console.log(line))) > 0 ? 1 : 0);
const server = await startTestServer();
process.env[TEST_SERVER_VARIABLE] = JSON.stringify(server.address);
const problems = await runLives({
  lives,
  seed,
  print: (line) => console.log(line),
});
await server.stop();
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

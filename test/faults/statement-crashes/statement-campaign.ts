import pino from "pino";
import { openDatabase } from "../../../src/postgres/database.ts";
import { migrate } from "../../../src/postgres/migrate.ts";
import { exitWhenInterrupted, startTestServer } from "../../test-server.ts";
import { summarizeProblems } from "../harness/problems.ts";
import { crashAtEveryStatement } from "./every-statement.ts";

const CONNECTIONS = 5;

/**
 * `npm run torture -- delivery --statements`: runs several seeds on a separate server. Returns 1 if an invariant was broken.
 *
 * @param share  of all statements and faults, 0 to 1
 */
export async function runStatementCampaign(seed: number, seeds: number, share: number, json: boolean): Promise<number> {
  exitWhenInterrupted();
  const server = await startTestServer();
  const problems: string[] = [];
  try {
    await migrate(server.address, pino({ level: "error" }), { allowDataLoss: true });
    const db = openDatabase(server.address, CONNECTIONS, () => {});
    for (let turn = 0; turn < seeds; turn++) {
      const outcome = await crashAtEveryStatement({ db, seed: seed + turn, share });
      problems.push(...outcome.problems);
      const hits = [...outcome.hits].sort(([, a], [, b]) => b - a).map(([name, count]) => `${count} ${name}`);
      if (!json)
        console.log(
          `seed ${seed + turn}: ${outcome.stories} stories, ${outcome.problems.length} problems; hit ${hits.join(", ")}`,
        );
    }
    await db.close();
  } finally {
    await server.stop();
  }
  const shown = problems.map((says) => ({ invariant: /(I\d+): /.exec(says)?.[1] ?? "the run", says }));
  if (json) console.log(JSON.stringify(summarizeProblems(shown)));
  else console.log([...problems.slice(0, 20), problems.length === 0 ? "No promise was broken." : ""].join("\n"));
  return problems.length > 0 ? 1 : 0;
}
